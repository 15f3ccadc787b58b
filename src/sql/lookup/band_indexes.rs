//! The indexes on bands of a table's texts, as `simhash_index` makes them:
//!
//! ```sql
//! CREATE INDEX ON docs (simhash_band(body, 0), simhash_size(body), simhash(body));     -- .. one for each band
//! ```
//!
//! A search looks up the band and a range of sizes, and compares the fingerprint in each entry, so that it does not
//! fetch the rows of texts that differ too much to be near.
//!
//! An index is recognised by its expressions, whoever has made it, and whatever its name. Columns before the band, such
//! as a tenant's number, are its scope.

use pgrx::pg_sys::Oid;
use postgres::catalog::column::generation_of;
use postgres::catalog::index::{ExpressionForm, Index, IndexKey};
use postgres::catalog::relation::Relation;
use postgres::catalog::row_value::RowValue;
use postgres::error::Result;
use postgres::expression::Expression;
use simhash::fingerprint::bands::MAX_BANDS;
use simhash::fingerprint::options::Options;

use crate::sql::functions::{BAND_ARGUMENTS, ExtensionSchema};
use crate::sql::indexed::layouts::has_default_equality;
use crate::sql::indexed::recognise::{FingerprintCall, constant_options, options_json};

/// `simhash_band(text, band)` or `simhash_band(text, band, options)`, with constant band and options.
#[derive(Clone, Debug)]
pub struct BandCall {
    pub schema: ExtensionSchema,
    /// An expression of the table's columns, in the current memory context.
    pub text: Expression,
    pub band: usize,
    pub options: Options,
    /// The constant that has the options; None if they are not written.
    pub document: Option<Expression>,
}

impl BandCall {
    /// Reads an expression as a band of a text; None if it is not.
    pub fn read(expression: Expression) -> Option<Self> {
        let (function, arguments) = expression.call()?;
        let schema = ExtensionSchema::containing(function)?;
        if schema.function(c"simhash_band", BAND_ARGUMENTS) != Some(function) {
            return None;
        }
        let (&[text, band], document) = arguments.split_first_chunk()?;
        let document = document.first().copied();
        let options = constant_options(document)?;
        let band = usize::try_from(band.value::<i32>()?).ok().filter(|band| *band < MAX_BANDS)?;
        Some(Self { schema, text, band, options, document })
    }

    /// Whether these are bands by the option `same`: texts share one only if they have, for example, the same numbers.
    pub fn has_same(&self) -> bool {
        !self.options.same.is_nothing()
    }

    /// The options as JSON, as they are written; `{}` if none are written.
    pub fn options_json(&self) -> Result<String> {
        options_json(self.document)
    }

    /// Whether the call is of this text and these options.
    pub fn is_of(&self, text: Expression, options: &Options) -> bool {
        self.options == *options && self.text.without_relabelling().equals(text.without_relabelling())
    }
}

/// An index on a band, the size and the fingerprint of a text.
#[derive(Clone, Debug)]
pub struct BandIndex {
    pub oid: Oid,
    pub call: BandCall,
    /// The band as the index has it: an expression, or a stored generated column.
    pub key: RowValue,
    /// The columns that are keys before the band.
    pub scope: Vec<i16>,
    /// Whether the index compares the columns of the scope as their types and collations do.
    pub has_default_equality: bool,
    /// Whether the index has a predicate, which leaves out rows.
    pub is_partial: bool,
}

impl BandIndex {
    /// Reads an index; None if it is not on a band, the size and the fingerprint of one text.
    pub fn read(table: &Relation, index: &Index) -> Option<Self> {
        let computation = |key: &IndexKey| key.value.computation(table);
        let read_band = |(position, key)| Some((position, BandCall::read(computation(key)?)?));
        let (position, call) = index.keys.iter().enumerate().find_map(read_band)?;
        let scope = index.keys[..position].iter().map(|key| key.value.column()).collect::<Option<Vec<_>>>()?;
        let [band, size, fingerprint] = index.keys.get(position..)?.first_chunk()?;
        if !band.is_integer || !size.is_integer {
            return None;
        }
        let size = FingerprintCall::read_size(computation(size)?, call.schema)?;
        let fingerprint = FingerprintCall::read(computation(fingerprint)?, call.schema)?;
        let has_default_equality = has_default_equality(table, index, &scope);
        let is_of_text = [size, fingerprint].iter().all(|key| key.is_equivalent_to(call.text, &call.options));
        let (oid, is_partial) = (index.oid, index.is_partial);
        is_of_text.then_some(Self { oid, call, key: band.value, scope, has_default_equality, is_partial })
    }

    /// The attnum of the fingerprint in the index.
    pub fn fingerprint_attnum(scope_len: usize) -> i16 {
        scope_len as i16 + 3
    }

    /// Whether this index, read as [`ExpressionForm::Planned`], is on bands of a text of a query, as
    /// [`Expression::as_stored`] returns it. A generated column and its expression are the same text.
    pub fn is_of_text(&self, table: &Relation, text: Expression) -> bool {
        // PostgreSQL has folded the constants of the query, and those of indexes.
        let generation = |column| generation_of(table, column).map(Expression::with_folded_constants);
        let computation = |text: Expression| {
            let text = text.without_relabelling();
            text.as_own_column().and_then(generation).map_or(text, Expression::without_relabelling)
        };
        computation(self.call.text).equals(computation(text))
    }
}

/// The usable ones of these indexes that are on bands.
pub fn band_indexes(
    table: &Relation,
    indexes: impl IntoIterator<Item = Relation>,
    form: ExpressionForm,
) -> Vec<BandIndex> {
    let usable = indexes.into_iter().filter_map(|index| Index::read_usable(&index, form));
    usable.filter_map(|index| BandIndex::read(table, &index)).collect()
}

/// Indexes on the first bands of a text by the same options, one each.
#[derive(Clone, Debug, PartialEq)]
pub struct Bands {
    /// Whether these are bands by the option `same`, which fewer texts share.
    pub has_same: bool,
    /// The columns that are keys before the bands.
    pub scope: Vec<i16>,
    /// By the bands' numbers, from 0 on. A search for near texts needs as many as its criterion has bands.
    pub indexes: Vec<Oid>,
}

impl Bands {
    /// For each scope that these indexes have, the first bands that are indexed within it. The indexes have bands for
    /// the same criterion.
    pub fn of<'a>(indexes: impl Iterator<Item = &'a BandIndex>) -> Vec<Self> {
        let mut sorted: Vec<_> = indexes.collect();
        let group_key = |index: &&'a BandIndex| (index.call.has_same(), &index.scope);
        sorted.sort_by_key(|index| (group_key(index), index.call.band));
        let first_bands = |indexes: &[&'a BandIndex]| {
            let (has_same, scope) = group_key(&indexes[0]);
            let mut bands = Self { has_same, scope: scope.clone(), indexes: Vec::new() };
            for index in indexes {
                if index.call.band == bands.indexes.len() {
                    bands.indexes.push(index.oid);
                }
            }
            bands
        };
        let all = sorted.chunk_by(|one, other| group_key(one) == group_key(other)).map(first_bands);
        all.filter(|bands| !bands.indexes.is_empty()).collect()
    }
}
