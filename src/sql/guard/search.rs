//! The search of a guarded table for what is near a new row.
//!
//! It reads the block indexes itself, whatever the planner would do, and under a dirty snapshot: it sees what every
//! other transaction has written, committed or not.

use std::ops::ControlFlow;

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{self, Oid};
use simhash::distance::hamming;
use simhash::error::Error;
use simhash::search::blocks::{Block, Ranged};
use simhash::search::cost::share_of;

use super::probes::{BlockSearch, Keys};
use super::scope::{Scope, ScopeValues};
use crate::postgres::catalog::column::{Column, generation_of};
use crate::postgres::catalog::partition::partition_columns;
use crate::postgres::catalog::primary_key::PrimaryKey;
use crate::postgres::catalog::relation::Relation;
use crate::postgres::dirty_scan::{DirtyScan, State};
use crate::postgres::moment::Moment;
use crate::postgres::row::{Row, TableSlot};
use crate::postgres::row_version::RowVersion;
use crate::sql::functions::Functions;
use crate::sql::search::choice;
use crate::sql::search::layouts::{Fingerprint, Indexed};

/// One table that is searched: a guarded table, or a partition of one.
pub struct SearchedTable {
    pub oid: Oid,
    /// The column of the fingerprint.
    pub fingerprint: i16,
    pub scope: Scope,
    pub primary_key: PrimaryKey,
    /// Of a partition, the columns that tell which partition a row belongs to.
    partition_columns: Vec<i16>,
    /// Rows that a search visits if blocks are even, most of them not near. Where blocks are uneven, it is more.
    pub visits: f64,
    blocks: Vec<BlockSearch>,
}

/// Entries that are read of a range of a block's values. Where blocks are so uneven that there are more, the probes are
/// looked up one by one.
const MOST_OF_RANGE: usize = 256;

/// Whether a row is one that an INSERT finds in place of the new one; if so asked, by a unique index on plain columns.
pub type IsOwnRow<'a> = dyn Fn(Row<'_>, bool) -> bool + 'a;

/// What is looked for.
pub struct Wanted<'a> {
    pub fingerprint: i64,
    pub max_distance: i32,
    /// The new row's values of the scope columns.
    pub scope: &'a ScopeValues,
    /// The new row's table.
    pub table: Oid,
    /// The place in it of an updated row's old version.
    pub except: Option<pg_sys::ItemPointerData>,
    /// None for an UPDATE.
    pub is_own_row: Option<&'a IsOwnRow<'a>>,
    /// The time at which the search begins.
    pub since: &'a Moment,
}

/// A row version that is near.
pub struct Candidate<'a> {
    pub table: &'a Relation,
    pub version: RowVersion<'a>,
    pub fingerprint: i64,
    pub distance: u32,
    pub state: State,
}

impl SearchedTable {
    /// None if the table has no indexes that serve searches within that distance.
    pub fn new(
        table: &Relation,
        fingerprint: &Column,
        scope: Scope,
        distance: i32,
        functions: &Functions,
    ) -> Result<Option<Self>, ErrorReport> {
        let fingerprint = fingerprint.number;
        let indexed = Indexed::read_table(table.oid(), Fingerprint::Column(fingerprint), functions);
        let Some((rows, blocks)) = indexed.and_then(|indexed| {
            let choice = choice::cheapest_unconditional(&indexed, distance)?;
            let searched = choice.probed.iter().map(|probed| {
                let block = Block::new(probed.indexed.block, choice.blocks)?;
                let found = probed.indexed;
                Some(BlockSearch::new(found.index, block, probed.radius?, found.fingerprint, indexed.rows))
            });
            Some((indexed.rows, searched.collect::<Option<Vec<_>>>()?))
        }) else {
            return Ok(None);
        };
        let plain = blocks.iter().filter(|searched| searched.fingerprint.is_none());
        Ok(Some(Self {
            oid: table.oid(),
            fingerprint,
            scope,
            primary_key: PrimaryKey::read(table)?,
            partition_columns: partition_columns(table),
            visits: rows * share_of(plain.map(|searched| (searched.block, searched.radius))),
            blocks,
        }))
    }

    /// Shows every row of the table that is near, until told to stop, and every version of a row that was near and is
    /// gone, where no other version is found in its place. A row may be shown more than once. An error if there is no
    /// memory.
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
        let table = Relation::open(self.oid);
        let slot = TableSlot::new(&table);
        for searched in &self.blocks {
            let index = Relation::open(searched.index);
            let mut scan = |keys: Keys, most| self.scan(searched, &table, &index, &slot, keys, most, wanted, &mut show);
            let fingerprint = wanted.fingerprint.cast_unsigned();
            if searched.low > 0 {
                let Ranged { range, others } =
                    searched.block.ranged_probes(fingerprint, searched.radius, searched.low)?;
                match scan(Keys::Between(*range.start(), *range.end()), MOST_OF_RANGE) {
                    ControlFlow::Break(()) => return Ok(ControlFlow::Break(())),
                    ControlFlow::Continue(true) => {
                        if scan(Keys::any(others), usize::MAX).is_break() {
                            return Ok(ControlFlow::Break(()));
                        }
                        continue;
                    }
                    // The range has more entries than it is worth: all probes are looked up.
                    ControlFlow::Continue(false) => {}
                }
            }
            let probes = searched.block.list_probes(fingerprint, Some(searched.radius))?;
            if scan(Keys::any(probes), usize::MAX).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Shows what one scan of a block's index finds. If it is not told to stop, says whether it has read all entries.
    #[allow(clippy::too_many_arguments)] // They are what its loop in `each_near` has.
    fn scan(
        &self,
        searched: &BlockSearch,
        table: &Relation,
        index: &Relation,
        slot: &TableSlot,
        keys: Keys,
        most: usize,
        wanted: &Wanted,
        show: &mut impl FnMut(&Candidate) -> ControlFlow<()>,
    ) -> ControlFlow<(), bool> {
        // SAFETY: both stay open until the scan ends; the index is one of the table's, whose first key is an integer,
        // as the choice of layouts has seen to.
        let mut scan = unsafe {
            DirtyScan::begin(table, index, slot, &mut keys.comparisons(), wanted.since, searched.filters(), most)
        };
        let accepts = |entry: &_| searched.may_be_near(entry, wanted.fingerprint, wanted.max_distance);
        while let Some((version, state)) = scan.next(accepts) {
            let Some((fingerprint, distance)) = self.near(wanted, version.row()) else { continue };
            if self.is_own_row(wanted, version, state) {
                continue;
            }
            let state = if self.is_old(wanted, version.row()) {
                State::Gone { lately: false, stored_by: version.own_command() }
            } else {
                state
            };
            show(&Candidate { table, version, fingerprint, distance, state })?;
        }
        ControlFlow::Continue(scan.has_read_all())
    }

    /// Whether a row is one that the INSERT finds in place of the new one, and will find whatever others do.
    fn is_own_row(&self, wanted: &Wanted, version: RowVersion<'_>, state: State) -> bool {
        let Some(is_own_row) = wanted.is_own_row.filter(|_| wanted.table == self.oid) else { return false };
        match state {
            State::Present => is_own_row(version.row(), false),
            // A row that is being changed, but keeps its key, stays in the new row's way.
            State::Depends(_) => version.keeps_key() && is_own_row(version.row(), true),
            State::Gone { .. } => false,
        }
    }

    /// Whether a row has the same values of the scope before and after an UPDATE.
    pub fn has_same_scope(&self, old: Row<'_>, new: Row<'_>) -> bool {
        new.has_same_values(old, self.scope.columns())
    }

    /// Whether it matters to the search what a row has in a column.
    pub fn depends_on(&self, table: &Relation, column: i16) -> bool {
        column == self.fingerprint
            || self.primary_key.columns().any(|of_key| of_key.number == column)
            || self.scope.columns().any(|scope| scope == column)
            || self.partition_columns.contains(&column)
            || generation_of(table, self.fingerprint)
                .is_some_and(|generation| generation.own_columns().contains(&column))
    }

    /// Whether a row is the old version of an updated row.
    fn is_old(&self, wanted: &Wanted, row: Row<'_>) -> bool {
        let same = |old: pg_sys::ItemPointerData| {
            let place = row.place();
            (place.ip_blkid.bi_hi, place.ip_blkid.bi_lo, place.ip_posid)
                == (old.ip_blkid.bi_hi, old.ip_blkid.bi_lo, old.ip_posid)
        };
        wanted.table == self.oid && wanted.except.is_some_and(same)
    }

    /// The fingerprint and the distance of a row, if it is near, and within the scope.
    fn near(&self, wanted: &Wanted, row: Row<'_>) -> Option<(i64, u32)> {
        let fingerprint = row.value(self.fingerprint)?.value() as i64;
        let distance = hamming(fingerprint.cast_unsigned(), wanted.fingerprint.cast_unsigned());
        if distance.cast_signed() > wanted.max_distance || !self.scope.has_values(row, wanted.scope) {
            return None;
        }
        Some((fingerprint, distance))
    }
}
