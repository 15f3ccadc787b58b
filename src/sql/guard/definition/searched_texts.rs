//! The indexes by which a guard looks up texts: one on each of the bands that its criterion has.

use pgrx::PgSqlErrorCode;
use pgrx::pg_sys::Oid;
use pgrx::spi::quote_literal;
use postgres::catalog::index::KeyExpressions;
use postgres::catalog::relation::Relation;
use postgres::error::{ErrorReport, Result, sendable, user_error};
use postgres::expression::Expression;
use simhash::criterion::TextCriterion;
use simhash::fingerprint::bands::DEFAULT_BANDS;
use simhash::fingerprint::options::Options;

use super::criterion::GuardedTexts;
use super::scope::GuardScope;
use super::source::{computed, source_sql};
use crate::sql::indexed::source::shown_literal;
use crate::sql::lookup::band_indexes::{BandIndex, Bands, band_indexes};

pub struct SearchedTexts {
    pub near: TextCriterion,
    pub options: Options,
    /// The positions, in the guard's scope, of the columns that the indexes have before the band.
    pub before: Vec<usize>,
    /// The indexes by the numbers of their bands.
    pub indexes: Vec<Oid>,
}

impl SearchedTexts {
    /// Finds the indexes of a table. Of several scopes, it takes the one with the most columns.
    pub fn read(table: &Relation, text: Expression, scope: &GuardScope, guarded: &GuardedTexts) -> Result<Self> {
        let GuardedTexts { near, options, .. } = guarded;
        let of_text = indexed_bands(table, Some(text));
        let of_options: Vec<_> =
            of_text.iter().filter(|index| index.call.options.makes_same_fingerprints(options)).collect();
        let columns: Vec<_> = scope.columns().collect();
        let is_within = |index: &&&BandIndex| index.scope.iter().all(|column| columns.contains(column));
        let bands = Bands::of(of_options.iter().filter(is_within).copied());
        let served = bands.iter().filter(|bands| bands.indexes.len() >= near.bands);
        if let Some(served) = served.max_by_key(|bands| bands.scope.len()) {
            let position = |column: &i16| columns.iter().position(|own| own == column);
            let before = served.scope.iter().filter_map(position).collect();
            let indexes = served.indexes[..near.bands].to_vec();
            return Ok(Self { near: *near, options: options.clone(), before, indexes });
        }
        let source = source_sql(table, text)?;
        Err(match (of_text.first(), of_options.first(), bands.iter().map(|bands| bands.indexes.len()).max()) {
            (None, ..) => no_bands(table, &source, near.bands)?,
            (Some(index), None, _) => other_options(table, &source, &index.call.options_json()?)?,
            (_, Some(_), None) => other_scope(table, &source)?,
            (_, Some(index), Some(most)) => too_few(table, &source, [most, near.bands], &index.call.options_json()?)?,
        })
    }
}

/// The valid, whole indexes of a table on the bands of a text; None for any text.
pub fn indexed_bands(table: &Relation, text: Option<Expression>) -> Vec<BandIndex> {
    let plain = |text: Expression| computed(table, text.without_relabelling()).without_relabelling();
    let text = text.map(plain);
    let is_wanted = |index: &BandIndex| {
        let is_of_text = text.is_none_or(|text| plain(index.call.text).equals(text));
        is_of_text && !index.is_partial && index.has_own_equality
    };
    let found = band_indexes(table, table.open_indexes(), KeyExpressions::Stored);
    found.into_iter().filter(is_wanted).collect()
}

const DETAIL: &str = "The guard looks up every new row in valid btrees on the bands of its text, one for each band.";

/// The error for a text whose bands are not indexed.
pub fn no_bands(table: &Relation, source: &str, bands: usize) -> Result<ErrorReport> {
    let name = table.name()?;
    Ok(unserved(format!("table \"{name}\" has no index on the bands of {source}"))
        .set_detail(DETAIL)
        .set_hint(format!("Run {}.", index_call(&name, source, None, bands))))
}

/// The error for a text whose bands are indexed with other options than the guard's.
pub fn other_options(table: &Relation, source: &str, options: &str) -> Result<ErrorReport> {
    let name = table.name()?;
    Ok(unserved(format!("the indexes of table \"{name}\" on the bands of {source} have other options than the guard"))
        .set_detail("By other options, texts have other bands, and the guard would not find them.")
        .set_hint(sendable(format!(
            "The options of the indexes are {}. Leave them out of the criterion, or run simhash_index with the others.",
            shown_literal(options)
        ))))
}

fn other_scope(table: &Relation, source: &str) -> Result<ErrorReport> {
    let name = table.name()?;
    Ok(unserved(format!("table \"{name}\" has no index on the bands of {source} that serves the guard's scope"))
        .set_detail("Columns before the band must be in the guard's scope.")
        .set_hint("Add these columns to the guard's scope, or run simhash_index with the guard's scope."))
}

fn too_few(table: &Relation, source: &str, [most, bands]: [usize; 2], options: &str) -> Result<ErrorReport> {
    let name = table.name()?;
    let some = if most == 1 { "the first band" } else { &format!("the first {most} bands") };
    Ok(unserved(format!("table \"{name}\" has indexes on {some} of {source}, and the guard needs {bands}"))
        .set_detail(DETAIL)
        .set_hint(format!(
            "Run {}, or give the criterion fewer \"bands\".",
            index_call(&name, source, Some(options), bands)
        )))
}

/// The error for a source that is not a text, under a criterion for texts.
pub fn not_a_text(table: &Relation) -> ErrorReport {
    let name = table.name().unwrap_or_default();
    let message = format!("the source of a guard of table \"{name}\" is not a text");
    user_error(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, message)
        .set_detail("By its criterion, the guard compares texts.")
        .set_hint("For fingerprints, give {\"resemblance\": null}.")
}

fn unserved(message: String) -> ErrorReport {
    user_error(PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message)
}

/// The call that makes the missing indexes, for users.
pub fn index_call(table: &str, source: &str, options: Option<&str>, bands: usize) -> String {
    let options = options.filter(|options| *options != "{}").map(shown_literal);
    let named = match (options, bands) {
        (None, DEFAULT_BANDS) => String::new(),
        (None, bands) => format!(", bands => {bands}"),
        (Some(options), bands) => format!(", {options}, {bands}"),
    };
    sendable(format!("simhash_index({}, {}{named})", quote_literal(table), quote_literal(source)))
}
