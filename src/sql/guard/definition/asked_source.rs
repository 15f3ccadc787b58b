//! The source that a user asks for, a text or a column of fingerprints, and the criterion for it.
//!
//! Only an indexed source can be guarded. The user must name it only if several are indexed.

use std::collections::BTreeSet;

use pgrx::prelude::*;
use postgres::catalog::column::Column;
use postgres::catalog::index::{ExpressionForm, Index};
use postgres::catalog::relation::Relation;
use postgres::catalog::row_value::RowValue;
use postgres::error::{ErrorReport, Explain, Result, invalid_parameter, user_error, wrong_state};
use postgres::expression::Expression;
use simhash::fingerprint::options::Options;

use super::asked_sql::AskedSql;
use super::criterion::{AskedCriterion, GuardCriterion, GuardedTexts};
use super::members::Members;
use super::searched_fingerprints::no_index;
use super::searched_texts::{index_call_sql, other_options, too_few_bands, usable_band_indexes};
use super::source::{as_fingerprint, as_text, parse_asked, source_sql, with_plain_columns};
use crate::sql::functions::ExtensionSchema;
use crate::sql::indexed::bits::Bits;
use crate::sql::indexed::fingerprint_column::{column_storing, is_made_from};
use crate::sql::indexed::recognise::{FingerprintCall, block_keys};
use crate::sql::indexed::source::shown_literal;
use crate::sql::lookup::band_indexes::BandIndex;

/// A text whose bands are indexed.
struct IndexedText {
    source: Expression,
    options: Options,
    options_json: String,
}

/// The source as SQL, and the criterion for it. `asked_source` is the name of a column, or an expression; None or empty
/// for the only source that is indexed. An error if partitions that have indexes of their own disagree.
pub fn find_source(
    asked_source: Option<&AskedSql>,
    members: &Members,
    asked: &AskedCriterion,
    schema: ExtensionSchema,
) -> Result<(String, GuardCriterion)> {
    let root = Relation::open(members.all[0]);
    let is_indexed =
        |table: &Relation| !usable_band_indexes(table, None).is_empty() || !indexed_fingerprints(table).is_empty();
    // An index of a partitioned table is in all its partitions. Without one, each partition may have its own indexes.
    let others = if is_indexed(&root) { &[] } else { &members.all[1..] };
    let mut partitions = others.iter().map(|&member| Relation::open(member)).filter(is_indexed);
    let Some(first) = partitions.next() else { return find_source_in(&root, asked_source, asked, schema) };
    let first_source = find_source_in(&first, asked_source, asked, schema)?;
    for other in partitions {
        let other_source = find_source_in(&other, asked_source, asked, schema)?;
        if first_source != other_source {
            return Err(disagreement([(&first, &first_source), (&other, &other_source)])?);
        }
    }
    Ok(first_source)
}

/// Finds the source as [`find_source`] does, by the indexes of one table.
fn find_source_in(
    table: &Relation,
    asked_source: Option<&AskedSql>,
    asked: &AskedCriterion,
    schema: ExtensionSchema,
) -> Result<(String, GuardCriterion)> {
    let asked_source = asked_source.filter(|source| !source.sql.is_empty());
    let named = asked_source.map(|source| parse_named(table, source)).transpose()?;
    let call_of = |fingerprint: &RowValue| FingerprintCall::of_text(fingerprint.computation(table), schema);
    let texts = if asked.is_for_fingerprints() { Vec::new() } else { indexed_texts(table, named)? };
    let mut fingerprints = match named {
        Some(source) if texts.is_empty() => named_fingerprints(table, source)?,
        Some(_) => Vec::new(),
        None => indexed_fingerprints(table),
    };
    // Under a criterion for texts, fingerprints of a text do not count, but an error may name that text.
    let fingerprinted_text = fingerprints.iter().find_map(call_of).map(|call| call.source);
    if !asked.is_for_fingerprints() {
        fingerprints.retain(|fingerprint| call_of(fingerprint).is_none());
    }
    let fingerprint_sources = fingerprints.iter().filter_map(|fingerprint| fingerprint.expression(table));
    let sources = texts.iter().map(|text| text.source).chain(fingerprint_sources);
    let choices = sources.map(|source| source_sql(table, source)).collect::<Result<BTreeSet<_>>>()?;
    match &Vec::from_iter(choices)[..] {
        [source] if texts.is_empty() => Ok((source.clone(), GuardCriterion::Distance(asked.for_fingerprints()?))),
        [source] => Ok((source.clone(), GuardCriterion::Texts(criterion_of(table, source, &texts, asked)?))),
        [] => Err(not_indexed(table, named, fingerprinted_text, asked)?),
        several => Err(ambiguous(table, several)?),
    }
}

/// Parses a source that the user names: the name of a column, or an expression.
fn parse_named(table: &Relation, source: &AskedSql) -> Result<Expression> {
    let column = if source.is_of_guard() { None } else { Column::find(table, &source.sql)? };
    let variable = column.and_then(|column| column.as_variable());
    variable.map_or_else(|| source.parse(|sql| parse_asked(table, sql)), Ok)
}

/// The texts whose bands are indexed, or only `named`: one item for each set of options that the bands of a text have.
/// Empty if `named` is not a text.
fn indexed_texts(table: &Relation, named: Option<Expression>) -> Result<Vec<IndexedText>> {
    let text = named.and_then(as_text);
    if named.is_some() && text.is_none() {
        return Ok(Vec::new());
    }
    let column = named.filter(|named| named.as_own_column().is_some());
    let mut texts: Vec<IndexedText> = Vec::new();
    for BandIndex { call, .. } in usable_band_indexes(table, text) {
        let source = column.or_else(|| generated_column_of(table, call.text)).unwrap_or(call.text);
        let is_same = |other: &IndexedText| other.source.equals(source) && other.options == call.options;
        if !texts.iter().any(is_same) {
            texts.push(IndexedText { source, options_json: call.options_json()?, options: call.options });
        }
    }
    Ok(texts)
}

/// The criterion for a source whose bands are indexed, with the options of its indexes. An error unless these indexes
/// serve the user's criterion, and give exactly one criterion.
fn criterion_of(table: &Relation, source: &str, texts: &[IndexedText], asked: &AskedCriterion) -> Result<GuardedTexts> {
    let mut served = Vec::new();
    for text in texts {
        let guarded = asked.for_texts(&text.options_json)?;
        // The indexes do not have weights that would be learnt only now.
        let is_served = text.options.has_bands_for(&guarded.options) && !asked.asks_for_weights();
        if is_served && !served.contains(&guarded) {
            served.push(guarded);
        }
    }
    match (served.pop(), texts) {
        (Some(guarded), _) if served.is_empty() => Ok(guarded),
        (None, _) if asked.asks_for_weights() => {
            Err(invalid_parameter(format!("a guard of table \"{}\" cannot learn weights", table.name()?))
                .with_detail("Bands depend on the weights: a guard has those of its indexes.")
                .with_hint("Learn weights by simhash_weights, give them to simhash_index, and leave them out here."))
        }
        (None, [text, ..]) => Err(other_options(table, source, &text.options_json)?),
        _ => {
            let message =
                format!("the bands of {source} in table \"{}\" are indexed with several options", table.name()?);
            Err(user_error(PgSqlErrorCode::ERRCODE_AMBIGUOUS_COLUMN, message).with_hint(
                "Give the criterion the options of one of them ({\"same\": []} for the defaults), or drop the others.",
            ))
        }
    }
}

/// The fingerprints whose blocks are indexed.
fn indexed_fingerprints(table: &Relation) -> Vec<RowValue> {
    let mut fingerprints: Vec<(Bits, RowValue)> = Vec::new();
    let read_index = |index: Relation| Index::read_usable(&index, ExpressionForm::Stored);
    for index in table.open_indexes().filter_map(read_index) {
        for fingerprint in block_keys(table, &index).map(|key| key.call.fingerprint) {
            let bits = Bits::of_bigint(fingerprint);
            let column =
                fingerprint.as_own_column().or_else(|| column_storing(table, bits).map(|column| column.attnum));
            if !fingerprints.iter().any(|(other, _)| other.equals(bits)) {
                fingerprints.push((bits, column.map_or(RowValue::Expression(fingerprint), RowValue::Column)));
            }
        }
    }
    fingerprints.into_iter().map(|(_, fingerprint)| fingerprint).collect()
}

/// If the source is a fingerprint, the source. If it is a column of another type, the indexed fingerprints that are
/// made from the column. Otherwise none.
fn named_fingerprints(table: &Relation, source: Expression) -> Result<Vec<RowValue>> {
    if let Some(fingerprint) = as_fingerprint(table, source)? {
        return Ok(vec![fingerprint]);
    }
    let Some(column) = source.as_own_column().and_then(|column| Column::at(table, column)) else {
        return Ok(Vec::new());
    };
    let is_of_column = |computation| is_made_from(table, &column, computation);
    let mut fingerprints = indexed_fingerprints(table);
    fingerprints.retain(|fingerprint| fingerprint.computation(table).is_some_and(is_of_column));
    Ok(fingerprints)
}

/// The generated column whose value is this text; None if there is none.
fn generated_column_of(table: &Relation, text: Expression) -> Option<Expression> {
    let text = with_plain_columns(table, text);
    let has_text = |column: &Column| column.generation(table).and_then(as_text).is_some_and(|own| own.equals(text));
    Column::all(table).find(has_text)?.as_variable()
}

/// The first column of texts, for a hint.
fn first_text_column(table: &Relation) -> Option<Expression> {
    Column::all(table).filter_map(|column| column.as_variable()).find(|column| as_text(*column).is_some())
}

/// The error for a table without indexes for the criterion on the source `named`; on any source if None.
/// `fingerprinted_text` is the text that an indexed fingerprint is made from.
fn not_indexed(
    table: &Relation,
    named: Option<Expression>,
    fingerprinted_text: Option<Expression>,
    asked: &AskedCriterion,
) -> Result<ErrorReport> {
    const OR_BY_DISTANCE: &str = "or let the distance of the fingerprints decide, by {\"resemblance\": null}";
    if asked.is_for_fingerprints()
        || fingerprinted_text.is_none() && named.is_some_and(|named| as_text(named).is_none())
    {
        return Ok(no_index(table, asked.for_fingerprints()?));
    }
    let to_sql = |source: Expression| source_sql(table, source);
    if let Some(text) = fingerprinted_text
        && !indexed_texts(table, Some(text))?.is_empty()
    {
        let (named_sql, text_sql) = (named.map_or(Ok("the source".to_owned()), to_sql)?, to_sql(text)?);
        let message =
            format!("{named_sql} in table \"{}\" is a fingerprint, and the criterion is for texts", table.name()?);
        let hint = format!("Name the text as the source, {text_sql}, whose bands are indexed; {OR_BY_DISTANCE}.");
        return Ok(wrong_state(message).with_hint(hint));
    }
    let (source, guarded) = (fingerprinted_text.or(named).or(first_text_column(table)), asked.for_texts("{}")?);
    let sql = source.map_or(Ok("...".to_owned()), to_sql)?;
    let error = too_few_bands(table, &sql, None, &guarded)?;
    if fingerprinted_text.is_none() {
        return Ok(error);
    }
    Ok(error.with_hint(format!("Run {}, {OR_BY_DISTANCE}.", index_call_sql(table, &sql, &guarded)?)))
}

/// The error for partitions that are indexed in different ways.
fn disagreement(
    [(first, first_source), (other, other_source)]: [(&Relation, &(String, GuardCriterion)); 2],
) -> Result<ErrorReport> {
    let shown = |(source, criterion): &(String, GuardCriterion)| match criterion {
        GuardCriterion::Texts(texts) => format!("{source} with the options {}", shown_literal(&texts.options_json())),
        GuardCriterion::Distance(_) => source.clone(),
    };
    let message = format!("partitions \"{}\" and \"{}\" are indexed in different ways", first.name()?, other.name()?);
    let (shown_first, shown_other) = (shown(first_source), shown(other_source));
    Ok(user_error(PgSqlErrorCode::ERRCODE_AMBIGUOUS_COLUMN, message)
        .with_detail(format!("The first is indexed on {shown_first}, and the other one on {shown_other}."))
        .with_hint(
            "Index them alike, by simhash_index of the partitioned table; or name the source, and the options in the \
             criterion.",
        ))
}

/// The error for a table on which several sources are indexed, if the user names none.
fn ambiguous(table: &Relation, choices: &[String]) -> Result<ErrorReport> {
    let message = format!("table \"{}\" has indexes on several sources", table.name()?);
    Ok(user_error(PgSqlErrorCode::ERRCODE_AMBIGUOUS_COLUMN, message)
        .with_detail(format!("Indexed are {}.", choices.join(", ")))
        .with_hint("Name one of these as source."))
}
