//! A table that a guard searches: the columns that a search reads, and the cheapest indexes.

use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};

use pgrx::itemptr::item_pointer_to_u64;
use pgrx::pg_sys::{ItemPointerData, Oid};
use pgrx::prelude::*;
use postgres::catalog::column::{RowValue, distinct_values, generation_of};
use postgres::catalog::index::{Index, KeyExpressions};
use postgres::catalog::partition::partition_columns;
use postgres::catalog::relation::Relation;
use postgres::error::{ErrorReport, Result, user_error};
use postgres::expression::Expression;
use postgres::heap::computed::Computed;
use postgres::heap::primary_key::PrimaryKey;
use postgres::heap::row::Row;
use simhash::fingerprint::options::Options;
use simhash::search::growth::{ExpectedWork, Growth};

use super::criterion::GuardCriterion;
use super::mark_column::MarkColumn;
use super::scope::GuardScope;
use crate::sql::functions::ExtensionSchema;
use crate::sql::indexed::layouts::{Layout, ScopedBlock, block_indexes, indexed_blocks, layouts_of};
use crate::sql::indexed::recognise::FingerprintCall;

/// A table to search: a guarded table, or a partition of one.
pub struct SearchedTable {
    pub oid: Oid,
    /// The attnum of the fingerprint column; None if the fingerprint is an expression in the indexes alone.
    pub fingerprint: Option<i16>,
    pub scope: GuardScope,
    pub primary_key: PrimaryKey,
    /// The text that the fingerprints are made from; None if texts are not compared.
    pub source: Option<SourceColumns>,
    /// The plain columns that the fingerprint is made from, and the fingerprint column if it is not generated.
    pub made_from: Vec<i16>,
    /// The columns of all partition keys above a partition; empty for another table.
    pub partition_columns: Vec<i16>,
    /// The rows that new rows were marked with last, if the table has a fingerprint column.
    pub originals: RecentRows,
    /// The mark column; None if the guard does not mark.
    pub mark: Option<MarkColumn>,
    /// Whether indexes have the sizes of the texts, by the options with which texts are compared.
    pub has_sizes: bool,
    pub indexes: SearchedIndexes,
}

/// Rows that this session has found, by fingerprint and tid. They may be gone meanwhile.
#[derive(Default)]
pub struct RecentRows(RefCell<VecDeque<(i64, ItemPointerData)>>);

pub struct SearchedIndexes {
    /// The positions, in the guard's scope, of the columns that the indexes have before the block.
    pub before: Vec<usize>,
    /// An estimate of the number of rows that have the new row's values in these columns.
    pub rows: f64,
    pub layouts: Vec<Layout>,
    /// Whether the layout of the criterion's radii is indexed; true without radii.
    pub serves_radii: bool,
    total: ExpectedWork,
}

/// The columns of a text that fingerprints are made from.
pub struct SourceColumns {
    pub columns: Vec<i16>,
    /// The columns from which the text of a stored row is read.
    stored: Vec<i16>,
    /// The options with which texts are compared.
    pub options: Options,
    /// The options with which the fingerprints are made.
    pub fingerprint_options: Options,
    /// Whether these options make the same fingerprints as those of the table, and so the same sizes.
    has_own_options: bool,
}

/// Whether a layout serves a search is decided for this number of rows, whatever the table has: so a guard works as
/// long as its indexes are there.
const NOMINAL_ROWS: f64 = 1_000_000.0;
/// The limit on the values that one search looks up.
const MAX_PROBES_OF_SEARCH: f64 = 65_536.0;
/// The limit on the index entries that one search reads, as a share of the rows.
const MAX_SHARE_OF_ROWS: f64 = 0.1;

impl SearchedTable {
    /// Reads the columns and the indexes of a table. An error if the indexes do not serve searches by the criterion, or
    /// if texts are to be compared, but the fingerprints are not made from texts.
    pub fn new(
        table: &Relation,
        fingerprint: RowValue,
        scope: GuardScope,
        criterion: &GuardCriterion,
        schema: ExtensionSchema,
    ) -> Result<Self> {
        let computation = fingerprint.computation(table);
        let read = |_| SourceColumns::read(table, computation, criterion, schema);
        let source = criterion.resemblance.map(read).transpose()?;
        let made_from = computation.map_or_else(|| fingerprint.column().into_iter().collect(), Expression::own_columns);
        let found = indexed_blocks(table, table.open_indexes(), fingerprint);
        let fingerprint = fingerprint.column();
        let indexes = SearchedIndexes::cheapest(table, &found, &scope, criterion)?;
        let is_sized = indexes.layouts.iter().flatten().any(|found| found.has_size);
        let has_sizes = is_sized && source.as_ref().is_some_and(|source| source.has_own_options);
        Ok(Self {
            oid: table.oid(),
            fingerprint,
            scope,
            primary_key: PrimaryKey::read(table)?,
            source,
            made_from,
            partition_columns: partition_columns(table),
            originals: RecentRows::default(),
            mark: None,
            has_sizes,
            indexes,
        })
    }

    /// The expression that computes the fingerprint of a row; None if it is a plain column. It lives in the current
    /// memory context.
    pub fn computation(&self, table: &Relation) -> Option<Expression> {
        if let Some(column) = self.fingerprint {
            return generation_of(table, column);
        }
        let block = self.indexes.layouts.first()?.first()?;
        let index = Index::read_usable(&Relation::open(block.index), KeyExpressions::Stored)?;
        match index.keys.get(block.fingerprint as usize - 1)?.value {
            RowValue::Expression(expression) => Some(expression),
            RowValue::Column(_) => None,
        }
    }

    /// The fingerprint of a stored row of this table; None for NULL. Allocates in the current memory context.
    pub fn fingerprint_of(&self, row: Row<'_>) -> Option<i64> {
        let value = match self.fingerprint {
            Some(column) => row.value(column),
            // SAFETY: the row is of this table, and a fingerprint is passed by value.
            None => unsafe { Computed::new(self.computation(&Relation::open(self.oid))?).value(row) },
        };
        value.map(|value| value.value() as i64)
    }

    /// Whether an UPDATE leaves the scope, the text and the new row's fingerprint as they are, byte for byte.
    pub fn is_unchanged(&self, old: Row<'_>, new: Row<'_>, fingerprint: i64) -> bool {
        let source = self.source.iter().flat_map(|source| &source.columns).copied();
        let is_same_fingerprint = match self.fingerprint {
            Some(column) => old.value(column).map(|value| value.value() as i64) == Some(fingerprint),
            None => old.has_same_values(new, self.made_from.iter().copied()),
        };
        is_same_fingerprint && old.has_same_values(new, self.scope.columns().chain(source))
    }

    /// Whether a row's text, or a part of it, is stored out of line.
    pub fn has_external_source(&self, row: Row<'_>) -> bool {
        self.source.as_ref().is_some_and(|source| source.stored.iter().any(|&column| row.is_out_of_line(column)))
    }

    /// Whether the rows that the guard finds, or the keys that it reports, depend on this column.
    pub fn depends_on(&self, column: i16) -> bool {
        Some(column) == self.fingerprint
            || self.primary_key.columns().any(|of_key| of_key.attnum == column)
            || self.scope.columns().any(|scope| scope == column)
            || self.partition_columns.contains(&column)
            || self.made_from.contains(&column)
    }
}

impl RecentRows {
    const LIMIT: usize = 64;

    pub fn add(&self, fingerprint: i64, tid: ItemPointerData) {
        let mut rows = self.0.borrow_mut();
        if rows.iter().any(|(_, other)| item_pointer_to_u64(*other) == item_pointer_to_u64(tid)) {
            return;
        }
        if rows.len() == Self::LIMIT {
            rows.pop_front();
        }
        rows.push_back((fingerprint, tid));
    }

    pub fn near(&self, is_near: impl Fn(i64) -> bool) -> Vec<ItemPointerData> {
        self.0.borrow().iter().filter(|(fingerprint, _)| is_near(*fingerprint)).map(|(_, tid)| *tid).collect()
    }
}

impl SearchedIndexes {
    /// The indexes with which a search is cheapest, of those that serve it.
    ///
    /// An index with a column before the block that is not in the guard's scope is not used: a search would have to
    /// look up each value of this column.
    fn cheapest(
        table: &Relation,
        indexed: &[ScopedBlock],
        scope: &GuardScope,
        criterion: &GuardCriterion,
    ) -> Result<Self> {
        let near = criterion.near;
        let columns: Vec<_> = scope.columns().collect();
        let is_usable =
            |scoped: &&ScopedBlock| !scoped.block.is_partial && scoped.has_own_equality && scoped.is_within(&columns);
        let usable: Vec<_> = indexed.iter().filter(is_usable).collect();
        let before: BTreeSet<_> = usable.iter().map(|scoped| &scoped.scope).collect();
        let all_rows = table.estimated_rows();
        let of_scope = |before: &Vec<i16>| {
            let layouts =
                layouts_of(usable.iter().filter(|scoped| scoped.scope == *before).map(|scoped| &scoped.block));
            let growth = |rows| Growth::new(rows, block_indexes(&layouts), near);
            let nominal = growth(NOMINAL_ROWS).total(near.max_distance())?;
            if nominal.probes > MAX_PROBES_OF_SEARCH || nominal.entries > MAX_SHARE_OF_ROWS * NOMINAL_ROWS {
                return Some(Err(too_much_work(table, criterion)));
            }
            let groups: f64 = before.iter().map(|&column| distinct_values(table, column, all_rows)).product();
            let rows = all_rows / groups;
            let growth = growth(rows);
            let total = growth.total(near.max_distance())?;
            let serves_radii = near.blocks().is_none() || growth.serves_radii();
            let position = |column: &i16| columns.iter().position(|own| own == column);
            let before = before.iter().map(position).collect::<Option<_>>()?;
            Some(Ok(Self { before, rows, layouts, serves_radii, total }))
        };
        // If the indexes of two scopes cost the same, as in an empty table, take the scope with more columns.
        let (served, others): (Vec<_>, Vec<_>) = before.into_iter().rev().filter_map(of_scope).partition(Result::is_ok);
        let cheapest = served.into_iter().flatten().min_by(|a, b| {
            let cost = a.total.microseconds.total_cmp(&b.total.microseconds);
            cost.then(b.before.len().cmp(&a.before.len()))
        });
        let no_index = || no_index(table, near.max_distance());
        cheapest.ok_or_else(|| others.into_iter().find_map(Result::err).unwrap_or_else(no_index))
    }
}

impl SourceColumns {
    fn read(
        table: &Relation,
        computation: Option<Expression>,
        criterion: &GuardCriterion,
        schema: ExtensionSchema,
    ) -> Result<Self> {
        let call = FingerprintCall::of_text(computation, schema).ok_or_else(|| not_from_text(table))?;
        let (columns, stored) = (call.source.own_columns(), call.text_of_stored_row(table).own_columns());
        let options = criterion.options.clone();
        let has_own_options = options.makes_same_fingerprints(&call.options);
        Ok(Self { columns, stored, options, fingerprint_options: call.options, has_own_options })
    }
}

/// The error for a guard that compares texts, if the fingerprints are not made from texts.
pub fn not_from_text(table: &Relation) -> ErrorReport {
    let name = table.name().unwrap_or_default();
    let message = format!("the fingerprints of table \"{name}\" are not made from a text");
    user_error(PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        .set_detail("Only texts have a resemblance. The fingerprint column must be generated by simhash of a text.")
        .set_hint("Without a text, the distance decides: give the guard the criterion {\"resemblance\": null}.")
}

/// The error for a table that lacks the indexes for searches within a distance.
pub fn no_index(table: &Relation, max_distance: i32) -> ErrorReport {
    let name = table.name().unwrap_or_default();
    let message = format!("table \"{name}\" has no index that finds fingerprints at distance {max_distance}");
    user_error(PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        .set_detail(
            "The guard looks up every new row in valid btrees on all blocks of a layout. Columns before the block must be \
             in the guard's scope.",
        )
        .set_hint("Run simhash_attach again, with the scope of the guard and a layout that serves this distance.")
}

/// The error for a table whose indexes are there, but serve searches by the criterion only with too much work.
fn too_much_work(table: &Relation, criterion: &GuardCriterion) -> ErrorReport {
    let name = table.name().unwrap_or_default();
    let message = format!("for each new row, a guard would read too much of table \"{name}\"");
    user_error(PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        .set_detail(format!(
            "Its layouts do not serve the criterion {}. A guard reads the entries of at most {:.0} % of the rows, and \
             looks up at most {MAX_PROBES_OF_SEARCH:.0} values.",
            criterion.to_json().unwrap_or_default(),
            100.0 * MAX_SHARE_OF_ROWS
        ))
        .set_hint("Attach another layout (see simhash_layouts), or use a smaller max_distance or smaller radii.")
}
