//! Conflicting rows: they have the same values in a unique index as the new row, so INSERT .. ON CONFLICT finds them.
//!
//! For example, row 42 is edited by `INSERT INTO docs VALUES (42, 'its text, edited') ON CONFLICT (id) DO UPDATE ..`.
//! The new row is near row 42. If that row counted, `skip` would drop every edit.
//!
//! PostgreSQL does not store the new row while a conflicting row exists, so such a row does not count as a
//! near-duplicate. ON CONFLICT either updates it, and the guard checks that UPDATE, or does nothing. Without ON
//! CONFLICT, the INSERT fails. The guard finds the row as PostgreSQL does (`check_exclusion_or_unique_constraint` in
//! execIndexing.c): by all unique indexes that ON CONFLICT could infer, with their expressions, predicates and
//! operators.
//!
//! The guard does not lock that row. If it disappears, PostgreSQL stores the new row after all. So the new row is
//! registered, and the guard searches for other near rows, as for any INSERT.

use pgrx::pg_sys::{self, Datum, IndexInfo, ItemPointerData, Oid, ScanKeyData};
use postgres::catalog::column::{Column, generation_of};
use postgres::catalog::index::is_inferable;
use postgres::catalog::relation::Relation;
use postgres::expression::{Expression, expressions};
use postgres::heap::dirty_scan::{DirtyScan, DirtySearch, FoundVersion, VersionState};
use postgres::heap::entry_scan::equality_key;
use postgres::heap::row::{Row, TableSlot, has_tid};
use postgres::heap::transactions::{Awaited, Transaction};

/// The unique indexes of a table, ready to look up the keys of rows of a statement.
pub struct UniqueIndexes {
    indexes: Vec<(Oid, *mut IndexInfo)>,
    /// The executor state in which expressions of the indexes are evaluated, and its context for one row.
    executor: *mut pg_sys::EState,
    context: *mut pg_sys::ExprContext,
    /// Whether the INSERT may have to wait for a row that is only locked, because ON CONFLICT would update it.
    waits_for_locks: bool,
    /// The columns that the indexes depend on, directly or through generated columns; 0 for the whole row.
    attnums: Vec<i16>,
    /// None if no index depends on a stored generated column.
    generated: Option<GeneratedColumns>,
}

/// Computes the generated columns of new rows. PostgreSQL does so after the trigger.
struct GeneratedColumns {
    relation: *mut pg_sys::ResultRelInfo,
    /// Holds the new row with its generated columns.
    slot: *mut pg_sys::TupleTableSlot,
}

const MAX_INDEX_COLUMNS: usize = pg_sys::INDEX_MAX_KEYS as usize;

/// The rows of a table that conflict with the new row.
#[derive(Default)]
pub struct ConflictingRows {
    /// The tids of their versions and of their index entries. These differ after an UPDATE that changes no indexed
    /// column: the new version has a tid of its own, but no index entry.
    pub tids: Vec<ItemPointerData>,
    /// A transaction in progress that has written a conflicting row, or locked it against UPDATE.
    pub awaited: Option<Awaited>,
    /// Whether a conflicting row was replaced during the search, by a version that may have another key.
    may_have_other_keys: bool,
}

impl ConflictingRows {
    /// Whether a row conflicts, or may conflict. Another scan has found it by this index entry.
    pub fn may_include(&self, entry: ItemPointerData) -> bool {
        self.may_have_other_keys || has_tid(&self.tids, entry)
    }

    /// Whether a conflicting row is present, whatever other transactions do.
    pub fn is_present(&self) -> bool {
        self.awaited.is_none() && (self.may_have_other_keys || !self.tids.is_empty())
    }

    fn add(&mut self, found: &FoundVersion, waits_for_locks: bool) {
        let &FoundVersion { table, version, state, entry, may_have_other_keys, .. } = found;
        if may_have_other_keys {
            self.may_have_other_keys = true;
            return;
        }
        let awaited = match state {
            VersionState::Depends { on, .. } => Some(on),
            VersionState::Present if waits_for_locks => {
                version.blocker_of_update().map(|id| Transaction { id, speculative_token: 0 })
            }
            VersionState::Present => None,
        };
        let tid = version.row().tid();
        self.tids.extend([entry, tid]);
        self.awaited = self.awaited.or(awaited.map(|transaction| Awaited { transaction, table: table.oid(), tid }));
    }
}

impl GeneratedColumns {
    /// # Safety
    /// The table stays open, and the current memory context lives, as long as the result is used.
    unsafe fn new(table: &Relation) -> Self {
        // SAFETY: the caller passes an open table.
        unsafe {
            let relation = pg_sys::palloc0(size_of::<pg_sys::ResultRelInfo>()).cast::<pg_sys::ResultRelInfo>();
            (*relation).type_ = pg_sys::NodeTag::T_ResultRelInfo;
            pg_sys::InitResultRelInfo(relation, table.as_ptr(), 1, std::ptr::null_mut(), 0);
            let columns = pg_sys::CreateTupleDescCopy(table.rd_att);
            let slot = pg_sys::MakeSingleTupleTableSlot(columns, &raw const pg_sys::TTSOpsVirtual);
            Self { relation, slot }
        }
    }

    /// The new row with its generated columns. It is valid until the next row.
    ///
    /// # Safety
    /// The row belongs to the table that `self` was made for, and the executor state lives.
    unsafe fn compute<'a>(&'a self, new: Row<'a>, executor: *mut pg_sys::EState) -> Row<'a> {
        let Self { relation, slot } = *self;
        // SAFETY: the caller passes a row of the table, and the slot has the columns of that table.
        unsafe {
            pg_sys::ExecCopySlot(slot, new.slot());
            (*slot).tts_tableOid = (*new.slot()).tts_tableOid;
            pg_sys::ExecComputeStoredGenerated(relation, executor, slot, pg_sys::CmdType::CMD_INSERT);
            Row::new(slot)
        }
    }
}

impl UniqueIndexes {
    /// Reads the unique indexes of a table. `waits_for_locks` says whether ON CONFLICT may update rows.
    ///
    /// # Safety
    /// The table stays open, and the current memory context lives, as long as the result is used.
    pub unsafe fn new(table: &Relation, waits_for_locks: bool) -> Self {
        let (mut indexes, mut attnums) = (Vec::new(), Vec::new());
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
                for list in [(*info).ii_Expressions, (*info).ii_Predicate] {
                    attnums.extend(expressions(list).into_iter().flat_map(Expression::own_columns));
                }
                let keys = &(&(*info).ii_IndexAttrNumbers)[..(*info).ii_NumIndexKeyAttrs as usize];
                // The attnum 0 stands for an expression.
                attnums.extend(keys.iter().copied().filter(|&attnum| attnum != 0));
                indexes.push((oid, info));
            }
            // An expression of the whole row depends on column 0.
            let is_generated = |&attnum: &i16| match attnum {
                0 => Column::all(table).any(|column| column.is_stored),
                _ => Column::at(table, attnum).is_some_and(|column| column.is_stored),
            };
            let generated = attnums.iter().any(is_generated).then(|| GeneratedColumns::new(table));
            let plain_columns_of = |attnum| generation_of(table, attnum).map_or(vec![attnum], Expression::own_columns);
            // The only system column that an expression can have is the table's OID, which is the same for all rows.
            let attnums = attnums.into_iter().flat_map(plain_columns_of).filter(|&attnum| attnum >= 0).collect();
            let executor = pg_sys::CreateExecutorState();
            let context = pg_sys::MakePerTupleExprContext(executor);
            Self { indexes, executor, context, waits_for_locks, attnums, generated }
        }
    }

    /// Whether an UPDATE changes none of the columns that the indexes depend on. Otherwise, a new row with the key of
    /// the old version may no longer conflict with this row, and is then stored.
    pub fn has_unchanged_keys(&self, old: Row<'_>, new: Row<'_>) -> bool {
        !self.attnums.contains(&0) && new.has_same_values(old, self.attnums.iter().copied())
    }

    /// Looks for rows that conflict with the new row.
    ///
    /// # Safety
    /// `self` was made for this table, and the row belongs to it.
    pub unsafe fn find(&self, table: &Relation, new: Row<'_>, search: DirtySearch<'_>) -> ConflictingRows {
        let slot = TableSlot::new(table);
        let mut rows = ConflictingRows::default();
        // SAFETY: the caller passes the table that the indexes belong to, and a row of it. Values live until the
        // per-row memory is reset, at the end. `|_| true` does not panic.
        unsafe {
            let new = self.generated.as_ref().map_or(new, |generated| generated.compute(new, self.executor));
            for &(index, info) in &self.indexes {
                let index = Relation::open(index);
                let Some(mut scan_keys) = self.scan_keys(&index, &mut *info, new) else { continue };
                let mut scan = DirtyScan::begin(table, &index, &slot, search, scan_keys.len(), None);
                scan.scan().rescan(&mut scan_keys);
                while let Some(version) = scan.next(|_| true, search.entries_without_row) {
                    rows.add(&version, self.waits_for_locks);
                }
            }
            pg_sys::MemoryContextReset((*self.context).ecxt_per_tuple_memory);
        }
        rows
    }

    /// Scan keys that find the new row's key in an index; None if the index omits the row, or if a NULL in the key
    /// makes it equal to no other key.
    ///
    /// # Safety
    /// The row belongs to the index's table, and `info` to the index.
    unsafe fn scan_keys(&self, index: &Relation, info: &mut IndexInfo, new: Row<'_>) -> Option<Vec<ScanKeyData>> {
        let (mut values, mut nulls) = ([Datum::null(); MAX_INDEX_COLUMNS], [false; MAX_INDEX_COLUMNS]);
        // SAFETY: the caller passes a row of the index's table. No index has more columns than the arrays have
        // elements. A unique index has a collation and an equality for each of its keys.
        unsafe {
            (*self.context).ecxt_scantuple = new.slot();
            if info.ii_PredicateState.is_null() {
                info.ii_PredicateState = pg_sys::ExecPrepareQual(info.ii_Predicate, self.executor);
            }
            if !pg_sys::ExecQual(info.ii_PredicateState, self.context) {
                return None;
            }
            pg_sys::FormIndexDatum(info, new.slot(), self.executor, values.as_mut_ptr(), nulls.as_mut_ptr());
            let count = info.ii_NumIndexKeyAttrs as usize;
            if !info.ii_NullsNotDistinct && nulls[..count].contains(&true) {
                return None;
            }
            let scan_key = |position: usize| {
                let value = (!nulls[position]).then_some(values[position]);
                let (equality, collation) = (*info.ii_UniqueProcs.add(position), *index.rd_indcollation.add(position));
                equality_key(position as i16 + 1, equality, collation, value)
            };
            Some((0..count).map(scan_key).collect())
        }
    }
}
