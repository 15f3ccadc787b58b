//! Searches a guarded table for rows near a new row.
//!
//! The search reads the indexes directly, whatever the planner would choose, under a dirty snapshot: it sees the row
//! versions of all transactions, committed or not. Each version of a row counts. A search in a query
//! (`sql::search::finder`) reads the same indexes under the query's snapshot. That one skips entries that it has seen
//! before; this one must not (see [`NearQuery::each_near`]).

use std::cell::Cell;
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::slice;

use pgrx::itemptr::item_pointer_to_u64;
use pgrx::pg_sys::{self, ItemPointerData, Oid};
use postgres::catalog::relation::Relation;
use postgres::error::{Result, out_of_memory};
use postgres::heap::dirty_scan::{DirtyScan, Found, VersionState, fetch_present};
use postgres::heap::entry_scan::{KeyCondition, MAX_VALUES_AT_ONCE, key_count};
use postgres::heap::moment::Moment;
use postgres::heap::row::{Row, TableSlot, has_tid};
use simhash::search::cost::ENTRY_MICROSECONDS;
use simhash::search::growth::Growth;

use super::confirmation::{NewText, SourceReader};
use crate::sql::guard::definition::row_key::RowKey;
use crate::sql::guard::definition::scope::GuardScopeValues;
use crate::sql::guard::definition::searched_fingerprints::SearchedFingerprints;
use crate::sql::guard::definition::searched_table::{Lookup, SearchedTable};
use crate::sql::guard::definition::searched_texts::SearchedTexts;
use crate::sql::indexed::layouts::block_indexes;
use crate::sql::lookup::text_keys::TextKeys;

/// The new row, and which rows to find.
pub struct NearQuery<'a> {
    pub key: &'a RowKey,
    pub sought: Sought<'a>,
    /// Reads the stored rows.
    pub reader: &'a SourceReader,
    /// The new row's values of the scope columns.
    pub scope: &'a GuardScopeValues<'a>,
    /// The new row's table.
    pub table: Oid,
    /// Returns the tids, in that table, of rows that do not count, or of their index entries: for an UPDATE, the old
    /// version of the row; for an INSERT, the rows with the same key, which ON CONFLICT finds. Called for found rows
    /// only, which are rare.
    pub replaced: &'a dyn Fn() -> &'a [ItemPointerData],
    /// The time at which the search began.
    pub since: &'a Moment,
}

/// What the search looks up and compares, and how close a row must be.
pub enum Sought<'a> {
    Text {
        keys: &'a TextKeys,
        text: NewText<'a>,
    },
    Fingerprint {
        value: u64,
        /// The largest distance that matters. It may become smaller during the search.
        max_distance: Cell<i32>,
    },
}

/// How close a row is to the new row.
#[derive(Clone, Copy, PartialEq)]
pub enum Closeness {
    /// The resemblance of the texts.
    Resemblance(f64),
    /// The number of bits in which the fingerprints differ.
    Distance(u32),
}

/// A version of a row that may be near.
pub struct Candidate<'a> {
    pub table: &'a Relation,
    pub found: Found<'a>,
}

/// The rows that a search has judged, by table and tid: it may find a row in several indexes.
///
/// Only rows that are present may be added. No other row gets such a row's tid during the search, because VACUUM does
/// not remove what this transaction may see.
#[derive(Default)]
pub struct Judged(HashSet<(u32, u64)>);

impl Judged {
    /// Whether the row has not been added before. An error if out of memory.
    pub fn add(&mut self, table: Oid, row: Row<'_>) -> bool {
        self.0.try_reserve(1).unwrap_or_else(|_| out_of_memory());
        self.0.insert((table.to_u32(), item_pointer_to_u64(row.tid())))
    }
}

impl<'a> Sought<'a> {
    /// The rows near a new row of the table `own` with this key.
    pub fn new(key: &'a RowKey, reader: &'a SourceReader, row: Row<'a>, own: &'a SearchedTable) -> Self {
        match key {
            RowKey::Text(keys) => Self::Text { keys, text: NewText::new(reader, row, own, keys) },
            RowKey::Fingerprint { value, max_distance } => {
                Self::Fingerprint { value: *value, max_distance: Cell::new(*max_distance) }
            }
        }
    }

    /// From now on, only rows matter that are at least as close as this one or, of fingerprints, closer.
    pub fn narrow(&self, found: Closeness) {
        match (self, found) {
            (Self::Text { text, .. }, Closeness::Resemblance(found)) => text.least_resemblance.set(found),
            (Self::Fingerprint { max_distance, .. }, Closeness::Distance(found)) => {
                max_distance.set(found.cast_signed() - 1);
            }
            _ => {}
        }
    }
}

impl Closeness {
    /// Whether no row can be closer.
    pub fn is_highest(self) -> bool {
        matches!(self, Self::Distance(0)) || matches!(self, Self::Resemblance(found) if found >= 1.0)
    }
}

impl NearQuery<'_> {
    /// Calls `show` with each version of a row of these tables that may be near, until `show` breaks or fails. `show`
    /// may get a version more than once, and may narrow what is sought. An error if out of memory.
    ///
    /// A concurrent UPDATE can hide a row: if it inserts the new version behind the scan's position, the scan finds
    /// only the old version, which is gone once the UPDATE commits. `show` gets such a version as
    /// `VersionState::Gone { during_search: true }`; then the search must be repeated. If `show` gets none, the search
    /// has found every row that was near when it began: a version that was gone by then had a successor in the indexes.
    pub fn each_near<'t>(
        &self,
        tables: &'t [SearchedTable],
        mut show: impl FnMut(&'t SearchedTable, Candidate) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        for searched in tables {
            let mut show = |candidate: Candidate| show(searched, candidate);
            if self.each_recent(searched, &mut show)?.is_break() || self.each_indexed(searched, &mut show)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// How close a row is that was found; None if it is not close enough.
    pub fn closeness(&self, searched: &SearchedTable, found: &Found) -> Result<Option<Closeness>> {
        let row = found.version.row();
        match &self.sought {
            Sought::Text { text, .. } => Ok(text.confirm(searched, row)?.map(Closeness::Resemblance)),
            Sought::Fingerprint { value, max_distance } => {
                // All versions that share an entry have the same values in the columns of its expressions.
                let known = found
                    .value
                    .map_or_else(|| self.reader.stored_fingerprint(searched, row), |value| Ok(Some(value)))?;
                let distance = known.map(|found| (found.cast_unsigned() ^ value).count_ones());
                let is_near = |distance: &u32| distance.cast_signed() <= max_distance.get();
                Ok(distance.filter(is_near).map(Closeness::Distance))
            }
        }
    }

    /// The rows that this session has found for a row like the new one.
    fn each_recent(
        &self,
        searched: &SearchedTable,
        show: &mut impl FnMut(Candidate) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        let recent = searched.originals.near(self.key);
        if recent.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        let table = Relation::open(searched.oid);
        let slot = TableSlot::new(&table);
        for tid in recent {
            let Some(version) = fetch_present(&table, tid, &slot) else { continue };
            let found = Found { version, state: VersionState::Present, entry: tid, value: None };
            if self.counts(searched, &found) && show(Candidate { table: &table, found })?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The rows that the indexes have. Entries that another index has had are not skipped: a concurrent INSERT may have
    /// put a row into some indexes only.
    fn each_indexed(
        &self,
        searched: &SearchedTable,
        show: &mut impl FnMut(Candidate) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        let table = Relation::open(searched.oid);
        let slot = TableSlot::new(&table);
        // SAFETY: the indexes compare the scope columns as their types do, as was checked when they were read.
        let before = unsafe { searched.scope.keys(searched.before(), self.scope) };
        let indexed = Indexed { query: self, searched, table: &table, slot: &slot, before: &before };
        match (&searched.lookup, &self.sought) {
            (Lookup::Texts(texts), Sought::Text { keys, .. }) => indexed.each_by_bands(texts, keys, show),
            (Lookup::Fingerprints(found), Sought::Fingerprint { value, max_distance }) => {
                indexed.each_by_blocks(found, *value, max_distance, show)
            }
            _ => Ok(ControlFlow::Continue(())),
        }
    }

    /// Whether a row version is within the scope, and is not one that the new row replaces.
    fn counts(&self, searched: &SearchedTable, Found { version, entry, .. }: &Found) -> bool {
        let row = version.row();
        let is_replaced = |tid| has_tid((self.replaced)(), tid);
        searched.scope.has_values(row, self.scope)
            && !(self.table == searched.oid && (is_replaced(*entry) || is_replaced(row.tid())))
    }
}

/// The indexes of a table during a search.
struct Indexed<'a, 'q> {
    query: &'a NearQuery<'q>,
    searched: &'a SearchedTable,
    table: &'a Relation,
    slot: &'a TableSlot,
    /// The keys on the columns that the indexes have before the key that is looked up.
    before: &'a [pg_sys::ScanKeyData],
}

impl Indexed<'_, '_> {
    /// The rows that share a band, by the index on each, and that are not much longer or shorter.
    fn each_by_bands(
        &self,
        texts: &SearchedTexts,
        keys: &TextKeys,
        show: &mut impl FnMut(Candidate) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        for (&index, band) in texts.indexes.iter().zip(keys.bands()) {
            let index = Relation::open(index);
            let (count, condition) = (key_count(self.before.len(), true), KeyCondition::AnyOf(slice::from_ref(band)));
            // SAFETY: table and index stay open until the scan ends, and the index belongs to the table. After the
            // scope columns, it has the band and the size, which are integers; the scan has the keys for them.
            let mut scan = unsafe { DirtyScan::begin(self.table, &index, self.slot, self.query.since, count, None) };
            unsafe { scan.entries().look_up(self.before, condition, Some(&keys.sizes)) };
            if self.each_of(&mut scan, |_| true, show)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The rows within the distance, by the indexes on blocks.
    fn each_by_blocks(
        &self,
        fingerprints: &SearchedFingerprints,
        value: u64,
        max_distance: &Cell<i32>,
        show: &mut impl FnMut(Candidate) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        let SearchedFingerprints { rows, layouts, .. } = fingerprints;
        let mut growth = Growth::new(*rows, block_indexes(layouts));
        let is_near = |found: i64| (found.cast_unsigned() ^ value).count_ones().cast_signed() <= max_distance.get();
        let keys = key_count(self.before.len(), false);
        while let Some(step) = growth.next(max_distance.get(), f64::INFINITY) {
            let indexed = &layouts[step.layout][step.block];
            let (index, since, included) = (Relation::open(indexed.index), self.query.since, Some(indexed.fingerprint));
            // SAFETY: table and index stay open until the scan ends. The index belongs to the table, and has the
            // fingerprint, a bigint, at this position.
            let mut scan = unsafe { DirtyScan::begin(self.table, &index, self.slot, since, keys, included) };
            scan.limit_refusals((step.limit / ENTRY_MICROSECONDS) as u64);
            let mut values = growth.values(step, value);
            let mut at_once = Vec::new();
            loop {
                at_once.clear();
                at_once.try_reserve_exact(MAX_VALUES_AT_ONCE).unwrap_or_else(|_| out_of_memory());
                at_once.extend(values.by_ref().take(MAX_VALUES_AT_ONCE));
                if at_once.is_empty() || !scan.has_read_all() {
                    break;
                }
                // SAFETY: after the scope columns, the index has a block, an integer; the scan has the keys for it.
                unsafe { scan.entries().look_up(self.before, KeyCondition::AnyOf(&at_once), None) };
                if self.each_of(&mut scan, is_near, show)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            if scan.has_read_all() { growth.complete(step) } else { growth.give_up(step) }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The rows of a look-up that has begun. `accepts` does not panic.
    fn each_of(
        &self,
        scan: &mut DirtyScan,
        accepts: impl Fn(i64) -> bool,
        show: &mut impl FnMut(Candidate) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        // SAFETY: `accepts` does not panic.
        while let Some(found) = unsafe { scan.next(&accepts) } {
            if !self.query.counts(self.searched, &found) {
                scan.refuse();
            } else if show(Candidate { table: self.table, found })?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}
