//! `simhash_preview`: the near-duplicates that a guard would find among a table's existing rows.

use std::ffi::CStr;

use pgrx::prelude::*;
use pgrx::{AnyArray, AnyElement};
use postgres::arrays::names;
use postgres::call::Call;
use postgres::catalog::citus::check_has_rows;
use postgres::catalog::relation::hides_rows;
use postgres::catalog::target::{Lock, Target};
use postgres::error::{ErrorReport, Result, raise, user_error};
use postgres::json::RawJsonb;
use postgres::owner::as_owner;
use postgres::text::{RawText, to_datum, to_text};

use super::cost::report_refuted;
use super::sample::{Example, GroupKind, Preview};
use crate::sql::arguments::{name, required};
use crate::sql::guard::definition::condition::{AskedCondition, ConditionArgument};
use crate::sql::guard::definition::criterion::AskedCriterion;
use crate::sql::guard::definition::members::check_is_whole;
use crate::sql::indexed::fingerprint_column::meant_column;

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
> {
    // SAFETY: `fcinfo` belongs to the running call.
    let call = unsafe { Call::new(fcinfo) };
    let asked = AskedCriterion::read(required(criterion, "criterion")?)?;
    let condition = |argument| move |condition| AskedCondition::new(argument, condition);
    let among = among.map(condition(ConditionArgument::Among)).transpose()?;
    let unless = unless.map(condition(ConditionArgument::Unless)).transpose()?;
    let scope = names(&required(scope, "scope")?, "scope")?;
    let fingerprint = name(fingerprint, "fingerprint")?;
    let sample = required(sample, "sample")?;
    if sample < 1 {
        let message = format!("sample of {sample} rows is too small");
        return Err(user_error(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message)
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
        let mut preview = Preview::new(call, &table, &asked, &fingerprint, &scope, conditions)?;
        preview.weigh(&table, &family, &fingerprint)?;
        let groups = preview.of_sample(&family, &fingerprint, sample, usize::MAX)?;
        report_refuted(&preview, &table);
        Ok::<_, ErrorReport>(groups)
    })?;
    let total: i64 = groups.values().map(|group| group.rows).sum();
    let of_key = |key: Option<String>| key.and_then(|key| to_text(&key).unwrap_or_else(|error| raise(error)));
    let text = |text: Option<String>| text.and_then(|text| to_datum(&text));
    Ok(TableIterator::new(groups.into_iter().map(move |(key, group)| {
        let round = |value: f64, units: f64| (value * units).round() / units;
        let share = round(group.rows as f64 / total as f64, 1e4);
        // As in a guard's error, report nothing about single rows if some rows are hidden.
        let example = if is_hidden { Example::default() } else { group.example };
        let Example { resemblance, keys: [example, earlier], texts: [example_text, earlier_text] } = example;
        (
            key.distance.map(u32::cast_signed),
            key.kind == GroupKind::Duplicates,
            group.rows,
            share,
            resemblance.map(|resemblance| round(resemblance, 1e3)),
            of_key(example),
            of_key(earlier),
            text(example_text),
            text(earlier_text),
        )
    })))
}
