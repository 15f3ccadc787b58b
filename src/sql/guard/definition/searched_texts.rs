//! The indexes by which a guard looks up texts: one on each of the bands that its criterion has.

use pgrx::pg_sys::Oid;
use pgrx::spi::{quote_identifier, quote_literal, quote_qualified_identifier};
use postgres::catalog::column::Column;
use postgres::catalog::index::ExpressionForm;
use postgres::catalog::names::schema_name;
use postgres::catalog::relation::Relation;
use postgres::error::{ErrorReport, Explain, Result, wrong_state};
use postgres::expression::Expression;
use simhash::criterion::TextCriterion;
use simhash::fingerprint::bands::DEFAULT_BANDS;
use simhash::fingerprint::options::Options;

use super::criterion::GuardedTexts;
use super::scope::GuardScope;
use super::source::{source_sql, with_plain_columns};
use crate::sql::indexed::source::shown_literal;
use crate::sql::lookup::band_indexes::{BandIndex, Bands, band_indexes};

/// How a guard looks up and compares the texts of a table. All its indexes have the same leading columns.
pub struct SearchedTexts {
    pub criterion: TextCriterion,
    pub options: Options,
    /// The positions, in the guard's scope, of the leading columns: those that the indexes have before the band.
    pub leading_scope_positions: Vec<usize>,
    /// The indexes, in the order of their bands.
    pub indexes: Vec<Oid>,
    /// Whether the indexes are on bands by the option `same`.
    pub has_same: bool,
}

impl SearchedTexts {
    /// Finds the indexes of a table. Prefers indexes on bands by the option `same`, because fewer texts share these
    /// bands; then those with the most leading columns.
    pub fn read(table: &Relation, text: Expression, scope: &GuardScope, guarded: &GuardedTexts) -> Result<Self> {
        let &GuardedTexts { criterion, ref options, .. } = guarded;
        let all = usable_band_indexes(table, Some(text));
        let fitting: Vec<_> = all.iter().filter(|index| index.call.options.has_bands_for(options)).collect();
        let in_scope: Vec<_> =
            fitting.iter().copied().filter(|index| scope.positions(&index.scope).is_some()).collect();
        let usable = Bands::of(in_scope.iter().copied());
        let sufficient = usable.iter().filter(|bands| bands.indexes.len() >= criterion.bands);
        if let Some(best) = sufficient.max_by_key(|bands| (bands.has_same, bands.scope.len()))
            && let Some(leading_scope_positions) = scope.positions(&best.scope)
        {
            let indexes = best.indexes[..criterion.bands].to_vec();
            let (options, has_same) = (options.clone(), best.has_same);
            return Ok(Self { criterion, options, leading_scope_positions, indexes, has_same });
        }
        let source = source_sql(table, text)?;
        let indexed = match (&all[..], &fitting[..], &in_scope[..]) {
            ([], ..) => None,
            ([other, ..], [], _) => return Err(other_options(table, &source, &other.call.options_json()?)?),
            (_, [other, ..], []) => return Err(other_scope(table, &source, &other.scope)?),
            _ => Some(usable.iter().map(|bands| bands.indexes.len()).max().unwrap_or(0)),
        };
        Err(too_few_bands(table, &source, indexed, guarded)?)
    }
}

/// The indexes of a table on the bands of this text, or of any text if it is None, by which a guard can look up rows:
/// they are valid, not partial, and compare as their columns' types do.
pub fn usable_band_indexes(table: &Relation, text: Option<Expression>) -> Vec<BandIndex> {
    // A generated column's expression may have a relabelling of its own.
    let to_plain = |text: Expression| with_plain_columns(table, text.without_relabelling()).without_relabelling();
    let text = text.map(to_plain);
    let is_wanted = |index: &BandIndex| {
        let is_of_text = text.is_none_or(|text| to_plain(index.call.text).equals(text));
        is_of_text && !index.is_partial && index.has_default_equality
    };
    let indexes = band_indexes(table, table.open_indexes(), ExpressionForm::Stored);
    indexes.into_iter().filter(is_wanted).collect()
}

/// The error for a text of which too few bands are indexed: only the first `indexed`; 0 if the first one is missing,
/// None if no band is indexed.
pub fn too_few_bands(
    table: &Relation,
    source: &str,
    indexed: Option<usize>,
    guarded: &GuardedTexts,
) -> Result<ErrorReport> {
    let (name, bands) = (table.name()?, guarded.criterion.bands);
    let message = match indexed {
        None => format!("table \"{name}\" has no index on the bands of {source}"),
        Some(0) => format!("table \"{name}\" has no index on the first band of {source}"),
        Some(1) => format!("table \"{name}\" has an index on the first band of {source}, and the guard needs {bands}"),
        Some(indexed) => format!(
            "table \"{name}\" has indexes on the first {indexed} bands of {source}, and the guard needs {bands}"
        ),
    };
    Ok(wrong_state(message)
        .with_detail(
            "The guard looks up every new row in valid btrees on the bands of its text, one for each band. Columns before \
             the band must be in the guard's scope.",
        )
        .with_hint(format!("Run {}.", index_call_sql(table, source, guarded)?)))
}

/// The error for a text whose bands are indexed with other options than the guard's.
pub fn other_options(table: &Relation, source: &str, options: &str) -> Result<ErrorReport> {
    let name = table.name()?;
    let message = format!("the indexes of table \"{name}\" on the bands of {source} have other options than the guard");
    Ok(wrong_state(message)
        .with_detail("With other options, texts have other bands, and the guard would not find them.")
        .with_hint(format!(
            "The options of the indexes are {}. Give the criterion these, or run simhash_index with its own.",
            shown_literal(options)
        )))
}

/// The error for a text whose bands are indexed within columns that are not in the guard's scope.
fn other_scope(table: &Relation, source: &str, scope: &[i16]) -> Result<ErrorReport> {
    let name = table.name()?;
    let columns = scope.iter().filter_map(|&column| Column::at(table, column));
    let names: Vec<_> = columns.map(|column| Ok(quote_identifier(column.name()?))).collect::<Result<_>>()?;
    let scope_sql = quote_literal(format!("{{{}}}", names.join(",")));
    let message = format!("the indexes of table \"{name}\" on the bands of {source} have a scope that the guard lacks");
    Ok(wrong_state(message)
        .with_detail("Columns before the band must be in the guard's scope.")
        .with_hint(format!("Give the guard scope => {scope_sql}, or run simhash_index without it.")))
}

/// The call that makes the missing indexes, as SQL for users.
pub fn index_call_sql(table: &Relation, source: &str, guarded: &GuardedTexts) -> Result<String> {
    let name = quote_qualified_identifier(schema_name(table.schema())?, table.name()?);
    let mut arguments = vec![quote_literal(name), quote_literal(source)];
    let options = guarded.options_json();
    if options != "{}" {
        arguments.push(shown_literal(&options));
    }
    if guarded.criterion.bands != DEFAULT_BANDS {
        arguments.push(format!("bands => {}", guarded.criterion.bands));
    }
    Ok(format!("simhash_index({})", arguments.join(", ")))
}
