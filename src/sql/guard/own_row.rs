//! The row that INSERT .. ON CONFLICT finds in place of the new one: it has the same value in a unique index.
//!
//! It is no duplicate of the new row, which is not stored while it is there: ON CONFLICT makes an UPDATE of it, which
//! is checked as such, or does nothing, and without ON CONFLICT the INSERT fails. It is found as PostgreSQL finds it
//! (`check_exclusion_or_unique_constraint` in execIndexing.c): by all unique indexes that ON CONFLICT could infer, with
//! their own expressions, predicates and operators.
//!
//! Nothing is locked: the search for other near rows goes on under the locks on keys, so that the new row may be stored
//! after all, where the row in its way goes.

use pgrx::pg_sys::{self, Datum, Oid};

use crate::postgres::catalog::column::{Column, generation_of};
use crate::postgres::catalog::index::{Index, index_info};
use crate::postgres::catalog::relation::Relation;
use crate::postgres::dirty_scan::{DirtyScan, State};
use crate::postgres::moment::{Moment, Transaction};
use crate::postgres::nodes::computed::Computed;
use crate::postgres::nodes::expression::{Expression, list};
use crate::postgres::row::{Row, TableSlot};

/// The unique indexes of a table, ready to be probed with the rows of a statement.
pub struct OwnRow {
    indexes: Vec<UniqueIndex>,
    /// What expressions of the indexes are evaluated in.
    executor: *mut pg_sys::EState,
    /// The generated columns that the indexes depend on: PostgreSQL computes them after the trigger.
    generated: Vec<(i16, Computed)>,
    /// The columns that are not generated, and that the indexes depend on; 0 for all.
    columns: Vec<i16>,
    /// Takes the new row with these columns.
    with_generated: *mut pg_sys::TupleTableSlot,
}

const MOST_KEYS: usize = pg_sys::INDEX_MAX_KEYS as usize;

/// The values that a row has in an index; None for NULL.
type IndexValues = Vec<Option<Datum>>;

struct UniqueIndex {
    oid: Oid,
    info: *mut pg_sys::IndexInfo,
    nulls_are_equal: bool,
}

/// Whether a row is in a new row's way.
pub enum Found {
    None,
    Present,
    /// It depends on a transaction in progress, which has written such a row, or locked it against UPDATE.
    Depends(Transaction, pg_sys::ItemPointerData),
}

impl OwnRow {
    /// What is made lives in the current memory context.
    pub fn new(table: &Relation) -> Self {
        let (mut indexes, mut needed) = (Vec::new(), Vec::new());
        // SAFETY: an open table and its indexes. The lists of an IndexInfo hold valid expressions of the table's columns.
        unsafe {
            for found in Index::all(table).iter().filter(|found| found.is_inferable && found.is_valid && found.is_btree)
            {
                let index = Relation::open(found.oid);
                let info = index_info(&index);
                pg_sys::BuildSpeculativeIndexInfo(index.as_ptr(), info);
                let expressions = list((*info).ii_Expressions).into_iter().chain(list((*info).ii_Predicate));
                needed.extend(expressions.flat_map(Expression::own_columns));
                let columns = &(&(*info).ii_IndexAttrNumbers)[..(*info).ii_NumIndexKeyAttrs as usize];
                // An expression has the number 0 among the columns.
                needed.extend(columns.iter().copied().filter(|&column| column != 0));
                #[cfg(feature = "pg14")]
                let nulls_are_equal = false;
                #[cfg(not(feature = "pg14"))]
                let nulls_are_equal = (*info).ii_NullsNotDistinct;
                indexes.push(UniqueIndex { oid: found.oid, info, nulls_are_equal });
            }
            // An expression of the whole row depends on column 0.
            let is_needed = |column: &i16| needed.contains(&0) || needed.contains(column);
            let columns = Column::all(table).filter(|column| column.is_generated).map(|column| column.number);
            let generated: Vec<_> = columns
                .filter(is_needed)
                .filter_map(|column| Some((column, Computed::generated(table, column)?)))
                .collect();
            let with_generated = if generated.is_empty() {
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
            // The table's OID, the only column of the system's that an expression may have, is the same for all rows.
            columns.retain(|column| *column >= 0);
            Self { indexes, executor: pg_sys::CreateExecutorState(), generated, columns, with_generated }
        }
    }

    /// Whether an UPDATE leaves alone all that the indexes depend on. If not, the row may go out of the way of a new one,
    /// which is then stored.
    pub fn keeps_keys(&self, old: Row<'_>, new: Row<'_>) -> bool {
        !self.columns.contains(&0) && new.has_same_values(old, self.columns.iter().copied())
    }

    /// Whether a row is in the new row's way.
    ///
    /// # Safety
    /// The row and the table are those that this was made for.
    pub unsafe fn find(&self, table: &Relation, new: Row<'_>, since: &Moment) -> Found {
        // SAFETY: by the contract. What is evaluated lives until the memory of the row's expressions is reset; a slot
        // of the table is made for it and dropped.
        unsafe {
            let context = self.context();
            let new = self.complete(new, context);
            let slot = TableSlot::new(table);
            let mut found = Found::None;
            for index in &self.indexes {
                let Some(key) = index.values_of(new, self.executor, context) else { continue };
                match index.find(table, &key, &slot, since) {
                    Found::None => {}
                    depends @ Found::Depends(..) => {
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

    /// Whether a row of the table is in the new row's way; if so asked, in a unique index on plain columns.
    ///
    /// # Safety
    /// Both are rows of the table that this was made for.
    pub unsafe fn is_in_way(&self, new: Row<'_>, row: Row<'_>, by_plain_columns: bool) -> bool {
        // SAFETY: by the contract. What is evaluated lives until the memory of the row's expressions is reset.
        unsafe {
            let context = self.context();
            let new = self.complete(new, context);
            let mut indexes = self.indexes.iter().filter(|index| !by_plain_columns || index.is_plain());
            let found = indexes.any(|index| {
                let key = |row| index.values_of(row, self.executor, context);
                key(new).zip(key(row)).is_some_and(|(new, row)| index.are_equal(&new, &row))
            });
            pg_sys::MemoryContextReset((*context).ecxt_per_tuple_memory);
            found
        }
    }

    fn context(&self) -> *mut pg_sys::ExprContext {
        // SAFETY: an executor's state, which lives as long as this.
        unsafe {
            match (*self.executor).es_per_tuple_exprcontext {
                context if context.is_null() => pg_sys::MakePerTupleExprContext(self.executor),
                context => context,
            }
        }
    }

    /// The new row with the generated columns that the indexes depend on.
    ///
    /// # Safety
    /// A row of the table that this was made for. The result is valid until the context's memory is reset.
    unsafe fn complete<'a>(&'a self, new: Row<'a>, context: *mut pg_sys::ExprContext) -> Row<'a> {
        if self.generated.is_empty() {
            return new;
        }
        // SAFETY: by the contract; both slots have the columns of the table.
        unsafe {
            let (complete, new_slot) = (self.with_generated, new.slot());
            pg_sys::slot_getallattrs(new_slot);
            pg_sys::ExecClearTuple(complete);
            let columns = (*(*complete).tts_tupleDescriptor).natts as usize;
            std::ptr::copy_nonoverlapping((*new_slot).tts_values, (*complete).tts_values, columns);
            std::ptr::copy_nonoverlapping((*new_slot).tts_isnull, (*complete).tts_isnull, columns);
            (*complete).tts_tableOid = (*new_slot).tts_tableOid;
            for (column, computed) in &self.generated {
                let place = *column as usize - 1;
                let value = computed.value_in(new, context);
                *(*complete).tts_values.add(place) = value.unwrap_or_else(Datum::null);
                *(*complete).tts_isnull.add(place) = value.is_none();
            }
            Row::new(pg_sys::ExecStoreVirtualTuple(complete))
        }
    }
}

impl UniqueIndex {
    fn is_partial(&self) -> bool {
        // SAFETY: a description of the index that lives as long as this.
        unsafe { !(*self.info).ii_Predicate.is_null() }
    }

    fn is_plain(&self) -> bool {
        // SAFETY: a description of the index that lives as long as this.
        !self.is_partial() && unsafe { (*self.info).ii_Expressions.is_null() }
    }

    /// The values that a row has in the index; None if the index leaves the row out, or the row can be equal to no other.
    ///
    /// # Safety
    /// A row of the table that the index is of; the context is the executor's.
    unsafe fn values_of(
        &self,
        row: Row<'_>,
        executor: *mut pg_sys::EState,
        context: *mut pg_sys::ExprContext,
    ) -> Option<IndexValues> {
        let (mut values, mut nulls) = ([Datum::null(); MOST_KEYS], [false; MOST_KEYS]);
        // SAFETY: by the contract. No index has more keys than there is room for.
        unsafe {
            let info = &mut *self.info;
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

    /// Whether two keys are equal to the index.
    ///
    /// # Safety
    /// Both are keys of the index.
    unsafe fn are_equal(&self, a: &IndexValues, b: &IndexValues) -> bool {
        // SAFETY: by the contract. An index has an operator and a collation for each of its keys.
        unsafe {
            let index = Relation::open(self.oid);
            a.iter().zip(b).enumerate().all(|(place, pair)| match pair {
                (None, None) => true,
                (Some(a), Some(b)) => {
                    let equality = *(*self.info).ii_UniqueProcs.add(place);
                    let collation = *index.rd_indcollation.add(place);
                    pg_sys::OidFunctionCall2Coll(equality, collation, *a, *b) != Datum::from(false)
                }
                _ => false,
            })
        }
    }

    /// Whether a row has these values in the index.
    ///
    /// # Safety
    /// The index is one of the table's, which is open; the values are those of a row in it, and the slot is one of the
    /// table.
    unsafe fn find(&self, table: &Relation, values: &IndexValues, slot: &TableSlot, since: &Moment) -> Found {
        // SAFETY: by the contract. An index has a collation, and a unique one an operator, for each of its keys.
        unsafe {
            let (info, index) = (&*self.info, Relation::open(self.oid));
            let mut keys = [pg_sys::ScanKeyData::default(); MOST_KEYS];
            for (place, (key, value)) in keys.iter_mut().zip(values).enumerate() {
                let is_null = if value.is_none() { pg_sys::SK_ISNULL | pg_sys::SK_SEARCHNULL } else { 0 };
                pg_sys::ScanKeyEntryInitialize(
                    key,
                    is_null as i32,
                    place as pg_sys::AttrNumber + 1,
                    *info.ii_UniqueStrats.add(place),
                    Oid::INVALID,
                    *index.rd_indcollation.add(place),
                    *info.ii_UniqueProcs.add(place),
                    value.unwrap_or_else(Datum::null),
                );
            }
            let mut found = Found::None;
            let keys = &mut keys[..values.len()];
            let mut scan = DirtyScan::begin(table, &index, slot, keys, since, false, usize::MAX);
            while let Some((version, state)) = scan.next(|_| true) {
                match state {
                    State::Depends(transaction) => return Found::Depends(transaction, version.row().place()),
                    State::Gone { lately: false, .. } => {}
                    // It may have moved to a place that the scan has passed.
                    State::Gone { lately: true, .. } => found = Found::Present,
                    State::Present => match version.locker() {
                        Some(id) => {
                            return Found::Depends(Transaction { id, speculation: 0 }, version.row().place());
                        }
                        None => found = Found::Present,
                    },
                }
            }
            found
        }
    }
}
