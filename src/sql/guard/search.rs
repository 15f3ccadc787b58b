//! Searches a guarded table for rows near a new row.
//!
//! It reads the block indexes directly, whatever the planner would choose, and under a dirty snapshot: it sees what
//! every other transaction has written, committed or not. What a search under the query's snapshot does beside this,
//! `sql::search::finder` does: it skips what it has found already, and fetches rows in the order of their tids. Here
//! each version counts.

use std::cell::Cell;
use std::ops::ControlFlow;

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;
use simhash::error::Error;
use simhash::fingerprint::options::Options;
use simhash::search::blocks::Block;
use simhash::search::growth::{Growth, Total};
use simhash::search::nearness::Nearness;

use super::criterion::Criterion;
use super::scope::{Scope, ScopeValues};
use crate::postgres::catalog::column::{Column, distinct_values};
use crate::postgres::catalog::partition::partition_columns;
use crate::postgres::catalog::relation::Relation;
use crate::postgres::error::user_error;
use crate::postgres::heap::dirty_scan::{DirtyScan, VersionState};
use crate::postgres::heap::entry_scan::MOST_VALUES;
use crate::postgres::heap::moment::Moment;
use crate::postgres::heap::primary_key::PrimaryKey;
use crate::postgres::heap::row::{Row, TableSlot, tid_numbers};
use crate::postgres::heap::row_version::RowVersion;
use crate::postgres::spi::to_server;
use crate::sql::attach::text_source::TextSource;
use crate::sql::attach::update::UpdateTrigger;
use crate::sql::fingerprint::options::{Document, read};
use crate::sql::functions::ExtensionSchema;
use crate::sql::indexed::layouts::{Fingerprint, Layout, Scoped, growing, indexed_blocks, is_covering, layouts_of};

/// A table to search: a guarded table, or a partition of one.
pub struct SearchedTable {
    pub oid: Oid,
    /// The fingerprint column.
    pub fingerprint: i16,
    pub scope: Scope,
    pub primary_key: PrimaryKey,
    /// What the fingerprints are made from; None if the texts do not matter.
    pub source: Option<SourceColumns>,
    /// The plain columns that the fingerprint is made from, and its own if it is not generated.
    pub made_from: Vec<i16>,
    /// For a partition, the columns that decide which partition a row belongs to.
    partition_columns: Vec<i16>,
    /// Rows that a search fetches, most of them not near, if block values are evenly distributed; more if they are not.
    pub fetches: f64,
    /// Values that a search looks up in the indexes.
    pub probes: f64,
    /// Number of index entries that searches have read.
    pub entries: Cell<u64>,
    /// Whether the layout of the criterion's radii is indexed; true without radii.
    pub serves_radii: bool,
    indexes: Indexes,
}

/// The indexes that a search reads.
struct Indexes {
    /// The positions, among the scope columns, of the columns that the indexes have before the block.
    before: Vec<usize>,
    /// An estimate of the number of rows that agree in these columns with a new row.
    rows: f64,
    layouts: Vec<Layout>,
    /// Whether the layout of the criterion's radii is indexed, if it has radii.
    serves_radii: bool,
    /// What a search is expected to do.
    total: Total,
}

/// The columns of a text that fingerprints are made from.
pub struct SourceColumns {
    columns: Vec<i16>,
    /// The options with which texts are compared.
    pub options: Options,
}

/// The most probes of a search.
const MOST_PROBES: f64 = 65_536.0;
/// The largest share of the rows that a search may find in the indexes.
const LARGEST_SHARE: f64 = 0.1;

/// Whether ON CONFLICT finds this row in place of the new one; if the flag is set, by a unique index on plain columns.
pub type IsOwnRow<'a> = dyn Fn(Row<'_>, bool) -> bool + 'a;

/// What to search for.
pub struct Wanted<'a> {
    pub fingerprint: i64,
    /// Which fingerprints are near.
    pub near: Nearness,
    /// The largest distance that still matters: once a row is found, only nearer ones do.
    pub max_distance: Cell<i32>,
    /// The new row's values of the scope columns.
    pub scope: &'a ScopeValues<'a>,
    /// The new row's table.
    pub table: Oid,
    /// For an UPDATE, the tid of the row's old version in that table.
    pub except: Option<pg_sys::ItemPointerData>,
    /// Recognises the new row's own row; None for an UPDATE.
    pub is_own_row: Option<&'a IsOwnRow<'a>>,
    /// The time at which the search began.
    pub since: &'a Moment,
}

impl Wanted<'_> {
    /// The distance of a fingerprint; None if it is not near, or too far to matter.
    pub fn distance(&self, fingerprint: i64) -> Option<u32> {
        let difference = (fingerprint ^ self.fingerprint).cast_unsigned();
        let distance = difference.count_ones();
        (distance.cast_signed() <= self.max_distance.get() && self.near.contains(difference)).then_some(distance)
    }
}

/// A version of a near row.
pub struct Candidate<'a> {
    pub table: &'a Relation,
    pub version: RowVersion<'a>,
    pub distance: u32,
    pub state: VersionState,
}

impl SearchedTable {
    /// Reads the indexes of a table; None if they do not serve searches within that distance. An error if the texts
    /// matter, but the fingerprints are not made from texts.
    pub fn new(
        table: &Relation,
        fingerprint: &Column,
        scope: Scope,
        criterion: &Criterion,
        schema: ExtensionSchema,
    ) -> Result<Option<Self>, ErrorReport> {
        let source = match criterion.resemblance {
            Some(_) => Some(SourceColumns::read(table, fingerprint, criterion, schema)?),
            None => None,
        };
        let made_from = made_from(table, fingerprint, schema)?;
        let fingerprint = fingerprint.number;
        let found = indexed_blocks(table, table.open_indexes(), Fingerprint::Column(fingerprint));
        let Some(indexes) = Indexes::cheapest(table, &found, &scope, criterion.near) else { return Ok(None) };
        let is_covering = indexes.layouts.iter().all(is_covering);
        Ok(Some(Self {
            oid: table.oid(),
            fingerprint,
            scope,
            primary_key: PrimaryKey::read(table)?,
            source,
            made_from,
            partition_columns: partition_columns(table),
            fetches: if is_covering { 0.0 } else { indexes.total.entries },
            probes: indexes.total.probes,
            entries: Cell::new(0),
            serves_radii: criterion.near.blocks().is_none() || indexes.serves_radii,
            indexes,
        }))
    }

    /// Shows each near row of the table, until told to stop, and each version of a near row that is gone without a
    /// successor in its place. A row may be shown more than once. `show` may reduce the wanted distance. An error if out
    /// of memory.
    ///
    /// A concurrent UPDATE can hide a row: the scan has passed the position of the new version before it was written, and
    /// finds the old version gone. The scan then shows the old version as gone lately. If it shows no such version, it
    /// has missed no row that was near when it began. For an index has an entry for every version except those long
    /// gone; and a version that was replaced before the scan began has a successor that existed by then.
    pub fn each_near<B>(
        &self,
        wanted: &Wanted,
        mut show: impl FnMut(&Candidate) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, Error> {
        let table = Relation::open(self.oid);
        let slot = TableSlot::new(&table);
        let fingerprint = wanted.fingerprint.cast_unsigned();
        // Each step is made once, so that no row is missed that a concurrent INSERT has put into some indexes only.
        let Indexes { before, rows, layouts, .. } = &self.indexes;
        let mut growth = Growth::new(*rows, growing(layouts), wanted.near);
        // SAFETY: the indexes compare the scope columns as their types do, as `Indexes::cheapest` has checked.
        let before = unsafe { self.scope.keys(before, wanted.scope) };
        while let Some(step) = growth.next(wanted.max_distance.get(), f64::INFINITY) {
            let searched = &layouts[step.layout][step.block];
            let Some(block) = Block::new(searched.block, searched.blocks) else { break };
            let index = Relation::open(searched.index);
            // SAFETY: table and index stay open until the scan ends. The index belongs to the table, and has the
            // fingerprint, a bigint, at this position.
            let mut scan = unsafe {
                DirtyScan::begin(&table, &index, &slot, wanted.since, before.len() + 1, searched.fingerprint)
            };
            scan.limit_refusals((step.limit / searched.entries().microseconds()) as u64);
            let mut values = block.ring(fingerprint, step.radius);
            let mut at_once = Vec::new();
            loop {
                at_once.clear();
                at_once.try_reserve_exact(MOST_VALUES)?;
                at_once.extend(values.by_ref().take(MOST_VALUES));
                if at_once.is_empty() || !scan.has_read_all() {
                    break;
                }
                // SAFETY: after the scope columns, the index has a block, an integer; the scan has a key for each.
                unsafe { scan.look_up(&before, &at_once) };
                let read_before = scan.entries();
                let flow = self.scan(&table, &mut scan, wanted, &mut show);
                self.entries.set(self.entries.get() + scan.entries() - read_before);
                if flow.is_break() {
                    return Ok(flow);
                }
            }
            if scan.has_read_all() { growth.complete(step) } else { growth.give_up(step) }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Shows what one look-up finds. Breaks if told to stop.
    fn scan<B>(
        &self,
        table: &Relation,
        scan: &mut DirtyScan<'_>,
        wanted: &Wanted,
        show: &mut impl FnMut(&Candidate) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let is_near = |fingerprint| wanted.distance(fingerprint).is_some();
        while let Some((version, state)) = scan.next(is_near) {
            let Some(distance) = self.near(wanted, version.row()) else {
                scan.refuse();
                continue;
            };
            if self.is_own_row(wanted, version, state) {
                continue;
            }
            let state = if self.is_old(wanted, version.row()) { VersionState::Gone { lately: false } } else { state };
            show(&Candidate { table, version, distance, state })?;
        }
        ControlFlow::Continue(())
    }

    /// Whether the INSERT finds this row in place of the new one, and will find it whatever other transactions do.
    fn is_own_row(&self, wanted: &Wanted, version: RowVersion<'_>, state: VersionState) -> bool {
        let Some(is_own_row) = wanted.is_own_row.filter(|_| wanted.table == self.oid) else { return false };
        match state {
            VersionState::Present => is_own_row(version.row(), false),
            // A row that is being changed but keeps its key remains in the new row's way.
            VersionState::Depends { .. } => version.keeps_key() && is_own_row(version.row(), true),
            VersionState::Gone { .. } => false,
        }
    }

    /// Whether an UPDATE keeps a row's scope values.
    pub fn has_same_scope(&self, old: Row<'_>, new: Row<'_>) -> bool {
        new.has_same_values(old, self.scope.columns())
    }

    /// Whether two rows have equal values in the source of the fingerprint, however they are stored; true if the texts
    /// do not matter.
    pub fn has_equal_source(&self, a: Row<'_>, b: Row<'_>) -> bool {
        self.source.as_ref().is_none_or(|source| a.has_same_values(b, source.columns.iter().copied()))
    }

    /// Whether a row's text, or a part of it, is stored out of line.
    pub fn has_source_out_of_line(&self, row: Row<'_>) -> bool {
        self.source.as_ref().is_some_and(|source| source.columns.iter().any(|&column| row.is_out_of_line(column)))
    }

    /// Whether the search reads this column of a row.
    pub fn depends_on(&self, column: i16) -> bool {
        column == self.fingerprint
            || self.primary_key.columns().any(|of_key| of_key.number == column)
            || self.scope.columns().any(|scope| scope == column)
            || self.partition_columns.contains(&column)
            || self.made_from.contains(&column)
    }

    /// The numbers of blocks of the layouts that are searched, and the columns of the scope that the indexes begin with.
    pub fn layouts(&self) -> (impl Iterator<Item = i32>, Vec<i16>) {
        let scope: Vec<_> = self.scope.columns().collect();
        let before = self.indexes.before.iter().filter_map(|&index| scope.get(index).copied());
        (self.indexes.blocks(), before.collect())
    }

    /// Whether a row is the updated row's old version.
    fn is_old(&self, wanted: &Wanted, row: Row<'_>) -> bool {
        let same = |old| tid_numbers(old) == tid_numbers(row.tid());
        wanted.table == self.oid && wanted.except.is_some_and(same)
    }

    /// The distance of a row, if it is near and within the scope.
    fn near(&self, wanted: &Wanted, row: Row<'_>) -> Option<u32> {
        let distance = wanted.distance(row.value(self.fingerprint)?.value() as i64)?;
        self.scope.has_values(row, wanted.scope).then_some(distance)
    }
}

impl Indexes {
    /// The numbers of blocks of the layouts.
    fn blocks(&self) -> impl Iterator<Item = i32> {
        self.layouts.iter().filter_map(|layout| Some(layout.first()?.blocks))
    }

    /// Of the indexes within the guard's scope or a part of it, those with which a search costs least; None if none
    /// serve searches within that distance.
    ///
    /// An index that has a column beside the scope before the block is of no use: the search would have to look up each
    /// value of this column.
    fn cheapest(table: &Relation, found: &[Scoped], scope: &Scope, near: Nearness) -> Option<Self> {
        let columns: Vec<_> = scope.columns().collect();
        let is_usable =
            |found: &&Scoped| !found.block.is_partial && found.has_own_equality && found.is_within(&columns);
        let usable: Vec<_> = found.iter().filter(is_usable).collect();
        let mut before: Vec<_> = usable.iter().map(|found| &found.scope).collect();
        before.sort();
        before.dedup();
        let all_rows = table.estimated_rows();
        let of_scope = |before: &Vec<i16>| {
            let layouts = layouts_of(usable.iter().filter(|found| found.scope == *before).map(|found| &found.block));
            let groups: f64 = before.iter().map(|&column| distinct_values(table, column, all_rows)).product();
            let rows = all_rows / groups;
            let growth = Growth::new(rows, growing(&layouts), near);
            let (serves_radii, total) = (growth.serves_radii(), growth.total(near.max_distance())?);
            let is_useful = total.probes <= MOST_PROBES && total.entries <= LARGEST_SHARE * rows.max(1.0);
            let position = |column: &i16| columns.iter().position(|found| found == column);
            let before = before.iter().map(position).collect::<Option<_>>()?;
            is_useful.then_some(Self { before, rows, layouts, serves_radii, total })
        };
        // If two cost the same, as in an empty table, take the one with more columns.
        before.into_iter().rev().filter_map(of_scope).min_by(|a, b| {
            let cost = a.total.microseconds.total_cmp(&b.total.microseconds);
            cost.then(b.before.len().cmp(&a.before.len()))
        })
    }
}

impl SourceColumns {
    fn read(
        table: &Relation,
        fingerprint: &Column,
        criterion: &Criterion,
        schema: ExtensionSchema,
    ) -> Result<Self, ErrorReport> {
        let Some(source) = TextSource::of_column(table, fingerprint, schema)? else {
            return Err(not_from_text(table)?);
        };
        let options = match &criterion.options {
            Some(json) => read(Document::Text(to_server(json)?.to_bytes()))?,
            None => source.options,
        };
        Ok(Self { columns: source.expression.own_columns(), options })
    }

    pub fn columns(&self) -> &[i16] {
        &self.columns
    }
}

/// The plain columns that a fingerprint is made from, and its own if it is not generated.
fn made_from(table: &Relation, fingerprint: &Column, schema: ExtensionSchema) -> Result<Vec<i16>, ErrorReport> {
    if let Some(generation) = fingerprint.generation(table) {
        return Ok(generation.own_columns());
    }
    let trigger = UpdateTrigger::of_column(schema, table, &fingerprint.name()?)?;
    let source = trigger.map(|trigger| Column::find(table, &trigger.source)).transpose()?.flatten();
    Ok(source.map(|source| source.number).into_iter().chain([fingerprint.number]).collect())
}

/// The error for fingerprints that cannot be confirmed by a text.
pub fn not_from_text(table: &Relation) -> Result<ErrorReport, ErrorReport> {
    let message = format!("the fingerprints of table \"{}\" are not made from a text", table.name()?);
    Ok(user_error(PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        .set_detail(
            "Only texts have a resemblance. The fingerprint column must be generated by simhash of a text, or kept up \
             to date by simhash_update.",
        )
        .set_hint("Without a text, the distance decides: call simhash_guard with resemblance => NULL."))
}
