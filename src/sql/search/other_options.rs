//! Warns of queries by other options than those of a table's fingerprints or bands. A query that compares the
//! fingerprints finds not even the same text; one that compares the texts reads all rows, as one that compares more bands
//! than are indexed does.

use std::cell::Cell;

use pgrx::prelude::*;
use postgres::catalog::column::Column;
use postgres::catalog::relation::Relation;
use postgres::error::{ErrorReport, sendable, user_error, warn};
use postgres::expression::Expression;
use postgres::planner::base_relation::BaseRelation;
use simhash::fingerprint::options::Options;

use crate::sql::fingerprint::fingerprint_cache;
use crate::sql::indexed::recognise::{FingerprintCall, options_json};
use crate::sql::indexed::source::shown_literal;
use crate::sql::lookup::band_indexes::BandCall;

thread_local! {
    /// When the client's statement began that was warned last.
    static WARNED: Cell<pg_sys::TimestampTz> = const { Cell::new(0) };
}

/// Warns once a statement if one of the relation's fingerprints, each with what the query compares it with, is a column
/// of other options.
pub fn warn_of_other_options(relation: BaseRelation, mut compared: impl Iterator<Item = (Expression, Expression)>) {
    if let Some(warning) = compared.find_map(|(fingerprint, query)| warning(relation, fingerprint, query)) {
        warn_once(warning);
    }
}

/// Warns once a statement of a criterion with other options than those of the bands of the text.
pub fn warn_of_other_bands(table: &Relation, indexed: &BandCall) {
    let (Ok(name), Ok(document)) = (table.name(), options_json(indexed.document)) else { return };
    let message = format!("simhash_near has other options than the bands that table \"{name}\" has indexed");
    let detail = format!("Their options are {}, so their indexes do not serve the query.", shown_literal(&document));
    let warning = user_error(PgSqlErrorCode::ERRCODE_WARNING, sendable(message)).set_detail(sendable(detail));
    warn_once(warning.set_hint(
        "Give these options in the criterion, or index the bands of the criterion's options with simhash_index.",
    ));
}

/// Warns once a statement of a criterion that compares more bands than the table has indexed.
pub fn warn_of_too_few_bands(table: &Relation, indexed: usize, compared: usize) {
    let Ok(name) = table.name() else { return };
    let message = format!("simhash_near compares {compared} bands, of which table \"{name}\" has indexed {indexed}");
    let warning = user_error(PgSqlErrorCode::ERRCODE_WARNING, sendable(message))
        .set_detail("So its indexes do not serve the query.")
        .set_hint(format!(
            "Give \"bands\": {indexed} in the criterion, or index more with simhash_index and bands => {compared}."
        ));
    warn_once(warning);
}

fn warn_once(warning: ErrorReport) {
    // SAFETY: a statement is being planned, and this only reads when the client's statement began.
    let statement = unsafe { pg_sys::GetCurrentStatementStartTimestamp() };
    if WARNED.replace(statement) != statement {
        warn(warning);
    }
}

fn warning(relation: BaseRelation, fingerprint: Expression, query: Expression) -> Option<ErrorReport> {
    let column = fingerprint.as_own_column()?;
    let options = options_of(query)?;
    let table = Relation::open_locked(relation.table());
    let column = Column::at(&table, column)?;
    let calls = column.generation(&table)?.outcomes().into_iter().filter_map(call_of_text).collect::<Vec<_>>();
    if calls.iter().any(|call| call.options.makes_same_fingerprints(&options)) {
        return None;
    }
    let document = match calls.first()?.options_json().ok()? {
        empty if empty == "{}" => String::new(),
        document => format!(", {}", shown_literal(&document)),
    };
    let (column, table) = (column.name().ok()?, table.name().ok()?);
    let message =
        format!("the query's fingerprint has other options than those in column \"{column}\" of table \"{table}\"");
    let warning = user_error(PgSqlErrorCode::ERRCODE_WARNING, sendable(message))
        .set_detail("Fingerprints of different options cannot be compared, not even those of equal texts.")
        .set_hint(sendable(format!("Write simhash($1{document}).")));
    Some(warning)
}

/// The options of the fingerprint of a text. The planner has computed that of a constant text last, by its options.
fn options_of(query: Expression) -> Option<Options> {
    match query.constant() {
        Some((pg_sys::INT8OID, value)) => fingerprint_cache::options_of_last(value.value() as u64),
        _ => call_of_text(query).map(|call| call.options),
    }
}

fn call_of_text(expression: Expression) -> Option<FingerprintCall> {
    let call = FingerprintCall::read_anywhere(expression.without_relabelling())?;
    (call.source.value_type() == pg_sys::TEXTOID).then_some(call)
}
