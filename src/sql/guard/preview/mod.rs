//! `simhash_preview`: the near-duplicates that a guard would find among a table's existing rows.
//!
//! It looks up a [`sample`] of the rows as a guard looks up new rows, by the same search and the same comparison of
//! texts: it finds the [`earlier`] row that each row is near, and sorts the rows into groups. [`common_words`] reports
//! what the texts have in common, also when `simhash_guard` creates a guard.

pub mod common_words;
mod earlier;
mod sample;

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use pgrx::prelude::*;
use pgrx::{AnyArray, AnyElement, PgMemoryContexts};
use postgres::arrays::column_names;
use postgres::call::Call;
use postgres::catalog::citus::check_not_distributed;
use postgres::catalog::relation::{ACCESS_SHARE, hides_rows};
use postgres::catalog::target::Target;
use postgres::error::{Explain, Result, invalid_parameter, raise, user_error};
use postgres::heap::row::Row;
use postgres::json::RawJsonb;
use postgres::server_string::text_from_server_string;
use postgres::text::{RawText, text_from_utf8};
use simhash::criterion::TextCriterion;

use self::common_words::report_common_words;
use self::earlier::{EarlierRow, ShownRow, row_position};
use self::sample::each_sampled_row;
use super::definition::arguments::{Action, Arguments, TRIGGER_NAME};
use super::definition::asked_source::find_source;
use super::definition::asked_sql::AskedSql;
use super::definition::condition::{AMONG, UNLESS, condition_sql};
use super::definition::criterion::{AskedCriterion, GuardCriterion};
use super::definition::members::{Members, check_is_whole};
use super::definition::searched_table::SearchedTable;
use super::row::evaluation::{Evaluator, RowKind};
use super::row::search::Closeness;
use crate::sql::arguments::required;
use crate::sql::functions::ExtensionSchema;

#[allow(clippy::too_many_arguments)] // The SQL function has as many.
#[pg_extern(sql = false)]
fn simhash_preview(
    target: Option<pg_sys::Oid>,
    criterion: Option<RawJsonb<'_>>,
    scope: Option<AnyArray>,
    among: Option<RawText<'_>>,
    source: Option<RawText<'_>>,
    unless: Option<RawText<'_>>,
    sample: Option<i32>,
    call: Call<'_>,
) -> Result<
    TableIterator<
        'static,
        (
            name!(resemblance, Option<f64>),
            name!(distance, Option<i32>),
            name!(duplicate, bool),
            name!(rows, i64),
            name!(share, f64),
            name!(example, Option<AnyElement>),
            name!(earlier, Option<AnyElement>),
            name!(example_text, Option<AnyElement>),
            name!(earlier_text, Option<AnyElement>),
        ),
    >,
> {
    let asked = AskedPreview {
        criterion: AskedCriterion::read(required(criterion, "criterion")?)?,
        among: AskedSql::read(among, "among")?,
        unless: AskedSql::read(unless, "unless")?,
        source: AskedSql::read(source, "source")?,
        scope: column_names(&required(scope, "scope")?, "scope")?,
        sample: required(sample, "sample")?,
    };
    if asked.sample < 1 {
        return Err(invalid_parameter(format!("sample of {} rows is too small", asked.sample))
            .with_hint("A sample of some thousand rows takes seconds."));
    }
    // SAFETY: a plain number of this process.
    let caller = unsafe { pg_sys::GetUserId() };
    let (groups, total, has_hidden_rows) = Target::lock(required(target, "target")?, ACCESS_SHARE, |table| {
        check_not_distributed(&table.open())?;
        check_is_whole(table)?;
        // The sample has all rows, but a policy may hide some from the owner or from the caller.
        let hides = |member: &Target| hides_rows(member.oid, None) || hides_rows(member.oid, Some(caller));
        let has_hidden_rows = table.family(ACCESS_SHARE)?.iter().any(hides);
        let (groups, total) = group_sample(table, &asked, call)?;
        Ok((groups, total, has_hidden_rows))
    })?;
    Ok(TableIterator::new(groups.into_iter().map(move |((kind, rank), group)| {
        let share = (group.rows as f64 / total as f64 * 1e4).round() / 1e4;
        // If some rows are hidden, do not report single rows. A guard's error does not either.
        let example = group.example.filter(|_| !has_hidden_rows);
        let (row, earlier) = example.map(|example| (example.row, example.earlier)).unzip();
        let ((example, example_text), (earlier, earlier_text)) = (to_datums(row), to_datums(earlier));
        let (resemblance, distance) = match rank {
            Some(Rank::Resemblance(Reverse(steps))) => (Some(f64::from(steps) / STEPS), None),
            Some(Rank::Distance(distance)) => (None, Some(distance.cast_signed())),
            None => (None, None),
        };
        let is_duplicate = kind == GroupKind::Duplicates;
        (resemblance, distance, is_duplicate, group.rows, share, example, earlier, example_text, earlier_text)
    })))
}

/// The key and the text of a row, as columns of the result.
fn to_datums(shown: Option<ShownRow>) -> (Option<AnyElement>, Option<AnyElement>) {
    let Some(ShownRow { key, text }) = shown else { return (None, None) };
    let key = text_from_server_string(&key).unwrap_or_else(|error| raise(error));
    (Some(key), text.map(|text| text_from_utf8(&text)))
}

/// Looks up a sample of the rows. Returns those that were looked up in groups, and their number.
fn group_sample(table: &Target, asked: &AskedPreview, call: Call<'_>) -> Result<(Groups, i64)> {
    let preview = Preview::new(call, table, asked)?;
    let mut groups = Groups::new();
    each_sampled_row(&preview.searched, table, asked.sample, |own, row| preview.add_row(&mut groups, own, row))?;
    let total = groups.values().map(|group| group.rows).sum();
    if preview.left_out.get() > 0 {
        report_limit(table, total, &preview);
    }
    Ok((groups, total))
}

/// Texts are grouped by their resemblance in steps of 1 / `STEPS`.
const STEPS: f64 = 20.0;
/// The least resemblance that is shown. Of the texts that resemble each other less, a search finds few.
const LEAST_SHOWN: f64 = 0.5;

/// The limit on the pairs of rows that are compared, for each row of the sample that is asked for. Rows may share bands
/// with thousands of others and be near none of them: then each is compared with all.
const MAX_PAIRS_PER_ROW: i64 = 20;

/// Reports that the limit on pairs was reached before all sampled rows were looked up; `rows` were.
fn report_limit(table: &Target, rows: i64, preview: &Preview) {
    let (sampled, pairs_per_row) = (rows + preview.left_out.get(), preview.compared_pairs.get() / rows.max(1));
    let message = format!("{rows} of {sampled} sampled rows of table \"{}\" were looked up", table.name);
    user_error(PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION, message)
        .with_detail(format!(
            "Each was compared with about {pairs_per_row} others, and after {} pairs of rows, no further one is looked up.",
            preview.pair_limit
        ))
        .with_hint("For more rows, give a larger sample.")
        .report(PgLogLevel::NOTICE);
}

struct AskedPreview {
    criterion: AskedCriterion,
    among: Option<AskedSql>,
    unless: Option<AskedSql>,
    source: Option<AskedSql>,
    scope: Vec<String>,
    sample: i32,
}

struct Preview {
    /// The criterion of near texts; None for fingerprints. The search also finds texts that resemble each other less.
    criterion: Option<TextCriterion>,
    searched: Vec<SearchedTable>,
    evaluator: Evaluator,
    compared_pairs: Cell<i64>,
    /// Once this number of pairs of rows has been compared, no further row is looked up.
    pair_limit: i64,
    /// The number of sampled rows that were not looked up.
    left_out: Cell<i64>,
}

/// Groups of rows in the order of the result, by their kind and the rank of the earlier row, if there is one.
type Groups = BTreeMap<(GroupKind, Option<Rank>), Group>;

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum GroupKind {
    Duplicates,
    /// Rows whose closest earlier row resembles them less than the criterion demands.
    Refuted,
    /// Rows that no earlier row is near, or that the condition `unless` leaves unchecked.
    Alone,
}

/// A closeness, the closest first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// The number of [`STEPS`] of the resemblance, rounded down.
    Resemblance(Reverse<i32>),
    Distance(u32),
}

#[derive(Default)]
struct Group {
    rows: i64,
    /// The row whose resemblance is nearest to the criterion's; of several, the first.
    example: Option<Example>,
}

struct Example {
    /// The absolute [`Preview::excess`] of the resemblance, and the row's position.
    order: (f64, (u32, u64)),
    row: ShownRow,
    earlier: ShownRow,
}

impl Preview {
    fn new(call: Call<'_>, table: &Target, asked: &AskedPreview) -> Result<Self> {
        let schema = ExtensionSchema::of_call(call)?;
        let relation = table.open();
        let members = Members::read(table.oid, table.oid)?;
        let (source, mut criterion) = find_source(asked.source.as_ref(), &members, &asked.criterion, schema)?;
        let mut text_criterion = None;
        // Find also texts that resemble each other less than near-duplicates do.
        if let GuardCriterion::Texts(texts) = &mut criterion {
            text_criterion = Some(texts.criterion);
            texts.criterion.resemblance = texts.criterion.resemblance.min(LEAST_SHOWN);
        }
        let memory = PgMemoryContexts::CurrentMemoryContext.value();
        // SAFETY: the memory context of the running call outlives the preview.
        let evaluator = unsafe { Evaluator::new(TRIGGER_NAME.to_owned(), memory) };
        let arguments = Arguments {
            action: Action::Reject,
            criterion,
            source,
            mark_column: None,
            scope: asked.scope.clone(),
            among: condition_sql(asked.among.as_ref(), &relation, AMONG, None)?,
            unless: condition_sql(asked.unless.as_ref(), &relation, UNLESS, None)?,
        };
        let searched = members.searched(&arguments, Some(schema))?;
        report_common_words(&arguments.criterion, &searched, &evaluator, table)?;
        let (compared_pairs, left_out) = Default::default();
        let pair_limit = i64::from(asked.sample) * MAX_PAIRS_PER_ROW;
        Ok(Self { criterion: text_criterion, searched, evaluator, compared_pairs, pair_limit, left_out })
    }

    /// Adds a row to its group, unless it has no word or no fingerprint, or the limit on pairs is reached.
    fn add_row(&self, groups: &mut Groups, own: &SearchedTable, row: Row<'_>) -> Result<()> {
        if self.compared_pairs.get() >= self.pair_limit {
            self.left_out.set(self.left_out.get() + 1);
            return Ok(());
        }
        let Some(key) = self.evaluator.key(own, row, RowKind::New)? else { return Ok(()) };
        let is_unchecked = self.evaluator.is_unchecked(own, row)?;
        let earlier = if is_unchecked { None } else { self.find_earlier(own, row, &key)? };
        let rank = earlier.as_ref().map(|earlier| match earlier.closeness {
            // A resemblance that is a multiple of a step may be stored as a little less.
            Closeness::Resemblance(resemblance) => Rank::Resemblance(Reverse((resemblance * STEPS + 1e-9) as i32)),
            Closeness::Distance(distance) => Rank::Distance(distance),
        });
        let kind = match &earlier {
            Some(earlier) if self.excess(earlier) < 0.0 => GroupKind::Refuted,
            Some(_) => GroupKind::Duplicates,
            None => GroupKind::Alone,
        };
        let group = groups.entry((kind, rank)).or_default();
        group.rows += 1;
        let Some(earlier) = earlier else { return Ok(()) };
        let order = (self.excess(&earlier).abs(), row_position(own, row));
        if group.example.as_ref().is_none_or(|example| order < example.order) {
            group.example = Some(Example { order, row: self.describe(own, row)?, earlier: earlier.shown });
        }
        Ok(())
    }

    /// By how much a row's resemblance to the earlier one exceeds the criterion's least resemblance: negative if the
    /// rows are not near-duplicates, 0 for fingerprints.
    fn excess(&self, earlier: &EarlierRow) -> f64 {
        match (earlier.closeness, self.criterion) {
            (Closeness::Resemblance(resemblance), Some(criterion)) => resemblance - criterion.resemblance,
            _ => 0.0,
        }
    }
}
