//! A search for rows of all transactions, committed or not: under a dirty snapshot.
//!
//! The walks of a query ([`super::band_walk`], [`super::block_walk`]) look up the same keys. They skip a row if an
//! earlier index must have shown it. This walk must not: an INSERT in progress may have put the row into the later
//! index only. So each index shows the row, until the row is refuted and its entries are skipped.

use std::cell::Cell;
use std::ops::ControlFlow;

use pgrx::pg_sys::{Oid, ScanKeyData};
use postgres::catalog::relation::Relation;
use postgres::error::Result;
use postgres::heap::dirty_scan::{DirtyScan, DirtySearch, EntrySet, FoundVersion};
use postgres::heap::entry_scan::{KeyCondition, key_count};
use postgres::heap::row::TableSlot;
use simhash::hamming;
use simhash::search::cost::ENTRY_MICROSECONDS;
use simhash::search::growth::Growth;

use super::band_indexes::BandIndex;
use super::block_walk::next_probes;
use super::text_keys::TextKeys;
use crate::sql::indexed::layouts::{Layout, layout_blocks};

/// Whether a walk goes on.
pub type Flow = Result<ControlFlow<()>>;

/// A search in the indexes of a table.
pub struct DirtyWalk<'a> {
    pub table: &'a Relation,
    pub slot: &'a TableSlot,
    /// The keys on the columns that the indexes have before the band or the block.
    pub leading_keys: &'a [ScanKeyData],
    pub search: DirtySearch<'a>,
    /// The entries whose rows are not fetched: those that are refuted, and those whose rows this transaction has
    /// deleted, which the scans add.
    pub skipped: &'a EntrySet,
    /// Whether a version counts: it is within the scope, and the new row does not replace it. The entries of other
    /// versions count as refused.
    pub is_eligible: &'a dyn Fn(&FoundVersion) -> bool,
}

impl DirtyWalk<'_> {
    /// Calls `show` with the versions that share a band with a text, and whose sizes and fingerprints are similar.
    /// `indexes[i]` is the index on band i. `has_same` says whether its bands are made by the option `same`.
    ///
    /// # Safety
    /// The indexes are btrees of the table, which support the leading keys. After these columns, they have a band and a
    /// size, both integers, and a fingerprint, a `bigint`.
    pub unsafe fn each_by_bands(
        &self,
        indexes: &[Oid],
        has_same: bool,
        keys: &TextKeys,
        show: &mut impl FnMut(FoundVersion) -> Flow,
    ) -> Flow {
        for (number, &index) in indexes.iter().enumerate() {
            let (index, band) = (Relation::open(index), keys.band(number, has_same));
            let scope_len = self.leading_keys.len();
            let (scan_keys, attnum) = (key_count(scope_len, true), Some(BandIndex::fingerprint_attnum(scope_len)));
            // SAFETY: the caller passes such indexes, and the index and the table stay open until the scan ends. The
            // scan has the keys for a band and for both ends of the sizes.
            let mut scan = unsafe { DirtyScan::begin(self.table, &index, self.slot, self.search, scan_keys, attnum) };
            unsafe { scan.scan().look_up(self.leading_keys, KeyCondition::AnyOf(&[band]), Some(&keys.sizes)) };
            // SAFETY: comparing integers does not panic.
            if unsafe { self.each_version(&mut scan, |fingerprint| keys.allows(fingerprint), show) }?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Calls `show` with the versions within a distance of the fingerprint `query`, by the indexes on blocks. The table
    /// has about `row_count` rows. `show` may make the distance smaller.
    ///
    /// # Safety
    /// The indexes are btrees of the table, which support the leading keys. After these columns, they have a block,
    /// an integer, and each has the fingerprint, a `bigint`, at its attnum.
    pub unsafe fn each_by_blocks(
        &self,
        layouts: &[Layout],
        row_count: f64,
        query: u64,
        max_distance: &Cell<i32>,
        show: &mut impl FnMut(FoundVersion) -> Flow,
    ) -> Flow {
        let mut growth = Growth::new(row_count, layout_blocks(layouts));
        let mut probes = Vec::new();
        let is_near = |value: i64| hamming(value.cast_unsigned(), query).cast_signed() <= max_distance.get();
        while let Some(step) = growth.next(max_distance.get(), f64::INFINITY) {
            let indexed = &layouts[step.layout][step.block];
            let index = Relation::open(indexed.index);
            let (scan_keys, attnum) = (key_count(self.leading_keys.len(), false), Some(indexed.fingerprint_attnum));
            // SAFETY: the caller passes such layouts, and the index and the table stay open until the scan ends.
            let mut scan = unsafe { DirtyScan::begin(self.table, &index, self.slot, self.search, scan_keys, attnum) };
            scan.refusal_limit = (step.limit / ENTRY_MICROSECONDS) as u64;
            let mut values = growth.values(step, query);
            while !scan.is_at_refusal_limit() && next_probes(&mut values, &mut probes) {
                // SAFETY: the caller passes such layouts. The scan has the key for a block.
                unsafe { scan.scan().look_up(self.leading_keys, KeyCondition::AnyOf(&probes), None) };
                // SAFETY: comparing integers does not panic.
                if unsafe { self.each_version(&mut scan, is_near, show) }?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            if scan.is_at_refusal_limit() { growth.give_up(step) } else { growth.complete(step) }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Calls `show` with the versions that a look-up finds.
    ///
    /// # Safety
    /// `accepts` does not panic.
    unsafe fn each_version(
        &self,
        scan: &mut DirtyScan,
        accepts: impl Fn(i64) -> bool,
        show: &mut impl FnMut(FoundVersion) -> Flow,
    ) -> Flow {
        // SAFETY: as the caller promises.
        while let Some(candidate) = unsafe { scan.next(&accepts, self.skipped) } {
            if !(self.is_eligible)(&candidate) {
                scan.scan().entries_refused += 1;
            } else if show(candidate)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}
