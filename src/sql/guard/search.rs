//! Searches a guarded table for rows near a new row.
//!
//! It reads the block indexes directly, whatever the planner would choose, and under a dirty snapshot: it sees what
//! every other transaction has written, committed or not.

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
use crate::sql::indexed::choice;
use crate::sql::indexed::layouts::{Fingerprint, Indexed};

/// A table to search: a guarded table, or a partition of one.
pub struct SearchedTable {
    pub oid: Oid,
    /// The fingerprint column.
    pub fingerprint: i16,
    pub scope: Scope,
    pub primary_key: PrimaryKey,
    /// For a partition, the columns that decide which partition a row belongs to.
    partition_columns: Vec<i16>,
    /// Rows that a search visits, most of them not near, if block values are evenly distributed; more if they are not.
    pub visits: f64,
    blocks: Vec<BlockSearch>,
}

/// Index entries to read of one range of block values. If values are so skewed that there are more, the probes are
/// looked up one by one.
const MOST_OF_RANGE: usize = 256;

/// Whether ON CONFLICT finds this row in place of the new one; if the flag is set, by a unique index on plain columns.
pub type IsOwnRow<'a> = dyn Fn(Row<'_>, bool) -> bool + 'a;

/// What to search for.
pub struct Wanted<'a> {
    pub fingerprint: i64,
    pub max_distance: i32,
    /// The new row's values of the scope columns.
    pub scope: &'a ScopeValues<'a>,
    /// The new row's table.
    pub table: Oid,
    /// For an UPDATE, the place of the row's old version in that table.
    pub except: Option<pg_sys::ItemPointerData>,
    /// Recognises the new row's own row; None for an UPDATE.
    pub is_own_row: Option<&'a IsOwnRow<'a>>,
    /// The time at which the search began.
    pub since: &'a Moment,
}

/// A version of a near row.
pub struct Candidate<'a> {
    pub table: &'a Relation,
    pub version: RowVersion<'a>,
    pub fingerprint: i64,
    pub distance: u32,
    pub state: State,
}

impl SearchedTable {
    /// Reads the indexes of a table; None if they do not serve searches within that distance.
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

    /// Shows each near row of the table, until told to stop, and each version of a near row that is gone without a
    /// successor in its place. A row may be shown more than once. An error if out of memory.
    ///
    /// A concurrent UPDATE can hide a row: the scan has passed the place of the new version before it was written, and
    /// finds the old version gone. The scan then shows the old version as gone lately. If it shows no such version, it
    /// has missed no row that was near when it began. For an index has an entry for every version except those long
    /// gone; and a version that was replaced before the scan began has a successor that existed by then.
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
                    // The range has more entries than it is worth: look up all probes.
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

    /// Shows what one scan of a block's index finds. Breaks if told to stop; else returns whether it has read all
    /// entries.
    #[allow(clippy::too_many_arguments)] // The locals of the loop in `each_near`.
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
        // SAFETY: table and index stay open until the scan ends. The index belongs to the table, and its first key is
        // an integer: the choice of layouts takes no others.
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

    /// Whether the INSERT finds this row in place of the new one, and will find it whatever other transactions do.
    fn is_own_row(&self, wanted: &Wanted, version: RowVersion<'_>, state: State) -> bool {
        let Some(is_own_row) = wanted.is_own_row.filter(|_| wanted.table == self.oid) else { return false };
        match state {
            State::Present => is_own_row(version.row(), false),
            // A row that is being changed but keeps its key remains in the new row's way.
            State::Depends(_) => version.keeps_key() && is_own_row(version.row(), true),
            State::Gone { .. } => false,
        }
    }

    /// Whether an UPDATE keeps a row's scope values.
    pub fn has_same_scope(&self, old: Row<'_>, new: Row<'_>) -> bool {
        new.has_same_values(old, self.scope.columns())
    }

    /// Whether the search reads this column of a row.
    pub fn depends_on(&self, table: &Relation, column: i16) -> bool {
        column == self.fingerprint
            || self.primary_key.columns().any(|of_key| of_key.number == column)
            || self.scope.columns().any(|scope| scope == column)
            || self.partition_columns.contains(&column)
            || generation_of(table, self.fingerprint)
                .is_some_and(|generation| generation.own_columns().contains(&column))
    }

    /// Whether a row is the updated row's old version.
    fn is_old(&self, wanted: &Wanted, row: Row<'_>) -> bool {
        let same = |old: pg_sys::ItemPointerData| {
            let place = row.place();
            (place.ip_blkid.bi_hi, place.ip_blkid.bi_lo, place.ip_posid)
                == (old.ip_blkid.bi_hi, old.ip_blkid.bi_lo, old.ip_posid)
        };
        wanted.table == self.oid && wanted.except.is_some_and(same)
    }

    /// The fingerprint and the distance of a row, if it is near and within the scope.
    fn near(&self, wanted: &Wanted, row: Row<'_>) -> Option<(i64, u32)> {
        let fingerprint = row.value(self.fingerprint)?.value() as i64;
        let distance = hamming(fingerprint.cast_unsigned(), wanted.fingerprint.cast_unsigned());
        if distance.cast_signed() > wanted.max_distance || !self.scope.has_values(row, wanted.scope) {
            return None;
        }
        Some((fingerprint, distance))
    }
}
