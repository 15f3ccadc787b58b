//! The row that INSERT .. ON CONFLICT finds in place of the new one: it has the same value in a unique index.
//!
//! It is no duplicate of the new row, which is not stored while it is there: ON CONFLICT makes an UPDATE of it, which
//! is checked as such, or does nothing, and without ON CONFLICT the INSERT fails. It is found as PostgreSQL finds it
//! (`check_exclusion_or_unique_constraint` in execIndexing.c): by all unique indexes that ON CONFLICT could infer, with
//! their own expressions, predicates and operators.

use pgrx::PgRelation;
use pgrx::pg_sys::{self, Datum, LockTupleMode, Oid};

use super::computed::Computed;
use super::search::{State, Transaction, dirty_snapshot, state_of, value};
use super::table::datum_image_hash;
use crate::sql::expression::{list, oids};
use crate::sql::tables::{index_info, open};

/// The unique indexes of a table, ready to be probed with the rows of a statement.
pub struct OwnRow {
    indexes: Vec<UniqueIndex>,
    /// What expressions of the indexes are evaluated in.
    executor: *mut pg_sys::EState,
    /// The generated columns that the indexes depend on: PostgreSQL computes them after the trigger.
    generated: Vec<(i16, Computed)>,
    /// The columns of unique indexes on plain columns: a row that is locked FOR KEY SHARE keeps their values.
    keys: Vec<i16>,
    /// Takes the new row with these columns.
    with_generated: *mut pg_sys::TupleTableSlot,
}

struct UniqueIndex {
    oid: Oid,
    info: *mut pg_sys::IndexInfo,
    nulls_are_equal: bool,
    mode: LockTupleMode::Type,
}

/// A row with the new row's value in a unique index.
#[derive(Clone, Copy)]
pub enum Found {
    /// It is there or not, depending on a transaction in progress.
    Depends(Transaction, pg_sys::ItemPointerData),
    Present(Present),
}

#[derive(Clone, Copy)]
pub struct Present {
    pub place: pg_sys::ItemPointerData,
    /// How to lock the row so that it stays in the index.
    mode: LockTupleMode::Type,
    /// This transaction has written the row, so that it need not be locked.
    pub is_own: bool,
    /// This transaction holds a lock on the row.
    pub is_locked: bool,
    /// A hash of the row's key columns.
    pub keys: u64,
}

impl OwnRow {
    /// What is made lives in the current memory context.
    pub fn new(table: &PgRelation) -> Self {
        let (mut indexes, mut needed, mut keys) = (Vec::new(), Vec::new(), Vec::new());
        // SAFETY: an open table, whose list is a copy; each of its indexes exists, and an open index has its row of
        // pg_index. The lists of an IndexInfo hold valid expressions of the table's columns.
        unsafe {
            for oid in oids(pg_sys::RelationGetIndexList(table.as_ptr())) {
                let index = open(oid);
                let row = &*index.rd_index;
                let is_inferable = row.indisunique && row.indimmediate && !row.indisexclusion;
                let is_btree = (*index.rd_rel).relam == pg_sys::BTREE_AM_OID;
                if !(is_inferable && row.indisvalid && row.indisready && is_btree) {
                    continue;
                }
                let info = index_info(index.as_ptr());
                pg_sys::BuildSpeculativeIndexInfo(index.as_ptr(), info);
                let expressions = list((*info).ii_Expressions).into_iter().chain(list((*info).ii_Predicate));
                needed.extend(expressions.flat_map(|expression| expression.own_columns()));
                let columns = &(&(*info).ii_IndexAttrNumbers)[..(*info).ii_NumIndexKeyAttrs as usize];
                // An expression has the number 0 among the columns.
                needed.extend(columns.iter().copied().filter(|&column| column != 0));
                #[cfg(feature = "pg14")]
                let nulls_are_equal = false;
                #[cfg(not(feature = "pg14"))]
                let nulls_are_equal = (*info).ii_NullsNotDistinct;
                // A FOR KEY SHARE lock keeps a row from being deleted, and from getting other values in the columns of
                // unique indexes on plain columns (heap_update). Those that an expression or a predicate depends on
                // may change under it, so there it takes the lock that an UPDATE takes.
                let is_plain = (*info).ii_Expressions.is_null() && (*info).ii_Predicate.is_null();
                if is_plain {
                    keys.extend(columns.iter().copied());
                }
                let mode =
                    if is_plain { LockTupleMode::LockTupleKeyShare } else { LockTupleMode::LockTupleNoKeyExclusive };
                indexes.push(UniqueIndex { oid, info, nulls_are_equal, mode });
            }
            let columns = 1..=(*table.rd_att).natts as i16;
            // An expression of the whole row depends on column 0.
            let is_needed = |column: &i16| needed.contains(&0) || needed.contains(column);
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
            keys.sort_unstable();
            keys.dedup();
            Self { indexes, executor: pg_sys::CreateExecutorState(), generated, keys, with_generated }
        }
    }

    /// A row that is in the new row's way; one that is certainly there first.
    ///
    /// # Safety
    /// The slot holds a row of the table, which is open and that of `new`.
    pub unsafe fn find(&self, table: &PgRelation, new: *mut pg_sys::TupleTableSlot) -> Option<Found> {
        if self.indexes.is_empty() {
            return None;
        }
        // SAFETY: by the contract. What is evaluated lives until the memory of the row's expressions is reset; a slot
        // of the table is made for it and dropped.
        unsafe {
            let context = match (*self.executor).es_per_tuple_exprcontext {
                context if context.is_null() => pg_sys::MakePerTupleExprContext(self.executor),
                context => context,
            };
            let new = self.complete(new, context);
            (*context).ecxt_scantuple = new;
            let slot = pg_sys::table_slot_create(table.as_ptr(), std::ptr::null_mut());
            let mut found = None;
            for index in &self.indexes {
                match index.find(table, new, slot, self.executor, context) {
                    Some(Found::Present(present)) => {
                        found = Some(Found::Present(Present { keys: self.hash_keys(table, slot), ..present }));
                        break;
                    }
                    Some(depends) => found = Some(depends),
                    None => {}
                }
            }
            pg_sys::ExecDropSingleTupleTableSlot(slot);
            pg_sys::MemoryContextReset((*context).ecxt_per_tuple_memory);
            found
        }
    }

    /// A hash of a row's key columns.
    ///
    /// # Safety
    /// The slot holds a row of the table.
    unsafe fn hash_keys(&self, table: &PgRelation, slot: *mut pg_sys::TupleTableSlot) -> u64 {
        let columns = table.tuple_desc();
        self.keys.iter().fold(0, |hash, &column| {
            // SAFETY: by the contract; the value is of the type that the table says.
            let of_value = unsafe { value(slot, column) }.zip(columns.get(column as usize - 1)).map(|(value, of)| {
                let hash = || unsafe { datum_image_hash(value, of.attbyval, of.attlen.into()) };
                // SAFETY: nothing but a call of PostgreSQL.
                unsafe { pg_sys::ffi::pg_guard_ffi_boundary(hash) }
            });
            // A multiplication by an odd number, so that the order counts.
            (hash ^ u64::from(of_value.unwrap_or(0))).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        })
    }

    /// The new row with the generated columns that the indexes depend on.
    ///
    /// # Safety
    /// The slot holds a row of the table. The result is valid until the context's memory is reset.
    unsafe fn complete(
        &self,
        new: *mut pg_sys::TupleTableSlot,
        context: *mut pg_sys::ExprContext,
    ) -> *mut pg_sys::TupleTableSlot {
        if self.generated.is_empty() {
            return new;
        }
        // SAFETY: by the contract; both slots have the columns of the table.
        unsafe {
            let complete = self.with_generated;
            pg_sys::slot_getallattrs(new);
            pg_sys::ExecClearTuple(complete);
            let columns = (*(*complete).tts_tupleDescriptor).natts as usize;
            std::ptr::copy_nonoverlapping((*new).tts_values, (*complete).tts_values, columns);
            std::ptr::copy_nonoverlapping((*new).tts_isnull, (*complete).tts_isnull, columns);
            (*complete).tts_tableOid = (*new).tts_tableOid;
            for (column, computed) in &self.generated {
                let place = *column as usize - 1;
                let value = computed.value_in(new, context);
                *(*complete).tts_values.add(place) = value.unwrap_or_else(Datum::null);
                *(*complete).tts_isnull.add(place) = value.is_none();
            }
            pg_sys::ExecStoreVirtualTuple(complete)
        }
    }
}

impl UniqueIndex {
    /// # Safety
    /// The index has been described as one of an open table that does not change.
    unsafe fn is_partial(&self) -> bool {
        // SAFETY: by the contract.
        unsafe { !(*self.info).ii_Predicate.is_null() }
    }

    /// A row that has the new row's value in the index.
    ///
    /// # Safety
    /// The index is one of the table's, which is open; `new` holds a row of it, and is the row of the context, which is
    /// the executor's; `slot` is a slot of the table.
    unsafe fn find(
        &self,
        table: &PgRelation,
        new: *mut pg_sys::TupleTableSlot,
        slot: *mut pg_sys::TupleTableSlot,
        executor: *mut pg_sys::EState,
        context: *mut pg_sys::ExprContext,
    ) -> Option<Found> {
        const MOST: usize = pg_sys::INDEX_MAX_KEYS as usize;
        // SAFETY: by the contract. An index has an operator and a collation for each of its keys, of which there are no
        // more than there is room for. The snapshot is on the heap and outlives the scan.
        unsafe {
            let info = &mut *self.info;
            if self.is_partial() {
                if info.ii_PredicateState.is_null() {
                    info.ii_PredicateState = pg_sys::ExecPrepareQual(info.ii_Predicate, executor);
                }
                if !pg_sys::ExecQual(info.ii_PredicateState, context) {
                    return None;
                }
            }
            let (mut values, mut nulls) = ([Datum::null(); MOST], [false; MOST]);
            pg_sys::FormIndexDatum(info, new, executor, values.as_mut_ptr(), nulls.as_mut_ptr());
            let count = info.ii_NumIndexKeyAttrs as usize;
            if !self.nulls_are_equal && nulls[..count].contains(&true) {
                return None;
            }
            let index = open(self.oid);
            let mut keys = [pg_sys::ScanKeyData::default(); MOST];
            for (place, key) in keys[..count].iter_mut().enumerate() {
                let is_null = if nulls[place] { pg_sys::SK_ISNULL | pg_sys::SK_SEARCHNULL } else { 0 };
                pg_sys::ScanKeyEntryInitialize(
                    key,
                    is_null as i32,
                    place as pg_sys::AttrNumber + 1,
                    *info.ii_UniqueStrats.add(place),
                    Oid::INVALID,
                    *index.rd_indcollation.add(place),
                    *info.ii_UniqueProcs.add(place),
                    values[place],
                );
            }
            let mut snapshot = dirty_snapshot();
            let count = count as i32;
            #[cfg(not(feature = "pg18"))]
            let scan = pg_sys::index_beginscan(table.as_ptr(), index.as_ptr(), &mut *snapshot, count, 0);
            #[cfg(feature = "pg18")]
            let scan =
                pg_sys::index_beginscan(table.as_ptr(), index.as_ptr(), &mut *snapshot, std::ptr::null_mut(), count, 0);
            pg_sys::index_rescan(scan, keys.as_mut_ptr(), count, std::ptr::null_mut(), 0);
            let mut found = None;
            while pg_sys::index_getnext_slot(scan, pg_sys::ScanDirection::ForwardScanDirection, slot) {
                let place = (*slot).tts_tid;
                match state_of(&snapshot) {
                    State::Depends(transaction) => found = Some(Found::Depends(transaction, place)),
                    _ => {
                        let (is_own, is_locked) = (is_own(slot), is_locked(slot));
                        found = Some(Found::Present(Present { place, mode: self.mode, is_own, is_locked, keys: 0 }));
                        break;
                    }
                }
            }
            pg_sys::index_endscan(scan);
            found
        }
    }
}

impl Present {
    /// Whether another INSERT of the same row may hold a lock on it that this one needs, without that keeping it from
    /// getting a lock: see [`super::locks::Locks::take_row`].
    pub fn is_shared(&self) -> bool {
        self.mode == LockTupleMode::LockTupleKeyShare && !self.is_own && !self.is_locked
    }

    /// Waits until the row can be locked, and locks it until the transaction ends, so that it stays in its index; false
    /// if it has been updated or deleted meanwhile. Can be cancelled; a deadlock is an error.
    pub fn lock(mut self, table: &PgRelation) -> bool {
        if self.is_own {
            return true;
        }
        // SAFETY: a place in an open table; a slot of it is made and dropped.
        unsafe {
            let slot = pg_sys::table_slot_create(table.as_ptr(), std::ptr::null_mut());
            let mut failure = pg_sys::TM_FailureData::default();
            let result = pg_sys::table_tuple_lock(
                table.as_ptr(),
                &mut self.place,
                pg_sys::GetActiveSnapshot(),
                slot,
                pg_sys::GetCurrentCommandId(false),
                self.mode,
                pg_sys::LockWaitPolicy::LockWaitBlock,
                // The newer version too, where an UPDATE in progress makes one.
                pg_sys::TUPLE_LOCK_FLAG_LOCK_UPDATE_IN_PROGRESS as u8,
                &mut failure,
            );
            pg_sys::ExecDropSingleTupleTableSlot(slot);
            result == pg_sys::TM_Result::TM_Ok
        }
    }
}

/// The head of the row version in a slot.
///
/// # Safety
/// The slot is one of a table of the heap access method, and holds a row.
unsafe fn header<'a>(slot: *mut pg_sys::TupleTableSlot) -> &'a pg_sys::HeapTupleHeaderData {
    // SAFETY: by the contract. The row is on a page that the slot pins.
    unsafe { &*(*(*slot.cast::<pg_sys::HeapTupleTableSlot>()).tuple).t_data }
}

/// Whether the running transaction has inserted a row version.
///
/// # Safety
/// The slot is one of a table of the heap access method, and holds a row.
pub unsafe fn is_own(slot: *mut pg_sys::TupleTableSlot) -> bool {
    // SAFETY: by the contract; a row of the heap gives the transaction that has inserted it.
    unsafe {
        let mut is_null = false;
        let inserter = pg_sys::slot_getsysattr(slot, pg_sys::MinTransactionIdAttributeNumber, &mut is_null);
        pg_sys::TransactionIdIsCurrentTransactionId(pg_sys::TransactionId::from(inserter.value() as u32))
    }
}

/// Whether the running transaction holds a lock on a row version.
///
/// # Safety
/// The slot is one of a table of the heap access method, and holds a row.
unsafe fn is_locked(slot: *mut pg_sys::TupleTableSlot) -> bool {
    // SAFETY: by the contract. The members are a copy, as many as is said, or none.
    unsafe {
        let header = header(slot);
        let mask = u32::from(header.t_infomask);
        if mask & pg_sys::HEAP_XMAX_INVALID != 0 {
            return false;
        }
        let locker = header.t_choice.t_heap.t_xmax;
        if mask & pg_sys::HEAP_XMAX_IS_MULTI == 0 {
            return pg_sys::TransactionIdIsCurrentTransactionId(locker);
        }
        let is_lock_only = mask & pg_sys::HEAP_XMAX_LOCK_ONLY != 0;
        let mut members = std::ptr::null_mut();
        let count = pg_sys::GetMultiXactIdMembers(locker, &mut members, false, is_lock_only);
        (0..usize::try_from(count).unwrap_or(0))
            .any(|member| pg_sys::TransactionIdIsCurrentTransactionId((*members.add(member)).xid))
    }
}

/// The transaction that has deleted a row version or replaced it by another, whether it has committed or not.
///
/// # Safety
/// The slot is one of a table of the heap access method, and holds a row.
pub unsafe fn deleter(slot: *mut pg_sys::TupleTableSlot) -> Option<pg_sys::TransactionId> {
    // SAFETY: by the contract.
    unsafe {
        let header = header(slot);
        let mask = u32::from(header.t_infomask);
        let is_multi = mask & pg_sys::HEAP_XMAX_IS_MULTI != 0;
        let lock_bits = pg_sys::HEAP_XMAX_EXCL_LOCK | pg_sys::HEAP_XMAX_KEYSHR_LOCK;
        // As HEAP_XMAX_IS_LOCKED_ONLY of PostgreSQL's htup_details.h.
        let is_lock = mask & pg_sys::HEAP_XMAX_LOCK_ONLY != 0
            || mask & (pg_sys::HEAP_XMAX_IS_MULTI | lock_bits) == pg_sys::HEAP_XMAX_EXCL_LOCK;
        if mask & pg_sys::HEAP_XMAX_INVALID != 0 || is_lock {
            return None;
        }
        let raw = header.t_choice.t_heap.t_xmax;
        Some(if is_multi { pg_sys::HeapTupleGetUpdateXid(std::ptr::from_ref(header).cast_mut()) } else { raw })
    }
}
