//! Searches a guarded table for rows near a new row.
//!
//! The search reads the block indexes directly, whatever the planner would choose, under a dirty snapshot: it sees the
//! row versions of all transactions, committed or not. Each version of a row counts. A search in a query
//! (`sql::search::finder`) reads the same indexes under the query's snapshot. That one skips entries that it has seen
//! before; this one must not (see [`NearQuery::each_near`]).

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::ops::ControlFlow;

use pgrx::itemptr::item_pointer_to_u64;
use pgrx::pg_sys::{ItemPointerData, Oid};
use postgres::catalog::relation::Relation;
use postgres::error::{Result, out_of_memory};
use postgres::heap::dirty_scan::{DirtyScan, Found, VersionState, fetch_present};
use postgres::heap::entry_scan::{KeyCondition, MAX_VALUES_AT_ONCE, key_count};
use postgres::heap::moment::Moment;
use postgres::heap::row::{Row, TableSlot, has_tid};
use postgres::heap::row_version::RowVersion;
use simhash::fingerprint::size::SimilarSizes;
use simhash::search::cost::ENTRY_MICROSECONDS;
use simhash::search::growth::{Growth, LARGEST_DISTANCE};
use simhash::search::nearness::Nearness;

use crate::sql::guard::definition::scope::GuardScopeValues;
use crate::sql::guard::definition::searched_table::{SearchedIndexes, SearchedTable};
use crate::sql::indexed::layouts::{block_indexes, share_read};

/// The new row, and which rows to find.
pub struct NearQuery<'a> {
    pub fingerprint: i64,
    /// Which fingerprints are near.
    pub near: Nearness,
    /// The largest distance to find. Once a row is found, only nearer rows matter.
    pub max_distance: Cell<i32>,
    /// The sizes of the texts that the new text may resemble; None if all are searched.
    pub sizes: Option<SimilarSizes>,
    /// The new row's values of the scope columns.
    pub scope: &'a GuardScopeValues<'a>,
    /// The new row's table.
    pub table: Oid,
    /// Returns the tids, in that table, of rows that do not count, or of their index entries: for an UPDATE, the old
    /// version of the row; for an INSERT, the rows with the same key, which ON CONFLICT finds. Called for near rows
    /// only, which are rare.
    pub replaced: &'a dyn Fn() -> &'a [ItemPointerData],
    /// The time at which the search began.
    pub since: &'a Moment,
    /// The rows that the guard's condition excludes.
    pub excluded: Dismissed,
}

/// The rows that a search has found and dismissed, by table and tid, so that it does not judge them again: it may find
/// a row in several indexes.
///
/// Only rows that are present may be added. No other row gets such a row's tid during the search, because VACUUM does
/// not remove what this transaction may see.
#[derive(Default)]
pub struct Dismissed(RefCell<HashSet<(u32, u64)>>);

impl Dismissed {
    /// What `judge` returns about a row. If that is None, the row is dismissed, and not judged again. An error if out
    /// of memory.
    pub fn unless_dismissed<T>(
        &self,
        table: Oid,
        row: Row<'_>,
        judge: impl FnOnce() -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let row = (table.to_u32(), item_pointer_to_u64(row.tid()));
        if self.0.borrow().contains(&row) {
            return Ok(None);
        }
        let judged = judge()?;
        if judged.is_none() {
            let mut rows = self.0.borrow_mut();
            rows.try_reserve(1).unwrap_or_else(|_| out_of_memory());
            rows.insert(row);
        }
        Ok(judged)
    }
}

/// A version of a near row.
pub struct Candidate<'a> {
    pub table: &'a Relation,
    pub version: RowVersion<'a>,
    /// The tid in the index entry by which the version was found, or of the version, if it was known before.
    pub entry: ItemPointerData,
    pub distance: u32,
    pub state: VersionState,
}

impl NearQuery<'_> {
    /// The distance of a fingerprint; None if it is not near, or farther than `max_distance`.
    pub fn distance(&self, fingerprint: i64) -> Option<u32> {
        let difference = (fingerprint ^ self.fingerprint).cast_unsigned();
        let distance = difference.count_ones();
        (distance.cast_signed() <= self.max_distance.get() && self.near.contains(difference)).then_some(distance)
    }

    /// Calls `show` with each version of a near row of these tables, until `show` breaks or fails. `show` may get a
    /// version more than once, and may reduce `max_distance`. An error if out of memory.
    ///
    /// A concurrent UPDATE can hide a row: if it inserts the new version behind the scan's position, the scan finds
    /// only the old version, which is gone once the UPDATE commits. `show` gets such a version as
    /// `VersionState::Gone { during_search: true }`; then the search must be repeated. If `show` gets none, the search
    /// has found every row that was near when it began: a version that was gone by then had a successor in the indexes.
    pub fn each_near<'t>(
        &self,
        tables: &'t [SearchedTable],
        mut show: impl FnMut(&'t SearchedTable, &Candidate) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        for searched in tables {
            if self.each_near_of(searched, |candidate| show(searched, candidate))?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn each_near_of(
        &self,
        searched: &SearchedTable,
        mut show: impl FnMut(&Candidate) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        let table = Relation::open(searched.oid);
        let slot = TableSlot::new(&table);
        let fingerprint = self.fingerprint.cast_unsigned();
        for tid in searched.originals.near(|fingerprint| self.distance(fingerprint).is_some()) {
            if let Some(version) = fetch_present(&table, tid, &slot)
                && let Some(candidate) = self.candidate(
                    searched,
                    &table,
                    Found { version, state: VersionState::Present, entry: tid, value: None },
                )
                && show(&candidate)?.is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
        }
        // Do not skip entries that an earlier step should have found: a concurrent INSERT may have put a row into some
        // indexes only.
        let SearchedIndexes { before, rows, layouts, .. } = &searched.indexes;
        let sizes = self.sizes.as_ref().filter(|_| searched.has_sizes);
        let rows = rows * share_read(layouts, sizes.map(|sizes| sizes.expected_share));
        let mut growth = Growth::new(rows, block_indexes(layouts), self.near);
        // With flips, nothing is cheaper than to read all rows with a value that very many of them share. So a search
        // by the distance alone is in reserve, for when these steps would cost more.
        let within = || Growth::new(rows, block_indexes(layouts), Nearness::within(self.near.max_distance()));
        let mut by_distance = self.near.flips().next().map(|_| within());
        let cost = |other: &Growth| Some(other.total(self.max_distance.get())?.microseconds);
        let mut otherwise = by_distance.as_ref().and_then(cost).unwrap_or(f64::INFINITY);
        // SAFETY: the indexes compare the scope columns as their types do, as `SearchedIndexes::cheapest` has checked.
        let before = unsafe { searched.scope.keys(before, self.scope) };
        loop {
            let Some(step) = growth.next(self.max_distance.get(), otherwise) else {
                if growth.complete_within() >= self.max_distance.get().min(LARGEST_DISTANCE) {
                    break;
                }
                // Without one in reserve, a search has steps until it is complete.
                (growth, otherwise) = (by_distance.take().expect("a search is in reserve"), f64::INFINITY);
                continue;
            };
            let indexed = &layouts[step.layout][step.block];
            let index = Relation::open(indexed.index);
            let range = sizes.filter(|_| indexed.has_size).map(|sizes| &sizes.range);
            let keys = key_count(before.len(), range.is_some());
            // SAFETY: table and index stay open until the scan ends. The index belongs to the table, and has the
            // fingerprint, a bigint, at this position.
            let mut scan =
                unsafe { DirtyScan::begin(&table, &index, &slot, self.since, keys, Some(indexed.fingerprint)) };
            scan.limit_refusals((step.limit / ENTRY_MICROSECONDS) as u64);
            let mut values = growth.values(step, fingerprint);
            let mut at_once = Vec::new();
            loop {
                at_once.clear();
                at_once.try_reserve_exact(MAX_VALUES_AT_ONCE).unwrap_or_else(|_| out_of_memory());
                at_once.extend(values.by_ref().take(MAX_VALUES_AT_ONCE));
                if at_once.is_empty() || !scan.has_read_all() {
                    break;
                }
                // SAFETY: after the scope columns, the index has a block, an integer, and the size if there is a range;
                // the scan has the keys for them.
                unsafe { scan.entries().look_up(&before, KeyCondition::AnyOf(&at_once), range) };
                // SAFETY: comparing numbers does not panic.
                while let Some(found) = unsafe { scan.next(|fingerprint| self.distance(fingerprint).is_some()) } {
                    let Some(candidate) = self.candidate(searched, &table, found) else {
                        scan.refuse();
                        continue;
                    };
                    if show(&candidate)?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
            }
            if scan.has_read_all() { growth.complete(step) } else { growth.give_up(step) }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// A row version, if it is near, within the scope, and counts. It is found with the fingerprint in its entry.
    fn candidate<'a>(
        &self,
        searched: &SearchedTable,
        table: &'a Relation,
        Found { version, state, entry, value }: Found<'a>,
    ) -> Option<Candidate<'a>> {
        let row = version.row();
        let fingerprint = match searched.fingerprint {
            Some(column) => row.value(column)?.value() as i64,
            // All versions that share an entry have the same values in the columns of its expressions.
            None => value?,
        };
        let distance = self.distance(fingerprint)?;
        let is_replaced = |tid| has_tid((self.replaced)(), tid);
        let counts = searched.scope.has_values(row, self.scope)
            && !(self.table == searched.oid && (is_replaced(entry) || is_replaced(row.tid())));
        counts.then_some(Candidate { table, version, entry, distance, state })
    }
}
