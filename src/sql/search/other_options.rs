//! Warns of queries by other options than a table's fingerprints, bands or passages have. A search for near
//! fingerprints by other options does not even find equal texts. A search for near texts by other options, or by more
//! bands than are indexed, reads all rows. A window function by other options finds other near-duplicates than
//! searches.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::ffi::CStr;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use pgrx::pg_sys::Oid;
use pgrx::prelude::*;
use postgres::catalog::column::Column;
use postgres::catalog::index::ExpressionForm;
use postgres::catalog::relation::Relation;
use postgres::error::{Explain, user_error};
use postgres::expression::Expression;
use postgres::planner::base_relation::BaseRelation;
use postgres::planner::planner_info::Planner;
use postgres::server_string::server_string_from_c;

use crate::sql::fingerprint::fingerprint_cache;
use crate::sql::fingerprint::options::read_criterion;
use crate::sql::functions::{ExtensionSchema, TEXT_AND_OPTIONS};
use crate::sql::indexed::recognise::{FingerprintCall, constant_document, options_json};
use crate::sql::indexed::source::shown_literal;
use crate::sql::lookup::band_indexes::{BandCall, BandIndex, band_indexes};

thread_local! {
    /// The start time of the client's last statement that got a warning.
    static WARNED_STATEMENT: Cell<pg_sys::TimestampTz> = const { Cell::new(0) };
    /// The hashes of the client's queries that got a warning in this session, each with its warning.
    static WARNED_QUERIES: RefCell<HashSet<u64>> = RefCell::default();
}

/// The limit on the queries that are remembered, so that the session's memory stays small. At the limit, all are
/// forgotten.
const MAX_WARNED_QUERIES: usize = 4096;

/// Warns of a comparison of a relation's fingerprint with a fingerprint of other options. None if they may be the same.
pub fn warn_of_other_fingerprints(relation: BaseRelation, fingerprint: Expression, query: Expression) -> Option<()> {
    let column = fingerprint.as_own_column()?;
    // If the query is a constant, the planner has just computed this fingerprint, and the cache has its options.
    let options = match query.constant() {
        Some((pg_sys::INT8OID, value)) => fingerprint_cache::options_of_last(value.value() as u64)?,
        _ => call_of_text(query)?.options,
    };
    let table = Relation::open_locked(relation.table());
    let column = Column::at(&table, column)?;
    let calls = column.generation(&table)?.outcomes().into_iter().filter_map(call_of_text).collect::<Vec<_>>();
    if calls.iter().any(|call| call.options.makes_same_fingerprints(&options)) {
        return None;
    }
    let document = match options_json(calls.first()?.document).ok()? {
        empty if empty == "{}" => String::new(),
        document => format!(", {}", shown_literal(&document)),
    };
    let (column, table) = (column.name().ok()?, table.name().ok()?);
    let message =
        format!("the query's fingerprint has other options than those in column \"{column}\" of table \"{table}\"");
    let detail = "Fingerprints of different options cannot be compared, not even those of equal texts.";
    warn_once(message, detail, &format!("Write simhash($1{document})."));
    Some(())
}

fn call_of_text(expression: Expression) -> Option<FingerprintCall> {
    let call = FingerprintCall::read_anywhere(expression.without_relabelling())?;
    (call.source.value_type() == pg_sys::TEXTOID).then_some(call)
}

/// Warns of a criterion whose options differ from the options of the text's bands.
pub fn warn_of_other_bands(table: &Relation, indexed: &BandCall) {
    let consequence = "their indexes do not serve the query";
    let hint = "Give these options in the criterion, or index the bands of the criterion's options with simhash_index.";
    warn_of_other_index(table, indexed.document, "simhash_near", "bands", consequence, hint);
}

/// Warns of a criterion that compares more bands than the first ones that the table has indexed.
pub fn warn_of_too_few_bands(table: &Relation, indexed: usize, compared: usize) {
    let Ok(name) = table.name() else { return };
    let first = match indexed {
        0 => "not indexed the first",
        1 => "indexed the first",
        _ => &format!("indexed the first {indexed}"),
    };
    let index = format!("simhash_index and bands => {compared}.");
    let hint = match indexed {
        0 => format!("Index it with {index}"),
        _ => format!("Give \"bands\": {indexed} in the criterion, or index more with {index}"),
    };
    let message = format!("simhash_near compares {compared} bands, of which table \"{name}\" has {first}");
    warn_once(message, "So its indexes do not serve the query.", &hint);
}

/// Warns of a window function whose options differ from the options of the text's indexed bands.
pub fn warn_of_window(planner: Planner, function: Oid, arguments: &[Expression]) -> Option<()> {
    let &[_, text, criterion] = arguments else { return None };
    let options = read_criterion(constant_document(criterion)?).ok()?.options;
    let (relid, table) = planner.table_of(text)?;
    let table = Relation::open_locked(table);
    let indexes = band_indexes(&table, table.open_indexes(), ExpressionForm::Planned);
    let stored_text = text.as_stored(relid);
    let text_indexes: Vec<_> = indexes.into_iter().filter(|index| index.is_of_text(&table, stored_text)).collect();
    let serves = |index: &BandIndex| index.call.options.has_bands_for(&options);
    let other = text_indexes.first().filter(|_| !text_indexes.iter().any(serves))?;
    // SAFETY: get_func_name returns a palloc'd, NUL-terminated name, or null.
    let function_name =
        unsafe { pg_sys::get_func_name(function).as_ref().map(|name| server_string_from_c(name)) }?.ok()?;
    let consequence = "searches by the indexes, and a guard, compare the texts in another way";
    let hint = "Give these options in the criterion.";
    warn_of_other_index(&table, other.call.document, &function_name, "bands", consequence, hint)
}

/// Warns of conditions on passages by other options than the text's index has. Includes conditions within OR and NOT,
/// and under row-level security.
pub fn warn_of_other_passages(relation: BaseRelation) {
    let passages: Vec<_> = relation.index_expressions().into_iter().filter_map(passages_arguments).collect();
    if passages.is_empty() {
        return;
    }
    let parts = relation.all_conditions().into_iter().flat_map(|condition| condition.expression.parts());
    let operations = parts.filter_map(Expression::operation);
    let searches = operations.filter(|operation| operation.function == Oid::from(pg_sys::F_ARRAYOVERLAP));
    for (text, options) in searches.flat_map(|search| search.operands).filter_map(passages_arguments) {
        let indexed: Vec<_> = passages.iter().filter(|(indexed, _)| indexed.equals(text)).collect();
        let Some((_, other)) = indexed.first() else { continue };
        // PostgreSQL uses the index of an equal expression. Options that are a parameter are not known.
        let is_served = indexed.iter().any(|(_, index_options)| index_options.equals(options));
        if is_served || !relation.owns(text) || constant_document(options).is_none() {
            continue;
        }
        let table = Relation::open_locked(relation.table());
        let consequence = "their index does not serve the query";
        let hint = "Give these options as the argument \"options\" of simhash_contains, or index the passages by the \
                    options of the query.";
        warn_of_other_index(&table, Some(*other), "the query", "passages", consequence, hint);
    }
}

/// The text and the options of `simhash_passages(text, options)`. PostgreSQL expands `simhash_contains` to this call.
fn passages_arguments(expression: Expression) -> Option<(Expression, Expression)> {
    let (function, arguments) = expression.call()?;
    let &[text, document] = &arguments[..] else { return None };
    let schema = ExtensionSchema::containing(function)?;
    let is_passages = schema.function(c"simhash_passages", TEXT_AND_OPTIONS) == Some(function);
    is_passages.then_some((text, document))
}

/// Warns that `subject` has other options than the table's indexes on `indexed`. `document` has their options.
fn warn_of_other_index(
    table: &Relation,
    document: Option<Expression>,
    subject: &str,
    indexed: &str,
    consequence: &str,
    hint: &str,
) -> Option<()> {
    let (name, document) = (table.name().ok()?, options_json(document).ok()?);
    let message = format!("{subject} has other options than the {indexed} that table \"{name}\" has indexed");
    let detail = format!("Their options are {}, so {consequence}.", shown_literal(&document));
    warn_once(message, &detail, hint);
    Some(())
}

/// Warns a session once of each query, because a client may make a search many times. A statement has one warning, so
/// that a table's partitions do not repeat it.
fn warn_once(message: String, detail: &str, hint: &str) {
    // SAFETY: a statement is being planned, and this only reads when the client's statement began. The client's query
    // is NUL-terminated, or null in a background worker.
    let (statement, query) = unsafe {
        let query = pg_sys::debug_query_string.as_ref().map(|query| CStr::from_ptr(query));
        (pg_sys::GetCurrentStatementStartTimestamp(), query)
    };
    if WARNED_STATEMENT.get() == statement {
        return;
    }
    let hash = BuildHasherDefault::<DefaultHasher>::new().hash_one((query, &message));
    let is_new = WARNED_QUERIES.with_borrow_mut(|warned| {
        if warned.len() >= MAX_WARNED_QUERIES {
            warned.clear();
        }
        warned.insert(hash)
    });
    if is_new {
        WARNED_STATEMENT.set(statement);
        let warning = user_error(PgSqlErrorCode::ERRCODE_WARNING, message);
        warning.with_detail(detail).with_hint(hint).report(PgLogLevel::WARNING);
    }
}
