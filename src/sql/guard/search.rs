//! The search of a guarded table for what is near a new row.
//!
//! It reads the block indexes itself, whatever the planner would do, and sees what every other transaction has written,
//! committed or not (a dirty snapshot), as PostgreSQL does for its unique and exclusion constraints
//! (`check_exclusion_or_unique_constraint` in execIndexing.c).

use std::ops::ControlFlow;

use pgrx::PgRelation;
use pgrx::pg_sys::{self, Datum, Oid};

use super::key::Key;
use super::own_row::{deleter, keeps_key, own_command};
use super::table::same_values;
use crate::simhash::blocks::{Block, Ranged};
use crate::simhash::distance::hamming;
use crate::simhash::error::Error;
use crate::simhash::layout::share_of;
use crate::sql::expression::Expression;
use crate::sql::functions::Functions;
use crate::sql::search::choice;
use crate::sql::search::layouts::{Fingerprint, Indexed};
use crate::sql::tables::{open, partition_columns};

/// One table that is searched: a guarded table, or a partition of one.
pub struct Searched {
    pub oid: Oid,
    /// The column of the fingerprint.
    pub fingerprint: i16,
    /// The columns within whose values a duplicate counts.
    pub scope: Vec<Scope>,
    pub primary_key: Key,
    /// Of a partition, the columns that tell which one a row belongs to.
    partition_columns: Vec<i16>,
    /// Rows that a search has to visit, by far not all of them near; where blocks are uneven, it is more.
    pub visits: f64,
    probed: Vec<Probed>,
}

/// A block that is looked up.
struct Probed {
    index: Oid,
    block: Block,
    radius: u32,
    /// How many of the lowest bits make probes that are looked up as one range; 0 if that is no use.
    low: u32,
    /// Where the index has the fingerprint, so that a row need not be visited to see that it is not near.
    fingerprint: Option<i16>,
}

/// Rows that a range is made for, if blocks are even. To read 32 entries of an index that stand together takes as long
/// as one descent to another place of it.
const ROWS_OF_RANGE: f64 = 32.0;
/// Entries that are read of a range. Where blocks are so uneven that there are more, the probes are looked up one by
/// one.
const MOST_OF_RANGE: usize = 256;

/// A column within whose values a duplicate counts. NULL equals NULL.
#[derive(Clone, Copy)]
pub struct Scope {
    pub column: i16,
    /// The equality function of its type.
    pub equality: Oid,
    pub collation: Oid,
    pub by_value: bool,
    pub length: i16,
}

pub type IsOwnRow<'a> = dyn Fn(*mut pg_sys::TupleTableSlot, bool) -> bool + 'a;

/// What is looked for.
pub struct Wanted<'a> {
    pub fingerprint: i64,
    pub max_distance: i32,
    /// The new row's values of the scope columns, as they are in the table's order.
    pub scope: &'a [Option<Datum>],
    /// The new row's table.
    pub table: Oid,
    /// The place in it of an updated row's old version.
    pub except: Option<pg_sys::ItemPointerData>,
    /// The time at which the search begins.
    /// Of an INSERT: whether the row in a slot is one that it finds in place of the new one; and if so asked, by a unique
    /// index on plain columns.
    pub is_own_row: Option<&'a IsOwnRow<'a>>,
    pub since: &'a Moment,
}

/// A row version that is near.
pub struct Candidate<'a> {
    pub table: &'a PgRelation,
    pub slot: *mut pg_sys::TupleTableSlot,
    pub fingerprint: i64,
    pub distance: u32,
    pub state: State,
}

/// Whether a row version is in the table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It is.
    Present,
    /// It depends on another transaction, which has inserted it, or is deleting it.
    Depends(Transaction),
    /// It has been deleted, or replaced by another version.
    Gone {
        /// Another transaction has done that, and committed since the search began.
        lately: bool,
        /// The command of this transaction that stored it; None if another transaction did.
        stored_by: Option<pg_sys::CommandId>,
    },
}

/// A time, as a snapshot: which transactions were in progress then.
pub struct Moment(pg_sys::Snapshot);

impl Moment {
    pub fn now() -> Self {
        // SAFETY: in a transaction. A registered snapshot is a copy.
        Self(unsafe { pg_sys::RegisterSnapshot(pg_sys::GetLatestSnapshot()) })
    }

    /// Whether another transaction was in progress then, and has committed since.
    fn precedes_commit_of(&self, transaction: pg_sys::TransactionId) -> bool {
        // SAFETY: a registered snapshot, and the identifier of a transaction that a row has.
        unsafe {
            !pg_sys::TransactionIdIsCurrentTransactionId(transaction)
                && pg_sys::XidInMVCCSnapshot(transaction, self.0)
                && pg_sys::TransactionIdDidCommit(transaction)
        }
    }
}

impl Drop for Moment {
    fn drop(&mut self) {
        // After an error of PostgreSQL's, PostgreSQL gives it back itself when it ends the (sub)transaction.
        if !std::thread::panicking() {
            // SAFETY: registered, and given back only here.
            unsafe { pg_sys::UnregisterSnapshot(self.0) };
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Transaction {
    pub id: pg_sys::TransactionId,
    /// Of an INSERT .. ON CONFLICT that may yet take its row back; 0 if it is none.
    pub speculation: u32,
}

impl Searched {
    /// None if no index can be searched for so near fingerprints.
    pub fn new(table: Oid, fingerprint: i16, scope: Vec<Scope>, distance: i32, functions: &Functions) -> Option<Self> {
        let indexed = Indexed::of_table(table, Fingerprint::Column(fingerprint), functions)?;
        let choice = choice::cheapest_unconditional(&indexed, distance)?;
        let rows = indexed.rows;
        let probed = choice.probed.iter().map(|probed| {
            let block = Block::new(probed.indexed.block, choice.blocks)?;
            let indexed = probed.indexed;
            let radius = probed.radius?;
            let low = low_bits(block, radius, rows);
            Some(Probed { index: indexed.index, block, radius, low, fingerprint: indexed.fingerprint })
        });
        // SAFETY: a table that exists, as its indexes have been read.
        let opened = unsafe { open(table) };
        let partition_columns = partition_columns(&opened);
        let primary_key = Key::primary(&opened);
        let probed: Vec<Probed> = probed.collect::<Option<_>>()?;
        let plain = probed.iter().filter(|probed| probed.fingerprint.is_none());
        let visits = rows * share_of(plain.map(|probed| (probed.block, probed.radius)));
        Some(Self { oid: table, fingerprint, scope, primary_key, partition_columns, visits, probed })
    }

    /// Shows every row of the table that is near, until told to stop, and every version of a row that was near and is
    /// gone, where no other version is found in its place. A row may be shown more than once. An error, at which
    /// PostgreSQL closes what is open, if there is no memory.
    ///
    /// A row that another transaction updates while the scan goes on may be missed: the scan has passed the place of
    /// the new version, which was not there yet, and finds the old one gone. Then the old one is shown, as gone lately.
    /// If none is, the scan misses nothing that was near when it began: an index has an entry of every version that has
    /// not been gone for long, and a version that was replaced before the scan began has a successor that was there
    /// then, of which the same holds.
    pub fn each_near(
        &self,
        wanted: &Wanted,
        mut show: impl FnMut(&Candidate) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Error> {
        // SAFETY: tables and indexes are opened under a lock and closed after their scans; a slot of the table is made
        // for it and dropped; the scans' keys are as the indexes have them: integers.
        unsafe {
            let table = open(self.oid);
            let slot = pg_sys::table_slot_create(table.as_ptr(), std::ptr::null_mut());
            let mut flow = ControlFlow::Continue(());
            for probed in &self.probed {
                let index = open(probed.index);
                let mut each_of = |keys: Keys, most| {
                    let mut scan = Scan::begin(&table, &index, keys, probed.filter(wanted.fingerprint), most);
                    while flow.is_continue()
                        && let Some(state) = scan.next(slot, wanted.since, Some(wanted))
                    {
                        if let Some((fingerprint, distance)) = self.near(wanted, slot) {
                            // One that is being changed, but keeps its key, stays in the new row's way, whatever
                            // becomes of the change.
                            let (may_be_own, is_changing) = match state {
                                State::Present => (true, false),
                                State::Depends(_) => (keeps_key(slot), true),
                                State::Gone { .. } => (false, false),
                            };
                            if may_be_own
                                && wanted.table == self.oid
                                && wanted.is_own_row.is_some_and(|is_own_row| is_own_row(slot, is_changing))
                            {
                                continue;
                            }
                            let state = if self.is_old(wanted, slot) {
                                State::Gone { lately: false, stored_by: own_command(slot) }
                            } else {
                                state
                            };
                            flow = show(&Candidate { table: &table, slot, fingerprint, distance, state });
                        }
                    }
                    scan.left > 0
                };
                let fingerprint = wanted.fingerprint.cast_unsigned();
                if probed.low > 0 {
                    let Ranged { range, others } =
                        probed.block.ranged_probes(fingerprint, probed.radius, probed.low)?;
                    if each_of(Keys::Between(*range.start(), *range.end()), MOST_OF_RANGE) {
                        each_of(Keys::any(others), usize::MAX);
                        continue;
                    }
                }
                each_of(Keys::any(probed.block.list_probes(fingerprint, Some(probed.radius))?), usize::MAX);
            }
            pg_sys::ExecDropSingleTupleTableSlot(slot);
            Ok(flow)
        }
    }

    /// A row's values of the scope columns.
    ///
    /// # Safety
    /// The slot holds a row of the table.
    pub unsafe fn scope_of(&self, slot: *mut pg_sys::TupleTableSlot) -> Vec<Option<Datum>> {
        // SAFETY: by the contract.
        self.scope.iter().map(|scope| unsafe { value(slot, scope.column) }).collect()
    }

    /// Whether an updated row is still within the same scope.
    ///
    /// # Safety
    /// The slots hold rows of the table, which is open.
    pub unsafe fn same_scope(
        &self,
        table: &PgRelation,
        old: *mut pg_sys::TupleTableSlot,
        new: *mut pg_sys::TupleTableSlot,
    ) -> bool {
        // SAFETY: by the contract.
        unsafe { same_values(table, self.scope.iter().map(|scope| scope.column), old, new) }
    }

    /// Whether it matters to the search what a row has in a column.
    pub fn depends_on(&self, table: &PgRelation, column: i16) -> bool {
        // SAFETY: an open table.
        let generation = unsafe { Expression::of_generated_column(table.as_ptr(), self.fingerprint) };
        column == self.fingerprint
            || self.primary_key.columns().any(|of_key| of_key == column)
            || self.scope.iter().any(|scope| scope.column == column)
            || self.partition_columns.contains(&column)
            || generation.is_some_and(|generation| generation.own_columns().contains(&column))
    }

    /// Whether the slot holds an updated row's old version.
    ///
    /// # Safety
    /// The slot holds a row of the table.
    unsafe fn is_old(&self, wanted: &Wanted, slot: *mut pg_sys::TupleTableSlot) -> bool {
        // SAFETY: by the contract.
        let place = unsafe { (*slot).tts_tid };
        wanted.table == self.oid && wanted.except.is_some_and(|old| same_place(place, old))
    }

    /// The fingerprint and the distance of a row, if it is near, and within the scope.
    ///
    /// # Safety
    /// The slot holds a row of the table.
    unsafe fn near(&self, wanted: &Wanted, slot: *mut pg_sys::TupleTableSlot) -> Option<(i64, u32)> {
        // SAFETY: by the contract.
        unsafe {
            let fingerprint = value(slot, self.fingerprint)?.value() as i64;
            let distance = hamming(fingerprint.cast_unsigned(), wanted.fingerprint.cast_unsigned());
            if distance.cast_signed() > wanted.max_distance {
                return None;
            }
            let mut scopes = self.scope.iter().zip(wanted.scope);
            scopes
                .all(|(scope, &wanted)| scope.are_equal(value(slot, scope.column), wanted))
                .then_some((fingerprint, distance))
        }
    }
}

impl Scope {
    /// Whether two values of the column are equal.
    ///
    /// # Safety
    /// They are values of the column's type.
    pub unsafe fn are_equal(&self, a: Option<Datum>, b: Option<Datum>) -> bool {
        match (a, b) {
            (None, None) => true,
            (Some(a), Some(b)) => {
                // SAFETY: by the contract, and the function compares values of that type.
                unsafe { pg_sys::OidFunctionCall2Coll(self.equality, self.collation, a, b) != Datum::from(false) }
            }
            _ => false,
        }
    }
}

impl Transaction {
    /// Waits until it has ended, or has decided on the row. Can be cancelled; a deadlock is an error.
    ///
    /// # Safety
    /// The slot holds a row of the table.
    pub unsafe fn wait(self, table: &PgRelation, place: &mut pg_sys::ItemPointerData) {
        // SAFETY: by the contract.
        unsafe {
            if self.speculation != 0 {
                pg_sys::SpeculativeInsertionWait(self.id, self.speculation);
            } else {
                let operation = pg_sys::XLTW_Oper::XLTW_RecheckExclusionConstr;
                pg_sys::XactLockTableWait(self.id, table.as_ptr(), place, operation);
            }
        }
    }
}

/// A value of the row in a slot.
///
/// # Safety
/// The slot holds a row of a table that has the column.
pub unsafe fn value(slot: *mut pg_sys::TupleTableSlot, column: i16) -> Option<Datum> {
    let mut is_null = false;
    // SAFETY: by the contract.
    let value = unsafe { pg_sys::slot_getattr(slot, column.into(), &mut is_null) };
    (!is_null).then_some(value)
}

fn same_place(a: pg_sys::ItemPointerData, b: pg_sys::ItemPointerData) -> bool {
    (a.ip_blkid.bi_hi, a.ip_blkid.bi_lo, a.ip_posid) == (b.ip_blkid.bi_hi, b.ip_blkid.bi_lo, b.ip_posid)
}

/// A column of what an index has of a row.
///
/// # Safety
/// The tuple is one of that description, which has the column.
unsafe fn column_of(tuple: pg_sys::IndexTuple, description: pg_sys::TupleDesc, place: i16) -> Option<Datum> {
    const MOST: usize = pg_sys::INDEX_MAX_KEYS as usize;
    let (mut values, mut nulls) = ([Datum::null(); MOST], [false; MOST]);
    // SAFETY: by the contract; no index has more columns than there is room for.
    unsafe { pg_sys::index_deform_tuple(tuple, description, values.as_mut_ptr(), nulls.as_mut_ptr()) };
    let place = usize::try_from(place).ok()?.checked_sub(1)?;
    (!nulls.get(place)?).then_some(values[place])
}

/// How many of the lowest bits of a block span a range of [`ROWS_OF_RANGE`]; 0 if that replaces hardly a probe.
fn low_bits(block: Block, radius: u32, rows: f64) -> u32 {
    let low = block.width() as f64 + (ROWS_OF_RANGE / rows.max(1.0)).log2();
    let low = low.clamp(0.0, f64::from(block.width() - 1)) as u32;
    if radius == 0 || low < 4 { 0 } else { low }
}

impl Probed {
    fn filter(&self, fingerprint: i64) -> Filter {
        match self.fingerprint {
            Some(place) => Filter::Fingerprint(place),
            None if self.low > 0 => Filter::Block(self.block.of(fingerprint.cast_unsigned()), self.radius),
            None => Filter::None,
        }
    }
}

/// The values of a block that are looked up.
enum Keys {
    Equal(i32),
    Any(Vec<i32>),
    Between(i32, i32),
}

impl Keys {
    fn any(values: Vec<i32>) -> Self {
        match values[..] {
            [value] => Self::Equal(value),
            _ => Self::Any(values),
        }
    }

    fn entries(self) -> Vec<pg_sys::ScanKeyData> {
        use pg_sys::{BTEqualStrategyNumber, BTGreaterEqualStrategyNumber, BTLessEqualStrategyNumber};
        use pgrx::IntoDatum;
        let entry = |flags: u32, strategy: u32, function: u32, argument| {
            let mut entry = pg_sys::ScanKeyData::default();
            // SAFETY: an operator of integers, as its strategy says.
            unsafe {
                pg_sys::ScanKeyEntryInitialize(
                    &mut entry,
                    flags as i32,
                    1,
                    strategy as pg_sys::StrategyNumber,
                    pg_sys::INT4OID,
                    Oid::INVALID,
                    function.into(),
                    argument,
                );
            }
            entry
        };
        match self {
            Self::Equal(value) => vec![entry(0, BTEqualStrategyNumber, pg_sys::F_INT4EQ, Datum::from(value))],
            Self::Any(values) => {
                let array = values.into_datum().unwrap_or_else(Datum::null);
                vec![entry(pg_sys::SK_SEARCHARRAY, BTEqualStrategyNumber, pg_sys::F_INT4EQ, array)]
            }
            Self::Between(first, last) => vec![
                entry(0, BTGreaterEqualStrategyNumber, pg_sys::F_INT4GE, Datum::from(first)),
                entry(0, BTLessEqualStrategyNumber, pg_sys::F_INT4LE, Datum::from(last)),
            ],
        }
    }
}

/// What an index tells of rows that are not near.
pub enum Filter {
    None,
    /// It has the fingerprint, in this place.
    Fingerprint(i16),
    /// It has the block, which is within so many bits of this one.
    Block(i32, u32),
}

/// A scan of an index on some values of its first key.
pub struct Scan {
    description: pg_sys::IndexScanDesc,
    snapshot: Box<pg_sys::SnapshotData>,
    /// The current entry leads to versions that are gone, and they are being read.
    is_among_gone: bool,
    filter: Filter,
    /// Entries that are still read.
    left: usize,
}

impl Scan {
    /// # Safety
    /// Both are open, and stay so; the index is one of the table's, and its first key is an integer.
    unsafe fn begin(table: &PgRelation, index: &PgRelation, keys: Keys, filter: Filter, most: usize) -> Self {
        // SAFETY: by the contract; the keys are of integers.
        unsafe { Self::begin_with(table, index, &mut keys.entries(), filter, most) }
    }

    /// # Safety
    /// Both are open, and stay so; the index is one of the table's, and has such keys.
    pub unsafe fn begin_with(
        table: &PgRelation,
        index: &PgRelation,
        entries: &mut [pg_sys::ScanKeyData],
        filter: Filter,
        most: usize,
    ) -> Self {
        let mut snapshot = dirty_snapshot();
        let count = entries.len() as i32;
        // SAFETY: by the contract. The keys are copied; the snapshot is on the heap and outlives the scan.
        unsafe {
            #[cfg(not(feature = "pg18"))]
            let description = pg_sys::index_beginscan(table.as_ptr(), index.as_ptr(), &mut *snapshot, count, 0);
            #[cfg(feature = "pg18")]
            let description =
                pg_sys::index_beginscan(table.as_ptr(), index.as_ptr(), &mut *snapshot, std::ptr::null_mut(), count, 0);
            (*description).xs_want_itup = !matches!(filter, Filter::None);
            pg_sys::index_rescan(description, entries.as_mut_ptr(), count, std::ptr::null_mut(), 0);
            Self { description, snapshot, is_among_gone: false, filter, left: most }
        }
    }

    /// The next row version, in the slot; None if there is none, or enough has been read. Rows of which the index tells
    /// that they are not near are left out.
    ///
    /// # Safety
    /// The slot is one of the table's.
    pub unsafe fn next(
        &mut self,
        slot: *mut pg_sys::TupleTableSlot,
        since: &Moment,
        wanted: Option<&Wanted>,
    ) -> Option<State> {
        let direction = pg_sys::ScanDirection::ForwardScanDirection;
        loop {
            pgrx::check_for_interrupts!();
            // SAFETY: by the contract. Both snapshots outlive the scan, and neither is one that lets an index scan give
            // up its pins.
            unsafe {
                let description = &mut *self.description;
                // Versions of a row may share an entry, and differ in the scope.
                let is_same_entry = description.xs_heap_continue;
                if !is_same_entry {
                    self.is_among_gone = false;
                    description.xs_snapshot = &mut *self.snapshot;
                    if self.left == 0 || pg_sys::index_getnext_tid(description, direction).is_null() {
                        return None;
                    }
                    self.left -= 1;
                    if wanted.is_some_and(|wanted| !self.may_be_near(wanted)) {
                        continue;
                    }
                }
                if pg_sys::index_fetch_heap(description, slot) {
                    return Some(if self.is_among_gone { gone(slot, since) } else { state_of(&self.snapshot) });
                }
                // Gone for everybody is what the index may forget.
                if !is_same_entry && !description.kill_prior_tuple {
                    self.is_among_gone = true;
                    description.xs_snapshot = &raw mut pg_sys::SnapshotAnyData;
                    if pg_sys::index_fetch_heap(description, slot) {
                        return Some(gone(slot, since));
                    }
                }
            }
        }
    }

    /// What the entry of the index tells.
    ///
    /// # Safety
    /// The scan has just found an entry.
    unsafe fn may_be_near(&self, wanted: &Wanted) -> bool {
        // SAFETY: by the contract. The entry has the columns that the index has.
        let column = |place| unsafe {
            let scan = &*self.description;
            column_of(scan.xs_itup, scan.xs_itupdesc, place)
        };
        match self.filter {
            Filter::None => true,
            Filter::Fingerprint(place) => column(place).is_some_and(|fingerprint| {
                let distance = hamming(fingerprint.value() as u64, wanted.fingerprint.cast_unsigned());
                distance.cast_signed() <= wanted.max_distance
            }),
            Filter::Block(block, radius) => {
                column(1).is_some_and(|found| (found.value() as i32 ^ block).count_ones() <= radius)
            }
        }
    }
}

impl Drop for Scan {
    fn drop(&mut self) {
        // SAFETY: begun, and ended only here.
        unsafe { pg_sys::index_endscan(self.description) };
    }
}

/// A snapshot that sees what every transaction has written, committed or not: InitDirtySnapshot in PostgreSQL's
/// snapmgr.h sets nothing but its type.
fn dirty_snapshot() -> Box<pg_sys::SnapshotData> {
    let snapshot_type = pg_sys::SnapshotType::SNAPSHOT_DIRTY;
    Box::new(pg_sys::SnapshotData { snapshot_type, ..Default::default() })
}

/// Whether the row is there that has just been read under a dirty snapshot.
fn state_of(snapshot: &pg_sys::SnapshotData) -> State {
    // The snapshot tells by these which transaction in progress has inserted the row, or else is deleting it.
    let transaction = |id| State::Depends(Transaction { id, speculation: snapshot.speculativeToken });
    match (snapshot.xmin, snapshot.xmax) {
        (inserter, _) if inserter != pg_sys::InvalidTransactionId => transaction(inserter),
        (_, deleter) if deleter != pg_sys::InvalidTransactionId => {
            State::Depends(Transaction { id: deleter, speculation: 0 })
        }
        _ => State::Present,
    }
}

/// # Safety
/// The slot is one of a table of the heap access method, and holds a row version that is gone.
unsafe fn gone(slot: *mut pg_sys::TupleTableSlot, since: &Moment) -> State {
    // SAFETY: by the contract.
    unsafe {
        let lately = deleter(slot).is_some_and(|deleter| since.precedes_commit_of(deleter));
        State::Gone { lately, stored_by: own_command(slot) }
    }
}
