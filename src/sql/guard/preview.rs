//! `simhash_preview`: what a guard would find among the rows that a table already has.
//!
//! It looks up a sample of the rows as the guard looks up new rows, by the same search and the same comparison of
//! texts, and counts those that are near an earlier row. A row is earlier if its primary key is smaller.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::ops::ControlFlow;

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{ItemPointerData, Oid};
use pgrx::prelude::*;
use pgrx::spi::quote_identifier;
use pgrx::{AnyArray, AnyElement, PgMemoryContexts};

use super::among::{Among, AskedCondition};
use super::cheaper::tell_of_cheaper;
use super::confirmation::{NewText, TextReader};
use super::criterion::{Asked, Criterion};
use super::disclosure::hides_rows;
use super::members::{Members, check_is_whole};
use super::search::{Candidate, SearchedTable, Wanted};
use crate::postgres::arrays::names;
use crate::postgres::call::Call;
use crate::postgres::catalog::citus::check_has_rows;
use crate::postgres::catalog::target::{Lock, Target};
use crate::postgres::error::{algorithm_error, notice, raise, user_error};
use crate::postgres::heap::dirty_scan::VersionState;
use crate::postgres::heap::moment::Moment;
use crate::postgres::heap::primary_key::KeyValue;
use crate::postgres::heap::row::{Row, TableSlot, tid_numbers};
use crate::postgres::owner::as_owner;
use crate::postgres::query::{Query, renamed};
use crate::postgres::raised::unchanged;
use crate::postgres::spi::{to_server, to_text};
use crate::postgres::text::RawText;
use crate::sql::arguments::{name, required};
use crate::sql::attach::text_source::TextSource;
use crate::sql::attach::unfilled::can_be_read;
use crate::sql::fingerprint::options::RawJsonb;
use crate::sql::functions::ExtensionSchema;
use crate::sql::indexed::fingerprint_column::fingerprint_column;

/// The most rows that are looked up, as a multiple of the sample that is asked for.
const MOST_TIMES: i64 = 4;

/// From this many texts on that are compared with each new row and refuted, say so: a comparison takes some
/// microseconds for a page of text, and an insert a hundred.
const MANY_REFUTED: f64 = 100.0;

/// About how many rows [`tell_of_cost`] looks up: some pages. It stops after so many comparisons.
const SOME_ROWS: i32 = 500;
const MOST_COMPARISONS: usize = 10_000;

/// Characters of a text that are shown.
const SHOWN: usize = 80;

#[allow(clippy::type_complexity)] // pgrx must see the columns here, not behind an alias.
#[allow(clippy::too_many_arguments)] // The SQL function has as many.
#[pg_extern(sql = false)]
fn simhash_preview_radii(
    target: Option<pg_sys::Oid>,
    max_distance: Option<i32>,
    resemblance: Option<f64>,
    scope: Option<AnyArray>,
    fingerprint: Option<&CStr>,
    sample: Option<i32>,
    radii: Option<AnyArray>,
    options: Option<RawJsonb<'_>>,
    among: Option<RawText<'_>>,
    fcinfo: pg_sys::FunctionCallInfo,
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
    ErrorReport,
> {
    let asked = Asked::read(max_distance, radii, resemblance, options)?;
    let among = among.map(AskedCondition::new).transpose()?;
    Ok(TableIterator::new(preview(target, asked, scope, fingerprint, sample, among, fcinfo)?))
}

/// The function as version 0.3.0 declares it, for databases that have not been updated: without radii, options and a
/// condition.
#[allow(clippy::type_complexity)] // pgrx must see the columns here, not behind an alias.
#[pg_extern(sql = false)]
fn simhash_preview(
    target: Option<pg_sys::Oid>,
    max_distance: Option<i32>,
    resemblance: Option<f64>,
    scope: Option<AnyArray>,
    fingerprint: Option<&CStr>,
    sample: Option<i32>,
    fcinfo: pg_sys::FunctionCallInfo,
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
    ErrorReport,
> {
    let asked = Asked::read(max_distance, None, resemblance, None)?.exactly();
    Ok(TableIterator::new(preview(target, asked, scope, fingerprint, sample, None, fcinfo)?))
}

/// A row of the result.
type PreviewRow = (
    Option<i32>,
    bool,
    i64,
    f64,
    Option<f64>,
    Option<AnyElement>,
    Option<AnyElement>,
    Option<AnyElement>,
    Option<AnyElement>,
);

fn preview(
    target: Option<pg_sys::Oid>,
    asked: Asked,
    scope: Option<AnyArray>,
    fingerprint: Option<&CStr>,
    sample: Option<i32>,
    among: Option<AskedCondition>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Result<impl Iterator<Item = PreviewRow> + 'static, ErrorReport> {
    let scope = names(&required(scope, "scope")?, "scope")?;
    let fingerprint = name(fingerprint, "fingerprint")?;
    let sample = required(sample, "sample")?;
    if sample < 1 {
        let message = format!("sample of {sample} rows is too small");
        return Err(user_error(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message)
            .set_hint("A sample of some thousand rows takes seconds."));
    }
    // SAFETY: `fcinfo` belongs to the running call.
    let call = unsafe { Call::new(fcinfo) };
    let (is_hidden, groups) = unchanged(|| {
        let table = Target::lock(required(target, "target")?, pg_sys::AccessShareLock as Lock)?;
        check_has_rows(&table.open())?;
        check_is_whole(&table)?;
        let family = table.family(pg_sys::AccessShareLock as Lock)?;
        let hides = || family.iter().any(|member| hides_rows(member.oid));
        let is_hidden = hides() || as_owner(table.owner, hides);
        let groups = as_owner(table.owner, || {
            let preview = Preview::new(call, &table, &asked, &fingerprint, &scope, among.as_ref())?;
            let groups = preview.of_sample(&family, &fingerprint, sample, usize::MAX)?;
            preview.tell(&table);
            Ok(groups)
        })?;
        Ok::<_, ErrorReport>((is_hidden, groups))
    })?;
    let total: i64 = groups.values().map(|group| group.rows).sum();
    let text = |text: Option<String>| text.and_then(|text| to_text(&text).unwrap_or_else(|error| raise(error)));
    Ok(groups.into_iter().map(move |(key, group)| {
        let round = |value: f64, units: f64| (value * units).round() / units;
        let share = round(group.rows as f64 / total as f64, 1e4);
        // As in the error of a guard, nothing is told about single rows if some of them are hidden.
        let example = if is_hidden { Example::default() } else { group.example };
        let Example { resemblance, rows: [example, earlier], texts: [example_text, earlier_text] } = example;
        (
            key.distance.map(u32::cast_signed),
            key.order == Order::Duplicates,
            group.rows,
            share,
            resemblance.map(|resemblance| round(resemblance, 1e3)),
            text(example),
            text(earlier),
            text(example_text),
            text(earlier_text),
        )
    }))
}

/// Looks up some rows as a guard looks up new rows, and reports if it compares many texts for each that are refuted, or
/// reads many index entries.
pub fn tell_of_cost(
    function: Oid,
    table: &Target,
    family: &[Target],
    fingerprint: &str,
    criterion: Criterion,
    among: Option<String>,
    searched: Vec<SearchedTable>,
) -> Result<(), ErrorReport> {
    if criterion.resemblance.is_none() || !can_be_read(table) {
        return Ok(());
    }
    let preview = Preview::of_tables(function, criterion, true, among, table.owner, searched);
    let preview = Preview { compares_all: true, ..preview };
    preview.of_sample(family, fingerprint, SOME_ROWS, MOST_COMPARISONS)?;
    preview.tell(table);
    tell_of_cheaper(table, fingerprint, &preview.criterion, &preview.searched, preview.rows.get())
}

/// Finds what is near sampled rows.
struct Preview {
    criterion: Criterion,
    /// Whether the fingerprints are made from texts.
    has_text: bool,
    searched: Vec<SearchedTable>,
    texts: TextReader,
    among: Option<Among>,
    /// Whether a row is compared with all others, as a new row is, and not only with earlier ones.
    compares_all: bool,
    /// The number of rows that were looked up.
    rows: Cell<usize>,
    /// The number of texts that were compared with them and refuted.
    refuted: Cell<usize>,
}

/// The rows of the result, in their order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct GroupKey {
    order: Order,
    /// The distance to the earlier row; None if there is none.
    distance: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    Duplicates,
    /// Rows that are within the distance only.
    Refuted,
    Alone,
}

/// Sampled rows of one kind.
struct Group {
    rows: i64,
    /// The row that is nearest to being of the other kind.
    example: Example,
}

/// A sampled row, and the earlier row that it is near.
#[derive(Default)]
struct Example {
    resemblance: Option<f64>,
    rows: [Option<String>; 2],
    texts: [Option<String>; 2],
}

/// A sampled row.
struct Sampled<'a> {
    own: &'a SearchedTable,
    row: Row<'a>,
    key: KeyValue,
    text: NewText<'a>,
}

impl Sampled<'_> {
    /// Whether another row is earlier: by its key or, if the keys have no order, by its tid.
    fn comes_after(&self, searched: &SearchedTable, row: Row<'_>, key: &KeyValue) -> bool {
        let tids = || {
            let (table, own) = (searched.oid.to_u32(), self.own.oid.to_u32());
            (table, tid_numbers(row.tid())).cmp(&(own, tid_numbers(self.row.tid())))
        };
        searched.primary_key.compare(key, &self.own.primary_key, &self.key).then_with(tids).is_lt()
    }
}

/// The earlier row that decides about a sampled row.
struct Found {
    is_confirmed: bool,
    distance: u32,
    resemblance: Option<f64>,
    row: Option<String>,
    text: Option<String>,
}

impl Preview {
    fn new(
        call: Call<'_>,
        table: &Target,
        asked: &Asked,
        fingerprint: &str,
        scope: &[String],
        among: Option<&AskedCondition>,
    ) -> Result<Self, ErrorReport> {
        let schema = ExtensionSchema::running(call)?;
        let relation = table.open();
        let column = fingerprint_column(&relation, fingerprint)?;
        let has_text = TextSource::of_column(&relation, &column, schema)?.is_some();
        let (members, criteria) = (Members::read(table.oid)?, asked.with_defaults(|| Ok(has_text))?);
        let (criterion, mut searched) = members.searched_by_layout(fingerprint, scope, criteria, schema)?;
        if has_text && criterion.resemblance.is_none() {
            // Resemblances are shown even if they do not matter.
            let with_texts = Criterion { resemblance: Some(0.0), ..criterion.clone() };
            searched = members.searched(fingerprint, scope, &with_texts, Some(schema))?;
        }
        let among = among.map(|among| among.check(&relation, None)).transpose()?;
        Ok(Self::of_tables(call.function(), criterion, has_text, among, table.owner, searched))
    }

    fn of_tables(
        function: Oid,
        criterion: Criterion,
        has_text: bool,
        among: Option<String>,
        owner: Oid,
        searched: Vec<SearchedTable>,
    ) -> Self {
        let memory = PgMemoryContexts::CurrentMemoryContext.value();
        // SAFETY: the memory context of the running call.
        let (texts, among) =
            unsafe { (TextReader::new(function, memory), among.map(|condition| Among::new(condition, owner, memory))) };
        let (rows, refuted) = (Cell::new(0), Cell::new(0));
        Self { criterion, has_text, searched, texts, among, compares_all: false, rows, refuted }
    }

    /// Reports if many texts were compared and refuted.
    fn tell(&self, table: &Target) {
        // Half of all rows are earlier, on average.
        let share = if self.compares_all { 1.0 } else { 0.5 };
        let refuted = self.refuted.get() as f64 / share / self.rows.get().max(1) as f64;
        if refuted >= MANY_REFUTED {
            notice(format!(
                "for each new row, about {refuted:.0} texts of table \"{}\" will be compared that do not resemble it; \
                 with a smaller max_distance they are fewer",
                table.name
            ));
        }
    }

    /// Looks up about `sample` rows of a table and its partitions, until so many texts are refuted.
    fn of_sample(
        &self,
        family: &[Target],
        fingerprint: &str,
        sample: i32,
        most_refuted: usize,
    ) -> Result<BTreeMap<GroupKey, Group>, ErrorReport> {
        let members = family.iter().filter(|member| member.is_ordinary());
        let rows: f64 = members.clone().map(|member| member.estimated_rows().max(0.0)).sum();
        let percent = (100.0 * f64::from(sample) / rows.max(1.0)).min(100.0) as f32;
        let mut groups = BTreeMap::new();
        let mut memory = PgMemoryContexts::new("simhash_preview row");
        let mut room = i64::from(sample) * MOST_TIMES;
        for member in members {
            let Some(own) = self.searched.iter().find(|searched| searched.oid == member.oid) else { continue };
            // Whole pages are sampled, always the same ones. The limit matters if the planner's estimate of the rows is
            // wrong.
            let query = Query::parse(to_server(&format!(
                "SELECT t.ctid FROM ONLY {} AS t TABLESAMPLE pg_catalog.system ({percent}) REPEATABLE (0) \
                 WHERE t.{} IS NOT NULL LIMIT {}",
                member.sql(),
                quote_identifier(fingerprint),
                room
            ))?)?;
            // The lock protects the table, but not the name by which the query looked it up.
            if query.table() != Some(member.oid) {
                return Err(renamed(member.oid));
            }
            let mut tids = Vec::new();
            // SAFETY: a ctid is a pointer to a tid, which is copied.
            query.each_value(|tid| tids.push(unsafe { *tid.cast_mut_ptr::<ItemPointerData>() }))?;
            room -= tids.len() as i64;
            let table = member.open();
            let slot = TableSlot::new(&table);
            for tid in tids {
                pgrx::check_for_interrupts!();
                if self.refuted.get() >= most_refuted {
                    return Ok(groups);
                }
                let Some(row) = slot.fetch(&table, tid) else { continue };
                // SAFETY: what is kept of a row is not in this memory.
                unsafe {
                    memory.switch_to(|_| self.add(&mut groups, own, row))?;
                    memory.reset();
                }
            }
        }
        Ok(groups)
    }

    /// Adds a sampled row to its group.
    fn add(
        &self,
        groups: &mut BTreeMap<GroupKey, Group>,
        own: &SearchedTable,
        row: Row<'_>,
    ) -> Result<(), ErrorReport> {
        let found = self.earlier(own, row)?;
        let key = match &found {
            Some(found) if found.is_confirmed => GroupKey { order: Order::Duplicates, distance: Some(found.distance) },
            Some(found) => GroupKey { order: Order::Refuted, distance: Some(found.distance) },
            None => GroupKey { order: Order::Alone, distance: None },
        };
        let group = groups.entry(key).or_insert_with(|| Group { rows: 0, example: Example::default() });
        group.rows += 1;
        let Some(found) = found else { return Ok(()) };
        let limit = self.criterion.resemblance.unwrap_or(1.0);
        let gap = |resemblance: Option<f64>| resemblance.map_or(f64::MAX, |resemblance| (resemblance - limit).abs());
        if group.rows == 1 || gap(found.resemblance) < gap(group.example.resemblance) {
            group.example = Example {
                resemblance: found.resemblance,
                rows: [describe(own, &own.primary_key.of_row(row), row)?, found.row],
                texts: [self.excerpt(own, row)?, found.text],
            };
        }
        Ok(())
    }

    /// The earlier row that decides about a row: the nearest one that is confirmed or, if there is none, the one with
    /// the greatest resemblance.
    fn earlier(&self, own: &SearchedTable, row: Row<'_>) -> Result<Option<Found>, ErrorReport> {
        let Some(fingerprint) = row.value(own.fingerprint) else { return Ok(None) };
        let (since, scope) = (Moment::now(), own.scope.of_row(row));
        let wanted = Wanted {
            fingerprint: fingerprint.value() as i64,
            near: self.criterion.near,
            max_distance: Cell::new(self.criterion.near.max_distance()),
            scope: &scope,
            table: own.oid,
            except: Some(row.tid()),
            is_own_row: None,
            since: &since,
        };
        let text = NewText::new(&self.texts, row, own, 0.0);
        let sampled = Sampled { own, row, key: own.primary_key.of_row(row), text };
        let mut best: Option<Found> = None;
        for searched in &self.searched {
            let flow = searched
                .each_near(&wanted, |candidate| {
                    match self.judge(&sampled, searched, candidate, best.is_some()) {
                        Ok(None) => return ControlFlow::Continue(()),
                        Ok(found) => best = found,
                        Err(error) => return ControlFlow::Break(Err(error)),
                    }
                    match &best {
                        Some(Found { is_confirmed: true, distance: 0, .. }) => return ControlFlow::Break(Ok(())),
                        Some(Found { is_confirmed: true, distance, .. }) => {
                            wanted.max_distance.set(distance.cast_signed() - 1);
                            sampled.text.least.set(self.criterion.resemblance.unwrap_or(0.0));
                        }
                        Some(Found { resemblance: Some(resemblance), .. }) => {
                            sampled.text.least.set(resemblance.next_up());
                        }
                        _ => {}
                    }
                    ControlFlow::Continue(())
                })
                .map_err(algorithm_error)?;
            if let ControlFlow::Break(stopped) = flow {
                stopped?;
                break;
            }
        }
        self.rows.set(self.rows.get() + 1);
        self.refuted.set(self.refuted.get() + sampled.text.refuted());
        Ok(best)
    }

    /// A candidate, if it is earlier than the sampled row and decides rather than those before, if there are any.
    fn judge(
        &self,
        sampled: &Sampled<'_>,
        searched: &SearchedTable,
        candidate: &Candidate,
        has_found: bool,
    ) -> Result<Option<Found>, ErrorReport> {
        let row = candidate.version.row();
        let key = searched.primary_key.of_row(row);
        let is_compared = || self.compares_all || sampled.comes_after(searched, row, &key);
        if candidate.state != VersionState::Present || !is_compared() {
            return Ok(None);
        }
        if let Some(among) = &self.among
            && !among.holds(searched.oid, row)?
        {
            return Ok(None);
        }
        let resemblance = if self.has_text { sampled.text.confirm_present(searched, row)? } else { None };
        let is_confirmed =
            self.criterion.resemblance.is_none_or(|least| resemblance.is_some_and(|resemblance| resemblance >= least));
        if has_found && !is_confirmed && resemblance.is_none() {
            return Ok(None);
        }
        Ok(Some(Found {
            is_confirmed,
            distance: candidate.distance,
            resemblance,
            row: describe(searched, &key, row)?,
            text: self.excerpt(searched, row)?,
        }))
    }

    /// The beginning of a row's text, on one line.
    fn excerpt(&self, searched: &SearchedTable, row: Row<'_>) -> Result<Option<String>, ErrorReport> {
        if !self.has_text {
            return Ok(None);
        }
        let on_one_line = |c: char| if c.is_control() { ' ' } else { c };
        self.texts.with_stored_text(searched, row, |text| Ok(text.chars().take(SHOWN).map(on_one_line).collect()))
    }
}

/// What identifies a row: its primary key or, without one, its tid.
fn describe(searched: &SearchedTable, key: &KeyValue, row: Row<'_>) -> Result<Option<String>, ErrorReport> {
    let (block, offset) = tid_numbers(row.tid());
    Ok(Some(searched.primary_key.describe(key)?.unwrap_or_else(|| format!("(ctid)=(({block},{offset}))"))))
}
