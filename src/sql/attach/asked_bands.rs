//! The indexes on the bands of a text that a call of `simhash_index` asks for.

use postgres::catalog::index::Index;
use postgres::catalog::target::Target;
use postgres::error::Result;
use simhash::fingerprint::bands::DEFAULT_BANDS;

use super::text::Text;
use crate::sql::fingerprint::options::laid_over;
use crate::sql::functions::ExtensionSchema;
use crate::sql::indexed::scope::Scope;
use crate::sql::indexed::source::shown_literal;
use crate::sql::lookup::band_indexes::BandIndex;

/// The indexes on the bands of a text that the user asks for.
pub struct BandIndexes<'a> {
    pub schema: ExtensionSchema,
    pub text: Text,
    pub bands: usize,
    pub scope: &'a Scope,
    /// The qualified, quoted names of the functions.
    pub band_function: String,
    pub size_function: String,
}

impl BandIndexes<'_> {
    /// The indexes of a table, valid or not, that serve searches by a band within the scope, with their bands.
    pub fn of_table(&self, table: &Target) -> Result<Vec<(usize, Index)>> {
        let relation = table.open();
        let Some(scope) = self.scope.attnums(&relation)? else { return Ok(Vec::new()) };
        let text = self.text.in_table(&relation)?;
        let indexes = Index::all(&relation).chain(Index::dying(&relation)?).filter_map(|index| {
            let BandIndex { call, scope: own_scope, has_own_equality, is_partial, .. } =
                BandIndex::read(&relation, &index)?;
            let is_wanted = call.schema == self.schema
                && call.is_of(text, &self.text.options.meaning)
                && call.band < self.bands
                && own_scope == scope
                && has_own_equality
                && !is_partial;
            is_wanted.then_some((call.band, index))
        });
        Ok(indexes.collect())
    }

    /// The keys of the index on a band.
    pub fn keys(&self, band: usize) -> String {
        let Self { text, band_function, size_function, .. } = self;
        let (sql, options) = (&text.sql, text.options.sql());
        self.scope
            .keys([format!("{band_function}({sql}, {band}{options})"), format!("{size_function}({sql}{options})")])
    }

    /// A condition that the indexes serve, for users.
    pub fn condition(&self) -> Result<String> {
        let own = if self.bands < DEFAULT_BANDS { format!(r#"{{"bands": {}}}"#, self.bands) } else { "{}".to_owned() };
        let criterion = match laid_over(&own, self.text.options.json.as_deref().unwrap_or("{}"))? {
            empty if empty == "{}" => String::new(),
            criterion => format!(", {}", shown_literal(&criterion)),
        };
        Ok(format!("{}simhash_near({}, $1{criterion})", self.scope.condition(), self.text.written))
    }
}
