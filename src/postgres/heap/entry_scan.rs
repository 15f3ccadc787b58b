//! A scan of a btree, entry by entry. A value in an entry decides whether its row is fetched; most are refused.

use std::ops::RangeInclusive;

use pgrx::pg_sys::{self, Datum, Oid, ScanKeyData};

use crate::ffi::{attribute, guarded, index_getnext_tid};

/// A scan of an index. The owner must end it. Dropping it does not: after an error, PostgreSQL releases it.
pub struct EntryScan {
    /// PostgreSQL's state of the scan.
    pub(super) description: pg_sys::IndexScanDesc,
    included: Option<IncludedColumn>,
    /// The values that the scan looks up, as an `int4[]`, with its header.
    array: Vec<i32>,
    /// Number of entries that were read since the scan began.
    pub entries_read: u64,
    /// Number of entries that were refused, by [`Self::next`] or the caller, since the caller last set it to 0.
    pub entries_refused: u64,
}

/// The `bigint` column of an index whose value is read with each entry.
#[derive(Clone, Copy)]
struct IncludedColumn {
    /// The attnum of the column in the index.
    attnum: i16,
    /// The offset in bytes from the start of an entry without NULLs; None if it differs between entries.
    offset: Option<usize>,
}

/// The outcome of [`EntryScan::next`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryRead {
    /// An entry, with the value of the included column; None if the value is NULL or the column does not exist.
    Entry(Option<i64>),
    /// Many entries were refused. The caller must check for interrupts and call again.
    Pause,
    End,
}

/// The outcome of [`EntryScan::fetch`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fetched {
    Row,
    /// The snapshot sees no version.
    Invisible,
    /// No transaction sees a version. The index marks the entry, which is not read again.
    Dead,
}

/// A condition on an integer key. `AnyOf` has at most [`MAX_VALUES_AT_ONCE`] values.
pub enum KeyCondition<'a> {
    AnyOf(&'a [i32]),
    NotNull,
    Null,
}

/// The limit on the values that a scan looks up at once: 16 kB.
pub const MAX_VALUES_AT_ONCE: usize = 4096;
/// Number of entries that are refused until the scan pauses: about 25 microseconds.
const ENTRIES_BETWEEN_PAUSES: u32 = 512;

impl EntryScan {
    /// Begins a scan with this number of scan keys, in the current memory context. `included` is the attnum of a column
    /// of the index, whose value is returned with each entry. The keys follow: see [`Self::rescan`].
    ///
    /// # Safety
    /// The table, the index and the snapshot outlive the scan; the index is a btree of the table. The column `included`
    /// is of type `bigint`.
    pub unsafe fn begin(
        table: pg_sys::Relation,
        index: pg_sys::Relation,
        snapshot: pg_sys::Snapshot,
        key_count: usize,
        included: Option<i16>,
    ) -> Self {
        let keys = key_count as i32;
        unsafe {
            #[cfg(not(any(feature = "pg18", feature = "pg19")))]
            let description = pg_sys::index_beginscan(table, index, snapshot, keys, 0);
            #[cfg(feature = "pg18")]
            let description = pg_sys::index_beginscan(table, index, snapshot, std::ptr::null_mut(), keys, 0);
            #[cfg(feature = "pg19")]
            let description = pg_sys::index_beginscan(table, index, snapshot, std::ptr::null_mut(), keys, 0, 0);
            let included =
                included.map(|attnum| IncludedColumn { attnum, offset: offset_in_entries((*index).rd_att, attnum) });
            (*description).xs_want_itup = included.is_some();
            Self { description, included, array: Vec::new(), entries_read: 0, entries_refused: 0 }
        }
    }

    /// Begins to look up these keys. The next entry is the first one that they find.
    ///
    /// # Safety
    /// The index supports these keys. Their number is that of [`Self::begin`].
    pub unsafe fn rescan(&mut self, keys: &mut [ScanKeyData]) {
        let no_order = std::ptr::null_mut();
        // SAFETY: the caller passes valid keys, which are copied.
        unsafe { pg_sys::index_rescan(self.description, keys.as_mut_ptr(), keys.len() as i32, no_order, 0) };
    }

    /// Begins to look up the keys `before` on the first columns, a condition on the column after them, and a range of
    /// the next.
    ///
    /// # Safety
    /// The index supports the keys `before`. The columns of the condition and the range are of PostgreSQL's own type
    /// `int4`, in its default order. The scan was begun with [`key_count`] keys.
    pub unsafe fn look_up(
        &mut self,
        before: &[ScanKeyData],
        condition: KeyCondition<'_>,
        range: Option<&RangeInclusive<i32>>,
    ) {
        let (flags, argument) = match condition {
            KeyCondition::AnyOf(&[value]) => (0, Datum::from(value)),
            KeyCondition::AnyOf(values) => {
                self.array.clear();
                self.array.extend(array_header(values.len()));
                self.array.extend_from_slice(values);
                (pg_sys::SK_SEARCHARRAY, Datum::from(self.array.as_ptr()))
            }
            KeyCondition::NotNull => (pg_sys::SK_ISNULL | pg_sys::SK_SEARCHNOTNULL, Datum::null()),
            KeyCondition::Null => (IS_NULL, Datum::null()),
        };
        // SAFETY: the functions compare integers with integers.
        let integer_key = |attnum, flags, strategy, function: u32, argument| unsafe {
            scan_key(attnum, flags, strategy, function.into(), Oid::INVALID, argument)
        };
        let mut keys = before.to_vec();
        let attnum = before.len() as i16 + 1;
        keys.push(integer_key(attnum, flags, pg_sys::BTEqualStrategyNumber, pg_sys::F_INT4EQ, argument));
        if let Some(range) = range {
            let [start, end] = [*range.start(), *range.end()].map(Datum::from);
            keys.push(integer_key(attnum + 1, 0, pg_sys::BTGreaterEqualStrategyNumber, pg_sys::F_INT4GE, start));
            keys.push(integer_key(attnum + 1, 0, pg_sys::BTLessEqualStrategyNumber, pg_sys::F_INT4LE, end));
        }
        // SAFETY: the index supports the keys. The array lives until it is filled again.
        unsafe { self.rescan(&mut keys) };
    }

    /// Reads up to the next accepted entry. `accepts` gets the value of the included column. An entry without a value
    /// is accepted too: it is NULL, or no column is included.
    ///
    /// # Safety
    /// `accepts` does not panic.
    #[inline]
    pub unsafe fn next(&mut self, accepts: impl Fn(i64) -> bool) -> EntryRead {
        let (description, included) = (self.description, self.included);
        let mut entry_count = 0;
        // SAFETY: the scan has begun. The closure does not panic or drop anything. An entry is a copy, or pinned.
        let entry_read = unsafe {
            guarded(|| {
                while entry_count < ENTRIES_BETWEEN_PAUSES {
                    if index_getnext_tid(description, pg_sys::ScanDirection::ForwardScanDirection).is_null() {
                        return EntryRead::End;
                    }
                    entry_count += 1;
                    let Some(included) = included else { return EntryRead::Entry(None) };
                    match included.value(description) {
                        Some(value) if !accepts(value) => {}
                        value => return EntryRead::Entry(value),
                    }
                }
                EntryRead::Pause
            })
        };
        self.entries_read += u64::from(entry_count);
        self.entries_refused += u64::from(entry_count - u32::from(matches!(entry_read, EntryRead::Entry(_))));
        entry_read
    }

    /// Reads the next entry, whatever its value; false at the end.
    #[inline]
    pub fn next_any(&mut self) -> bool {
        // SAFETY: the closure does not panic. It refuses no entry, so the scan does not pause.
        unsafe { self.next(|_| true) != EntryRead::End }
    }

    /// Fetches the row version that the scan's snapshot sees at the entry that was just read.
    ///
    /// # Safety
    /// The slot is for rows of the table, and the scan has just read an entry.
    pub unsafe fn fetch(&mut self, slot: *mut pg_sys::TupleTableSlot) -> Fetched {
        // SAFETY: the caller passes such a slot. The table and the snapshot outlive the scan.
        unsafe {
            if pg_sys::index_fetch_heap(self.description, slot) {
                Fetched::Row
            } else if (*self.description).kill_prior_tuple {
                Fetched::Dead
            } else {
                Fetched::Invisible
            }
        }
    }

    /// The tid of the entry that was just read.
    pub fn tid(&self) -> pg_sys::ItemPointerData {
        // SAFETY: the scan has begun, and lives as long as `self`.
        unsafe { (*self.description).xs_heaptid }
    }

    pub fn end(self) {
        // SAFETY: the scan has begun, and cannot be used after this.
        unsafe { pg_sys::index_endscan(self.description) };
    }
}

impl IncludedColumn {
    /// The value in the current entry; None for NULL.
    ///
    /// # Safety
    /// The scan has just read an entry.
    #[inline]
    unsafe fn value(self, description: pg_sys::IndexScanDesc) -> Option<i64> {
        const HAS_NULLS: u16 = 0x8000; // INDEX_NULL_MASK of access/itup.h
        // SAFETY: the scan has just read an entry. Without NULLs, the column is at `offset`.
        unsafe {
            let entry = (*description).xs_itup;
            match self.offset {
                Some(offset) if (*entry).t_info & HAS_NULLS == 0 => {
                    Some(entry.byte_add(offset).cast::<i64>().read_unaligned())
                }
                _ => self.deformed_value(description),
            }
        }
    }

    /// As [`Self::value`], for any entry. Not inlined, so that the common case is, which saves 7 % of a scan's time.
    ///
    /// # Safety
    /// The scan has just read an entry.
    #[cold]
    unsafe fn deformed_value(self, description: pg_sys::IndexScanDesc) -> Option<i64> {
        const MAX_COLUMNS: usize = pg_sys::INDEX_MAX_KEYS as usize;
        let (mut values, mut nulls) = ([Datum::null(); MAX_COLUMNS], [false; MAX_COLUMNS]);
        let index = self.attnum as usize - 1;
        // SAFETY: the scan has just read an entry, which has the columns of the index.
        unsafe {
            let (entry, columns) = ((*description).xs_itup, (*description).xs_itupdesc);
            pg_sys::index_deform_tuple(entry, columns, values.as_mut_ptr(), nulls.as_mut_ptr());
        }
        (!nulls[index]).then(|| values[index].value() as i64)
    }
}

/// The offset of a `bigint` column, in bytes, in the entries of an index that have no NULLs; None if it varies, because
/// values before it have no fixed length.
///
/// # Safety
/// The descriptor is an index's, and is valid.
unsafe fn offset_in_entries(columns: pg_sys::TupleDesc, attnum: i16) -> Option<usize> {
    let mut offset = size_of::<pg_sys::IndexTupleData>().next_multiple_of(size_of::<Datum>());
    for before in 1..attnum {
        let column = unsafe { attribute(columns, before) }?;
        let length = usize::try_from(column.attlen).ok()?;
        // TYPALIGN_CHAR, _SHORT, _INT and _DOUBLE of catalog/pg_type.h.
        let alignment = match column.attalign as u8 {
            b'c' => 1,
            b's' => 2,
            b'i' => 4,
            _ => 8,
        };
        offset = offset.next_multiple_of(alignment) + length;
    }
    Some(offset.next_multiple_of(align_of::<i64>()))
}

/// The number of scan keys of [`EntryScan::look_up`]: `before` keys, one for the condition, and two for a range.
pub fn key_count(before: usize, has_range: bool) -> usize {
    before + if has_range { 3 } else { 1 }
}

/// The flags of a scan key that finds the entries with NULL.
const IS_NULL: u32 = pg_sys::SK_ISNULL | pg_sys::SK_SEARCHNULL;

/// A scan key that finds the entries with a value; None finds those with NULL.
///
/// # Safety
/// The function is the equality, in the index's operator family, of the column's type and the value's. If these differ,
/// the caller sets `sk_subtype`.
pub unsafe fn equality_key(attnum: i16, function: Oid, collation: Oid, value: Option<Datum>) -> ScanKeyData {
    let (flags, argument) = value.map_or((IS_NULL, Datum::null()), |datum| (0, datum));
    // SAFETY: the caller passes an equality.
    unsafe { scan_key(attnum, flags, pg_sys::BTEqualStrategyNumber, function, collation, argument) }
}

/// # Safety
/// The function compares values of the column's type with the value's for this strategy. If these differ, the caller
/// sets `sk_subtype`.
unsafe fn scan_key(attnum: i16, flags: u32, strategy: u32, function: Oid, collation: Oid, value: Datum) -> ScanKeyData {
    // A test for NULL has no operator.
    let (strategy, function) = if flags & pg_sys::SK_ISNULL != 0 { (0, Oid::INVALID) } else { (strategy, function) };
    let (flags, strategy, own_type) = (flags as i32, strategy as pg_sys::StrategyNumber, Oid::INVALID);
    let mut key = ScanKeyData::default();
    // SAFETY: the key is written here, with the caller's function.
    unsafe {
        pg_sys::ScanKeyEntryInitialize(&mut key, flags, attnum, strategy, own_type, collation, function, value);
    }
    key
}

/// The header of an array of `int4` (PostgreSQL's utils/array.h): the length word, the number of dimensions, 0 for no
/// NULLs, the type of the elements, their number, and the first subscript.
fn array_header(length: usize) -> [i32; 6] {
    let mut header = [0, 1, 0, pg_sys::INT4OID.to_u32() as i32, length as i32, 1];
    let bytes = (size_of_val(&header) + length * size_of::<i32>()) as i32;
    // SAFETY: the header begins with a varlena's length.
    unsafe { pgrx::varlena::set_varsize_4b(header.as_mut_ptr().cast(), bytes) };
    header
}
