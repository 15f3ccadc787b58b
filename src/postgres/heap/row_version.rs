//! Row versions of heap tables, and the transactions in their headers (PostgreSQL's htup_details.h).

use pgrx::itemptr::item_pointer_get_both;
use pgrx::pg_sys::{self, CommandId, ItemPointerData, TransactionId};

use super::row::{Row, TableSlot};
use crate::catalog::relation::Relation;
use crate::catalog::row_lock::{conflicting_transaction, is_only_locked};

/// A row version that is stored in a heap table, in a slot that pins its page.
#[derive(Clone, Copy)]
pub struct RowVersion<'a>(Row<'a>);

impl<'a> RowVersion<'a> {
    /// The row as a row version; None if it is not stored in a heap table: its slot is of another type, or has a copy.
    pub fn new(row: Row<'a>) -> Option<Self> {
        let version = Self(row);
        // SAFETY: a slot's operations identify its type. The slot has no buffer if its row is a copy.
        let is_stored = unsafe {
            std::ptr::eq((*row.slot()).tts_ops, &raw const pg_sys::TTSOpsBufferHeapTuple)
                && (*version.slot()).buffer != pg_sys::InvalidBuffer as pg_sys::Buffer
        };
        is_stored.then_some(version)
    }

    /// Fetches the row version at a tid of a table into a slot for its rows; None if the page no longer exists, or if
    /// the snapshot sees no version there.
    ///
    /// # Safety
    /// The snapshot is valid.
    pub unsafe fn fetch_visible(
        table: &Relation,
        tid: pg_sys::ItemPointerData,
        slot: &'a TableSlot,
        snapshot: pg_sys::Snapshot,
    ) -> Option<Self> {
        if item_pointer_get_both(tid).0 >= table.page_count() {
            return None;
        }
        // SAFETY: the page of the tid exists, and the caller passes a valid snapshot.
        unsafe { slot.fetch(table, tid, snapshot) }.and_then(Self::new)
    }

    pub fn row(self) -> Row<'a> {
        self.0
    }

    /// Whether the running transaction inserted the version; also true in its subtransactions.
    pub fn is_inserted_here(self) -> bool {
        // SAFETY: any number may be passed as a transaction.
        unsafe { pg_sys::TransactionIdIsCurrentTransactionId(self.inserter()) }
    }

    /// The transaction that inserted the version.
    pub fn inserter(self) -> TransactionId {
        // SAFETY: the header is a stored row's.
        unsafe { (*self.header()).t_choice.t_heap.t_xmin }
    }

    /// The command that inserted the version; None if another transaction inserted it.
    pub fn own_command(self) -> Option<CommandId> {
        // SAFETY: HeapTupleHeaderGetCmin is called only for rows that the running transaction inserted.
        self.is_inserted_here().then(|| unsafe { pg_sys::HeapTupleHeaderGetCmin(self.header()) })
    }

    /// Another transaction in progress, for which an UPDATE has to wait: it has locked, updated or deleted the version.
    pub fn blocker_of_update(self) -> Option<TransactionId> {
        // FOR KEY SHARE, the weakest lock, does not conflict with an UPDATE that leaves the key as it is.
        let conflicting = pg_sys::MultiXactStatus::MultiXactStatusForShare;
        // SAFETY: `new` has checked that the slot is for stored heap rows. It pins the row's page.
        unsafe { conflicting_transaction((*self.slot()).buffer, self.header(), conflicting) }
    }

    /// The transaction that deleted or replaced the version, whether it has committed or not; None if there is none.
    pub fn deleter(self) -> Option<TransactionId> {
        let header = self.header();
        // SAFETY: the header is a stored row's.
        let (infomask, xmax) = unsafe { (u32::from((*header).t_infomask), (*header).t_choice.t_heap.t_xmax) };
        if infomask & pg_sys::HEAP_XMAX_INVALID != 0 || is_only_locked(infomask) {
            return None;
        }
        let is_multi = infomask & pg_sys::HEAP_XMAX_IS_MULTI != 0;
        // SAFETY: `t_xmax` is a multitransaction.
        Some(if is_multi { unsafe { pg_sys::HeapTupleGetUpdateXid(header) } } else { xmax })
    }

    /// The transaction that replaced the version, and the tid of the new version; None if the version is the row's last
    /// one. If the row has moved to another partition, no row has this tid.
    pub fn replacement(self) -> Option<(TransactionId, ItemPointerData)> {
        let deleter = self.deleter()?;
        // SAFETY: the header is a stored row's.
        let next = unsafe { (*self.header()).t_ctid };
        (item_pointer_get_both(next) != item_pointer_get_both(self.0.tid())).then_some((deleter, next))
    }

    /// The slot, of the type that `new` has checked.
    fn slot(self) -> *mut pg_sys::BufferHeapTupleTableSlot {
        self.0.slot().cast()
    }

    /// The header, on a page that the slot pins.
    fn header(self) -> pg_sys::HeapTupleHeader {
        // SAFETY: `new` has checked that the slot is for stored heap rows.
        unsafe { (*(*self.slot()).base.tuple).t_data }
    }
}
