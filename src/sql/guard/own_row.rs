//! The row that INSERT .. ON CONFLICT finds in place of the new one: it has the same value in a unique index.
//!
//! It is no duplicate of the new row, which is not stored while it is there: ON CONFLICT makes an UPDATE of it, which
//! is checked as such, or does nothing, and without ON CONFLICT the INSERT fails. It is found as PostgreSQL finds it
//! (`check_exclusion_or_unique_constraint` in execIndexing.c): by all unique indexes that ON CONFLICT could infer, with
//! their own expressions, predicates and operators.
//!
//! Nothing is locked: the search for other near rows goes on under the locks on keys, so that the new row may be stored
//! after all, where the row in its way goes.

use pgrx::PgRelation;
use pgrx::pg_sys::{self, Datum, Oid};

use super::computed::Computed;
use super::search::{Filter, Moment, Scan, State, Transaction};
use super::table::same_values;
use crate::sql::expression::{Expression, list, oids};
use crate::sql::tables::{index_info, open};

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

/// The values of an index's keys; None for NULL.
type Key = Vec<Option<Datum>>;

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
    pub fn new(table: &PgRelation) -> Self {
        let (mut indexes, mut needed) = (Vec::new(), Vec::new());
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
                indexes.push(UniqueIndex { oid, info, nulls_are_equal });
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
            let is_generated = |column: &i16| generated.iter().any(|(generated, _)| generated == column);
            let sources = generated.iter().filter_map(|(column, _)| {
                Some(Expression::of_generated_column(table.as_ptr(), *column)?.own_columns())
            });
            let mut columns: Vec<_> = sources.flatten().collect();
            columns.extend(needed.iter().copied().filter(|column| !is_generated(column)));
            // The table's OID, the only column of the system's that an expression may have, is the same for all rows.
            columns.retain(|column| *column >= 0);
            Self { indexes, executor: pg_sys::CreateExecutorState(), generated, columns, with_generated }
        }
    }

    /// Whether an UPDATE leaves alone all that the indexes depend on. If not, the row may go out of the way of a new one,
    /// which is then stored.
    ///
    /// # Safety
    /// The slots hold rows of the table, which is open and that of `new`.
    pub unsafe fn keeps_keys(
        &self,
        table: &PgRelation,
        old: *mut pg_sys::TupleTableSlot,
        new: *mut pg_sys::TupleTableSlot,
    ) -> bool {
        // SAFETY: by the contract.
        !self.columns.contains(&0) && unsafe { same_values(table, self.columns.iter().copied(), old, new) }
    }

    /// Whether a row is in the new row's way.
    ///
    /// # Safety
    /// The slot holds a row of the table, which is open and that of `new`.
    pub unsafe fn find(&self, table: &PgRelation, new: *mut pg_sys::TupleTableSlot, since: &Moment) -> Found {
        // SAFETY: by the contract. What is evaluated lives until the memory of the row's expressions is reset; a slot
        // of the table is made for it and dropped.
        unsafe {
            let context = self.context();
            let new = self.complete(new, context);
            let slot = pg_sys::table_slot_create(table.as_ptr(), std::ptr::null_mut());
            let mut found = Found::None;
            for index in &self.indexes {
                let Some(key) = index.key_of(new, self.executor, context) else { continue };
                match index.find(table, &key, slot, since) {
                    Found::None => {}
                    depends @ Found::Depends(..) => {
                        found = depends;
                        break;
                    }
                    present => found = present,
                }
            }
            pg_sys::ExecDropSingleTupleTableSlot(slot);
            pg_sys::MemoryContextReset((*context).ecxt_per_tuple_memory);
            found
        }
    }

    /// Whether a row of the table is in the new row's way; if so asked, in a unique index on plain columns.
    ///
    /// # Safety
    /// Both slots hold rows of the table that is that of `new`.
    pub unsafe fn is_in_way(
        &self,
        new: *mut pg_sys::TupleTableSlot,
        row: *mut pg_sys::TupleTableSlot,
        by_plain_columns: bool,
    ) -> bool {
        // SAFETY: by the contract. What is evaluated lives until the memory of the row's expressions is reset.
        unsafe {
            let context = self.context();
            let new = self.complete(new, context);
            let mut indexes = self.indexes.iter().filter(|index| !by_plain_columns || index.is_plain());
            let found = indexes.any(|index| {
                let key = |slot| index.key_of(slot, self.executor, context);
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
    /// The slot holds a row of the table that the index is of; the context is the executor's.
    unsafe fn key_of(
        &self,
        slot: *mut pg_sys::TupleTableSlot,
        executor: *mut pg_sys::EState,
        context: *mut pg_sys::ExprContext,
    ) -> Option<Key> {
        let (mut values, mut nulls) = ([Datum::null(); MOST_KEYS], [false; MOST_KEYS]);
        // SAFETY: by the contract. No index has more keys than there is room for.
        unsafe {
            let info = &mut *self.info;
            (*context).ecxt_scantuple = slot;
            if self.is_partial() {
                if info.ii_PredicateState.is_null() {
                    info.ii_PredicateState = pg_sys::ExecPrepareQual(info.ii_Predicate, executor);
                }
                if !pg_sys::ExecQual(info.ii_PredicateState, context) {
                    return None;
                }
            }
            pg_sys::FormIndexDatum(info, slot, executor, values.as_mut_ptr(), nulls.as_mut_ptr());
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
    unsafe fn are_equal(&self, a: &Key, b: &Key) -> bool {
        // SAFETY: by the contract. An index has an operator and a collation for each of its keys.
        unsafe {
            let index = open(self.oid);
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

    /// Whether a row has that key.
    ///
    /// # Safety
    /// The index is one of the table's, which is open; the key is one of its, and `slot` is a slot of the table.
    unsafe fn find(&self, table: &PgRelation, key: &Key, slot: *mut pg_sys::TupleTableSlot, since: &Moment) -> Found {
        // SAFETY: by the contract. An index has an operator and a collation for each of its keys.
        unsafe {
            let (info, index) = (&*self.info, open(self.oid));
            let mut entries = [pg_sys::ScanKeyData::default(); MOST_KEYS];
            for (place, (entry, value)) in entries.iter_mut().zip(key).enumerate() {
                let is_null = if value.is_none() { pg_sys::SK_ISNULL | pg_sys::SK_SEARCHNULL } else { 0 };
                pg_sys::ScanKeyEntryInitialize(
                    entry,
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
            let mut scan = Scan::begin_with(table, &index, &mut entries[..key.len()], Filter::None, usize::MAX);
            while let Some(state) = scan.next(slot, since, None) {
                let place = (*slot).tts_tid;
                match state {
                    State::Depends(transaction) => return Found::Depends(transaction, place),
                    State::Gone { lately: false, .. } => {}
                    // It may have moved to a place that the scan has passed.
                    State::Gone { lately: true, .. } => found = Found::Present,
                    State::Present => match locker(slot) {
                        Some(id) => return Found::Depends(Transaction { id, speculation: 0 }, place),
                        None => found = Found::Present,
                    },
                }
            }
            found
        }
    }
}

/// What the head of a row version says of the transactions that have written it.
struct Head {
    inserter: pg_sys::TransactionId,
    deleter_or_locker: pg_sys::TransactionId,
    mask: u32,
    mask2: u32,
}

impl Head {
    /// # Safety
    /// The slot is one of a table of the heap access method, and holds a row.
    unsafe fn read(slot: *mut pg_sys::TupleTableSlot) -> Self {
        // SAFETY: by the contract. The row is on the page that the slot pins, and is read under the page's lock, as the
        // parts of its head change together.
        unsafe {
            let buffer = (*slot.cast::<pg_sys::BufferHeapTupleTableSlot>()).buffer;
            pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
            let header = header(slot);
            let head = Self {
                inserter: header.t_choice.t_heap.t_xmin,
                deleter_or_locker: header.t_choice.t_heap.t_xmax,
                mask: header.t_infomask.into(),
                mask2: header.t_infomask2.into(),
            };
            pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_UNLOCK as i32);
            head
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

/// The command of the running transaction that has inserted a row version; None if another transaction has.
///
/// # Safety
/// The slot is one of a table of the heap access method, and holds a row.
pub unsafe fn own_command(slot: *mut pg_sys::TupleTableSlot) -> Option<pg_sys::CommandId> {
    // SAFETY: by the contract. Only of its own rows can a transaction tell the command.
    unsafe { is_own(slot).then(|| pg_sys::HeapTupleHeaderGetCmin(std::ptr::from_ref(header(slot)).cast_mut())) }
}

/// A transaction in progress, other than the running one, that holds a lock on a row version for which an UPDATE has to
/// wait.
///
/// # Safety
/// The slot is one of a table of the heap access method, and holds a row.
unsafe fn locker(slot: *mut pg_sys::TupleTableSlot) -> Option<pg_sys::TransactionId> {
    // SAFETY: by the contract. The members are a copy, as many as is said, or none.
    unsafe {
        let Head { deleter_or_locker: locker, mask, .. } = Head::read(slot);
        let is_in_progress =
            |id| !pg_sys::TransactionIdIsCurrentTransactionId(id) && pg_sys::TransactionIdIsInProgress(id);
        let is_lock_only = mask & pg_sys::HEAP_XMAX_LOCK_ONLY != 0;
        if mask & pg_sys::HEAP_XMAX_INVALID != 0 {
            return None;
        }
        if mask & pg_sys::HEAP_XMAX_IS_MULTI == 0 {
            let lock_bits = pg_sys::HEAP_XMAX_EXCL_LOCK | pg_sys::HEAP_XMAX_KEYSHR_LOCK;
            let is_key_share = is_lock_only && mask & lock_bits == pg_sys::HEAP_XMAX_KEYSHR_LOCK;
            return (!is_key_share && is_in_progress(locker)).then_some(locker);
        }
        let mut members = std::ptr::null_mut();
        let count = pg_sys::GetMultiXactIdMembers(locker, &mut members, false, is_lock_only);
        let members = (0..usize::try_from(count).unwrap_or(0)).map(|member| *members.add(member));
        let mut strong = members.filter(|member| member.status > pg_sys::MultiXactStatus::MultiXactStatusForKeyShare);
        strong.find(|member| is_in_progress(member.xid)).map(|member| member.xid)
    }
}

/// Whether a row version, which another transaction is deleting or replacing, is replaced by one with the same values in
/// the columns of all unique indexes on plain columns.
///
/// # Safety
/// The slot is one of a table of the heap access method, and holds a row.
pub unsafe fn keeps_key(slot: *mut pg_sys::TupleTableSlot) -> bool {
    // SAFETY: by the contract; any number may be asked for as a transaction's.
    unsafe {
        let Head { inserter, mask, mask2, .. } = Head::read(slot);
        let has_new_key = mask2 & pg_sys::HEAP_KEYS_UPDATED != 0;
        mask & pg_sys::HEAP_XMAX_INVALID == 0 && !has_new_key && !pg_sys::TransactionIdIsInProgress(inserter)
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
