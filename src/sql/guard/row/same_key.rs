//! The row with the same key: it has the same values in a unique index as the new row, so INSERT .. ON CONFLICT finds
//! it.
//!
//! For example, row 42 is edited by `INSERT INTO docs VALUES (42, 'its text, edited') ON CONFLICT (id) DO UPDATE ..`.
//! The new row is near row 42. If that row counted, `skip` would drop every edit.
//!
//! PostgreSQL does not store the new row while the row with the same key exists, so that row does not count as a
//! near-duplicate. ON CONFLICT either updates it, and the guard checks that UPDATE, or does nothing. Without ON
//! CONFLICT, the INSERT fails. The guard finds the row as PostgreSQL does (`check_exclusion_or_unique_constraint` in
//! execIndexing.c): by all unique indexes that ON CONFLICT could infer, with the expressions, predicates and operators
//! of these indexes.
//!
//! The guard does not lock that row. If it disappears, PostgreSQL stores the new row after all. So the new row is
//! registered, and the guard searches for other near rows, as for any INSERT.

use pgrx::pg_sys::{self, Datum, Oid};
use postgres::catalog::column::{Column, generation_of};
use postgres::catalog::index::{is_inferable, stored_expressions, stored_predicate};
use postgres::catalog::relation::Relation;
use postgres::error::raise;
use postgres::expression::{Expression, expressions};
use postgres::heap::computed::Computed;
use postgres::heap::dirty_scan::{DirtyScan, VersionState};
use postgres::heap::moment::{Moment, Transaction};
use postgres::heap::row::{Row, TableSlot};

use super::stored_rows::on_stored_row;

/// The unique indexes of a table, ready to look up the keys of rows of a statement.
pub struct UniqueIndexes {
    table: Oid,
    indexes: Vec<UniqueIndex>,
    /// The executor state in which expressions of the indexes are evaluated.
    executor: *mut pg_sys::EState,
    /// Whether the INSERT may have to wait for a row that is only locked, because ON CONFLICT would update it.
    waits_for_locks: bool,
    /// The generated columns that the indexes depend on: PostgreSQL computes them after the trigger.
    generated: Vec<(i16, Computed)>,
    /// The columns that the indexes depend on, directly or through generated columns; 0 for the whole row.
    columns: Vec<i16>,
    /// A slot for the new row with its `generated` columns; null if there are none.
    generated_slot: *mut pg_sys::TupleTableSlot,
}

/// The limit on the key columns of an index.
const MAX_KEY_COLUMNS: usize = pg_sys::INDEX_MAX_KEYS as usize;

/// The values of a row's key in an index; None for NULL.
type KeyValues = Vec<Option<Datum>>;

struct UniqueIndex {
    oid: Oid,
    info: *mut pg_sys::IndexInfo,
    /// The same for keys of stored rows. Expressions are prepared for them apart from those of new rows.
    info_for_stored: *mut pg_sys::IndexInfo,
    nulls_are_equal: bool,
}

/// Whether a table has a row with the same key as the new row.
pub enum SameKey {
    None,
    Present,
    /// A transaction in progress has written such a row, or locked it against UPDATE. The row has this tid.
    Depends(Transaction, pg_sys::ItemPointerData),
}

impl UniqueIndexes {
    /// Reads the unique indexes of a table. The result lives in the current memory context. `waits_for_locks` says
    /// whether the statement may update rows by ON CONFLICT.
    pub fn new(table: &Relation, waits_for_locks: bool) -> Self {
        let (mut indexes, mut needed) = (Vec::new(), Vec::new());
        // SAFETY: the table and its indexes are open. The lists of an IndexInfo hold valid expressions of the table's
        // columns.
        unsafe {
            for oid in table.indexes() {
                let index = Relation::open(oid);
                if !is_inferable(&index) {
                    continue;
                }
                let info = pg_sys::BuildIndexInfo(index.as_ptr());
                pg_sys::BuildSpeculativeIndexInfo(index.as_ptr(), info);
                let expressions =
                    expressions((*info).ii_Expressions).into_iter().chain(expressions((*info).ii_Predicate));
                needed.extend(expressions.flat_map(Expression::own_columns));
                let columns = &(&(*info).ii_IndexAttrNumbers)[..(*info).ii_NumIndexKeyAttrs as usize];
                // The attnum 0 stands for an expression.
                needed.extend(columns.iter().copied().filter(|&column| column != 0));
                let mut unique =
                    UniqueIndex { oid, info, info_for_stored: info, nulls_are_equal: (*info).ii_NullsNotDistinct };
                if !unique.is_plain() {
                    // What PostgreSQL keeps of an index for the session was prepared in the writer's search path.
                    unique.info_for_stored = pg_sys::BuildIndexInfo(index.as_ptr());
                    (*unique.info_for_stored).ii_Expressions = stored_expressions(&index);
                    (*unique.info_for_stored).ii_Predicate = stored_predicate(&index);
                }
                indexes.push(unique);
            }
            // An expression of the whole row depends on column 0.
            let is_needed = |column: &i16| needed.contains(&0) || needed.contains(column);
            let columns = Column::all(table).filter(|column| column.is_generated).map(|column| column.attnum);
            let generated: Vec<_> = columns
                .filter(is_needed)
                .filter_map(|column| Some((column, Computed::generated(table, column)?)))
                .collect();
            let generated_slot = if generated.is_empty() {
                std::ptr::null_mut()
            } else {
                let columns = pg_sys::CreateTupleDescCopy(table.rd_att);
                pg_sys::MakeSingleTupleTableSlot(columns, &raw const pg_sys::TTSOpsVirtual)
            };
            let is_generated = |column: &i16| generated.iter().any(|(generated, _)| generated == column);
            let sources =
                generated.iter().filter_map(|(column, _)| generation_of(table, *column).map(Expression::own_columns));
            let mut columns: Vec<_> = sources.flatten().collect();
            columns.extend(needed.iter().copied().filter(|column| !is_generated(column)));
            // The only system column that an expression can have is the table's OID, which is the same for all rows.
            columns.retain(|column| *column >= 0);
            Self {
                table: table.oid(),
                indexes,
                waits_for_locks,
                executor: pg_sys::CreateExecutorState(),
                generated,
                columns,
                generated_slot,
            }
        }
    }

    /// Whether an UPDATE changes none of the columns that the indexes depend on. Otherwise, a new row with the key of
    /// the old version may no longer conflict with this row, and is then stored.
    pub fn are_keys_unchanged(&self, old: Row<'_>, new: Row<'_>) -> bool {
        !self.columns.contains(&0) && new.has_same_values(old, self.columns.iter().copied())
    }

    /// Looks for a row with the same key as the new row.
    ///
    /// # Safety
    /// `self` was made for this table, and the row belongs to it.
    pub unsafe fn find(&self, table: &Relation, new: Row<'_>, since: &Moment) -> SameKey {
        // SAFETY: the caller passes the table that the indexes belong to, and a row of it. Values live until the
        // per-row memory is reset, at the end.
        unsafe {
            let context = self.context();
            let new = self.with_generated_columns(new, context);
            let slot = TableSlot::new(table);
            let mut found = SameKey::None;
            for index in &self.indexes {
                let Some(key) = index.key_of(index.info, new, self.executor, context) else { continue };
                match index.find(table, &key, &slot, since, self.waits_for_locks) {
                    SameKey::None => {}
                    depends @ SameKey::Depends(..) => {
                        found = depends;
                        break;
                    }
                    present => found = present,
                }
            }
            pg_sys::MemoryContextReset((*context).ecxt_per_tuple_memory);
            found
        }
    }

    /// Whether a stored row of the table has the same key as the new row. With `by_plain_columns`, only unique indexes
    /// without expressions and predicates count. `guard` is the guard's name.
    ///
    /// # Safety
    /// Both rows belong to the table that `self` was made for.
    pub unsafe fn has_same_key(&self, new: Row<'_>, row: Row<'_>, by_plain_columns: bool, guard: &str) -> bool {
        // SAFETY: the caller passes two rows of the indexes' table. Values live until the per-row memory is reset, at
        // the end.
        unsafe {
            let context = self.context();
            let new = self.with_generated_columns(new, context);
            let mut indexes = self.indexes.iter().filter(|index| !by_plain_columns || index.is_plain());
            let found = indexes.any(|index| {
                let key = |info, row| index.key_of(info, row, self.executor, context);
                let of_stored = || Ok(key(index.info_for_stored, row));
                let of_stored = || on_stored_row(guard, self.table, !index.is_plain(), of_stored);
                let of_stored = || of_stored().unwrap_or_else(|error| raise(error));
                key(index.info, new).is_some_and(|new| of_stored().is_some_and(|row| index.are_equal(&new, &row)))
            });
            pg_sys::MemoryContextReset((*context).ecxt_per_tuple_memory);
            found
        }
    }

    fn context(&self) -> *mut pg_sys::ExprContext {
        // SAFETY: the executor state lives as long as `self`.
        unsafe {
            match (*self.executor).es_per_tuple_exprcontext {
                context if context.is_null() => pg_sys::MakePerTupleExprContext(self.executor),
                context => context,
            }
        }
    }

    /// The new row with the generated columns that the indexes depend on, valid until the context's memory is reset.
    ///
    /// # Safety
    /// The row belongs to the table that `self` was made for.
    unsafe fn with_generated_columns<'a>(&'a self, new: Row<'a>, context: *mut pg_sys::ExprContext) -> Row<'a> {
        if self.generated.is_empty() {
            return new;
        }
        // SAFETY: the caller passes a row of the table, and both slots have the columns of that table.
        unsafe {
            let (slot, new_slot) = (self.generated_slot, new.slot());
            pg_sys::slot_getallattrs(new_slot);
            pg_sys::ExecClearTuple(slot);
            let columns = (*(*slot).tts_tupleDescriptor).natts as usize;
            std::ptr::copy_nonoverlapping((*new_slot).tts_values, (*slot).tts_values, columns);
            std::ptr::copy_nonoverlapping((*new_slot).tts_isnull, (*slot).tts_isnull, columns);
            (*slot).tts_tableOid = (*new_slot).tts_tableOid;
            for (column, computed) in &self.generated {
                let index = *column as usize - 1;
                let value = computed.value_in(new, context);
                *(*slot).tts_values.add(index) = value.unwrap_or_else(Datum::null);
                *(*slot).tts_isnull.add(index) = value.is_none();
            }
            Row::new(pg_sys::ExecStoreVirtualTuple(slot))
        }
    }
}

impl UniqueIndex {
    fn is_partial(&self) -> bool {
        // SAFETY: the IndexInfo lives as long as `self`.
        unsafe { !(*self.info).ii_Predicate.is_null() }
    }

    fn is_plain(&self) -> bool {
        // SAFETY: the IndexInfo lives as long as `self`.
        !self.is_partial() && unsafe { (*self.info).ii_Expressions.is_null() }
    }

    /// The key of a row; None if the index omits the row, or if a NULL in the key makes it equal to no other key.
    ///
    /// # Safety
    /// The row belongs to the index's table, and the context to the executor.
    unsafe fn key_of(
        &self,
        info: *mut pg_sys::IndexInfo,
        row: Row<'_>,
        executor: *mut pg_sys::EState,
        context: *mut pg_sys::ExprContext,
    ) -> Option<KeyValues> {
        let (mut values, mut nulls) = ([Datum::null(); MAX_KEY_COLUMNS], [false; MAX_KEY_COLUMNS]);
        // SAFETY: the caller passes a row of the index's table. No index has more key columns than the arrays have
        // elements.
        unsafe {
            let info = &mut *info;
            (*context).ecxt_scantuple = row.slot();
            if self.is_partial() {
                if info.ii_PredicateState.is_null() {
                    info.ii_PredicateState = pg_sys::ExecPrepareQual(info.ii_Predicate, executor);
                }
                if !pg_sys::ExecQual(info.ii_PredicateState, context) {
                    return None;
                }
            }
            pg_sys::FormIndexDatum(info, row.slot(), executor, values.as_mut_ptr(), nulls.as_mut_ptr());
            let count = info.ii_NumIndexKeyAttrs as usize;
            if !self.nulls_are_equal && nulls[..count].contains(&true) {
                return None;
            }
            let values = values[..count].iter().zip(nulls);
            Some(values.map(|(value, is_null)| (!is_null).then_some(*value)).collect())
        }
    }

    /// Whether the index treats two keys as equal.
    ///
    /// # Safety
    /// Both are keys of the index.
    unsafe fn are_equal(&self, a: &KeyValues, b: &KeyValues) -> bool {
        // SAFETY: the caller passes two keys of this index, which has an operator and a collation for each of its keys.
        unsafe {
            let index = Relation::open(self.oid);
            a.iter().zip(b).enumerate().all(|(position, pair)| match pair {
                (None, None) => true,
                (Some(a), Some(b)) => {
                    let equality = *(*self.info).ii_UniqueProcs.add(position);
                    let collation = *index.rd_indcollation.add(position);
                    pg_sys::OidFunctionCall2Coll(equality, collation, *a, *b) != Datum::from(false)
                }
                _ => false,
            })
        }
    }

    /// Looks for a row with this key. If `waits_for_locks` is set, a row that is only locked is [`SameKey::Depends`].
    ///
    /// # Safety
    /// The index belongs to the open table, the key is one of the index, and the slot is for rows of that table.
    unsafe fn find(
        &self,
        table: &Relation,
        key: &KeyValues,
        slot: &TableSlot,
        since: &Moment,
        waits_for_locks: bool,
    ) -> SameKey {
        // SAFETY: the caller passes the index's table and a key of it. A unique index has a collation and an operator
        // for each of its keys.
        unsafe {
            let (info, index) = (&*self.info, Relation::open(self.oid));
            let mut keys = [pg_sys::ScanKeyData::default(); MAX_KEY_COLUMNS];
            for (position, (scan_key, value)) in keys.iter_mut().zip(key).enumerate() {
                let is_null = if value.is_none() { pg_sys::SK_ISNULL | pg_sys::SK_SEARCHNULL } else { 0 };
                pg_sys::ScanKeyEntryInitialize(
                    scan_key,
                    is_null as i32,
                    position as pg_sys::AttrNumber + 1,
                    *info.ii_UniqueStrats.add(position),
                    Oid::INVALID,
                    *index.rd_indcollation.add(position),
                    *info.ii_UniqueProcs.add(position),
                    value.unwrap_or_else(Datum::null),
                );
            }
            let mut found = SameKey::None;
            let keys = &mut keys[..key.len()];
            let mut scan = DirtyScan::begin(table, &index, slot, since, keys.len(), None);
            scan.rescan(keys);
            while let Some((version, state, _)) = scan.next(|_| true) {
                match state {
                    VersionState::Depends { on, .. } => return SameKey::Depends(on, version.row().tid()),
                    VersionState::Gone { during_search: false } => {}
                    // The row's new version may be at a position that the scan has passed.
                    VersionState::Gone { during_search: true } => found = SameKey::Present,
                    VersionState::Present => match waits_for_locks.then(|| version.locker()).flatten() {
                        Some(id) => {
                            return SameKey::Depends(Transaction { id, speculation: 0 }, version.row().tid());
                        }
                        None => found = SameKey::Present,
                    },
                }
            }
            found
        }
    }
}
