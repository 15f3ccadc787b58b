//! `simhash_preview`: the near-duplicates that a guard would find among a table's existing rows.
//!
//! It looks up a [`sample`] of the rows as a guard looks up new rows, by the same search and the same comparison of
//! texts: it finds the [`earlier`] row that each row is near, and sorts the rows into groups. [`common_words`] weighs
//! what the texts have in common, also when `simhash_guard` creates a guard.

pub mod common_words;
mod earlier;
mod sample;

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::rc::Rc;

use pgrx::prelude::*;
use pgrx::{AnyArray, AnyElement, PgMemoryContexts};
use postgres::arrays::names;
use postgres::call::Call;
use postgres::catalog::citus::check_has_rows;
use postgres::catalog::relation::hides_rows;
use postgres::catalog::target::{Lock, Target};
use postgres::error::{ErrorReport, Result, invalid_parameter, raise};
use postgres::heap::row::Row;
use postgres::json::RawJsonb;
use postgres::owner::as_owner;
use postgres::text::{RawText, to_datum, to_text};

use self::common_words::weighed;
use self::earlier::{EarlierRow, ShownRow};
use self::sample::each_sampled_row;
use super::definition::arguments::TRIGGER_NAME;
use super::definition::condition::{AMONG, AskedCondition, GuardCondition, UNLESS};
use super::definition::criterion::{AskedCriterion, GuardCriterion};
use super::definition::members::{Members, check_is_whole};
use super::definition::searched_table::SearchedTable;
use super::row::condition::Condition;
use super::row::confirmation::TextReader;
use super::row::stored_rows::RunningGuard;
use crate::sql::arguments::{name, required};
use crate::sql::functions::ExtensionSchema;
use crate::sql::indexed::fingerprint_column::{meant_column, named_fingerprint};
use crate::sql::indexed::recognise::FingerprintCall;

#[allow(clippy::too_many_arguments)] // The SQL function has as many.
#[pg_extern(sql = false)]
fn simhash_preview(
    target: Option<pg_sys::Oid>,
    criterion: Option<RawJsonb<'_>>,
    scope: Option<AnyArray>,
    among: Option<RawText<'_>>,
    fingerprint: Option<&CStr>,
    unless: Option<RawText<'_>>,
    sample: Option<i32>,
    call: Call<'_>,
) -> Result<
    TableIterator<
        'static,
        (
            name!(distance, Option<i32>),
            name!(duplicate, bool),
            name!(rows, i64),
            name!(share, f64),
            name!(resemblance, Option<f64>),
            name!(example, Option<AnyElement>),
            name!(earlier, Option<AnyElement>),
            name!(example_text, Option<AnyElement>),
            name!(earlier_text, Option<AnyElement>),
        ),
    >,
> {
    let asked = AskedCriterion::read(required(criterion, "criterion")?)?;
    let (among, unless) = (AskedCondition::new(AMONG, among)?, AskedCondition::new(UNLESS, unless)?);
    let scope = names(&required(scope, "scope")?, "scope")?;
    let fingerprint = name(fingerprint, "fingerprint")?;
    let sample = required(sample, "sample")?;
    if sample < 1 {
        return Err(invalid_parameter(format!("sample of {sample} rows is too small"))
            .set_hint("A sample of some thousand rows takes seconds."));
    }
    let table = Target::lock(required(target, "target")?, pg_sys::AccessShareLock as Lock)?;
    check_has_rows(&table.open())?;
    check_is_whole(&table)?;
    let family = table.family(pg_sys::AccessShareLock as Lock)?;
    let hides = || family.iter().any(|member| hides_rows(member.oid, None));
    let is_hidden = hides() || as_owner(table.owner, hides);
    let groups = as_owner(table.owner, || {
        let fingerprint = meant_column(&table.open(), &fingerprint)?;
        let conditions = [among.as_ref(), unless.as_ref()];
        let preview = Preview::new(call, (&table, &family), &asked, &fingerprint, &scope, conditions)?;
        let mut groups = Groups::new();
        each_sampled_row(&preview.searched, &family, &fingerprint, sample, |own, row| {
            preview.add(&mut groups, own, row)
        })?;
        Ok::<_, ErrorReport>(groups)
    })?;
    let total: i64 = groups.values().map(|group| group.rows).sum();
    let of_key = |key: Option<String>| key.and_then(|key| to_text(&key).unwrap_or_else(|error| raise(error)));
    let text = |text: Option<String>| text.and_then(|text| to_datum(&text));
    Ok(TableIterator::new(groups.into_iter().map(move |((kind, distance), group)| {
        let round = |value: f64, units: f64| (value * units).round() / units;
        // As in a guard's error, report nothing about single rows if some rows are hidden.
        let (row, earlier) = group.example.filter(|_| !is_hidden).unzip();
        let resemblance = earlier.as_ref().and_then(|earlier| earlier.resemblance);
        let [(example, example_text), (earlier, earlier_text)] = [row, earlier.map(|earlier| earlier.shown)]
            .map(|shown| shown.map_or((None, None), |ShownRow { key, text }| (Some(key), text)));
        (
            distance.map(u32::cast_signed),
            kind == GroupKind::Duplicates,
            group.rows,
            round(group.rows as f64 / total as f64, 1e4),
            resemblance.map(|resemblance| round(resemblance, 1e3)),
            of_key(example),
            of_key(earlier),
            text(example_text),
            text(earlier_text),
        )
    })))
}

struct Preview {
    criterion: GuardCriterion,
    /// Whether the fingerprints are made from texts.
    has_text: bool,
    searched: Vec<SearchedTable>,
    texts: TextReader,
    among: Option<Condition>,
    /// The condition under which a guard stores a row unchecked.
    unless: Option<Condition>,
}

/// Groups of rows, by the distance to the earlier row; None if there is none.
type Groups = BTreeMap<(GroupKind, Option<u32>), Group>;

/// The kinds of groups, in the order of the result.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum GroupKind {
    Duplicates,
    /// Rows that are near an earlier row, but do not resemble it.
    Refuted,
    Alone,
}

#[derive(Default)]
struct Group {
    rows: i64,
    /// The row whose resemblance is nearest to the criterion's resemblance, and the earlier row that it is near.
    example: Option<(ShownRow, EarlierRow)>,
}

impl Preview {
    fn new(
        call: Call<'_>,
        (table, family): (&Target, &[Target]),
        asked: &AskedCriterion,
        fingerprint: &str,
        scope: &[String],
        [among, unless]: [Option<&AskedCondition>; 2],
    ) -> Result<Self> {
        let schema = ExtensionSchema::running(call)?;
        let relation = table.open();
        let column = named_fingerprint(&relation, fingerprint)?;
        let source = FingerprintCall::of_text(column.computation(&relation), schema);
        let members = Members::read(table.oid, None)?;
        let criteria = asked.of_rows(source.as_ref())?;
        let (criterion, searched) = members.searched_by_layout(fingerprint, scope, criteria, schema)?;
        let memory = PgMemoryContexts::CurrentMemoryContext.value();
        // SAFETY: the memory context of the running call.
        let guard = unsafe { RunningGuard::new(call.function(), TRIGGER_NAME, memory) };
        let texts = TextReader::new(guard.clone());
        let criterion = weighed(criterion, &searched, &texts, (table, family), fingerprint)?;
        // Show resemblances even if the criterion has none.
        let resemblance = criterion.resemblance.or(source.is_some().then_some(0.0));
        let with_texts = GuardCriterion { resemblance, ..criterion.clone() };
        let condition = |asked: &AskedCondition| {
            let condition = Rc::new(GuardCondition::new(asked.argument, asked.check(&relation, None)?));
            Ok::<_, ErrorReport>(Condition::new(condition, guard.clone()))
        };
        Ok(Self {
            searched: members.searched(fingerprint, scope, &with_texts, Some(schema))?,
            criterion,
            has_text: source.is_some(),
            texts,
            among: among.map(condition).transpose()?,
            unless: unless.map(condition).transpose()?,
        })
    }

    fn add(&self, groups: &mut Groups, own: &SearchedTable, row: Row<'_>) -> Result<()> {
        let unchecked = |unless: &Condition| unless.holds(own.oid, row);
        let earlier = match self.unless.as_ref().map(unchecked).transpose()? {
            Some(true) => None,
            _ => self.earlier(own, row)?,
        };
        let kind = match &earlier {
            Some(earlier) if earlier.is_confirmed => GroupKind::Duplicates,
            Some(_) => GroupKind::Refuted,
            None => GroupKind::Alone,
        };
        let group = groups.entry((kind, earlier.as_ref().map(|earlier| earlier.distance))).or_default();
        group.rows += 1;
        let Some(earlier) = earlier else { return Ok(()) };
        let limit = self.criterion.resemblance.unwrap_or(1.0);
        let gap = |earlier: &EarlierRow| earlier.resemblance.map_or(f64::MAX, |found| (found - limit).abs());
        if group.example.as_ref().is_none_or(|(_, known)| gap(&earlier) < gap(known)) {
            group.example = Some((self.shown(own, row)?, earlier));
        }
        Ok(())
    }
}
