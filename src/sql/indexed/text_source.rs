//! The text that the fingerprints of a column are made from.

use pgrx::pg_sys;
use pgrx::pg_sys::panic::ErrorReport;
use postgres::catalog::column::Column;
use postgres::catalog::relation::Relation;
use postgres::expression::Expression;
use simhash::fingerprint::options::Options;

use super::recognise::FingerprintCall;
use super::source::SourceKind;
use super::update_trigger::{UpdateTrigger, kind_of_stored};
use crate::sql::functions::ExtensionSchema;

/// The text that a table's fingerprints are made from, and the options that they are made with.
pub struct TextSource {
    /// An expression of type `text` over the table's columns, in the current memory context.
    pub expression: Expression,
    pub options: Options,
}

impl TextSource {
    /// The source of a fingerprint column. For a generated column, it is the argument of `simhash` in its expression;
    /// for a plain column, the source of the first trigger `simhash_update` that maintains it. None if the source is
    /// not a text.
    pub fn of_column(
        table: &Relation,
        fingerprint: &Column,
        schema: ExtensionSchema,
    ) -> Result<Option<Self>, ErrorReport> {
        if let Some(generation) = fingerprint.generation(table) {
            let call = FingerprintCall::read(generation.without_relabelling(), schema);
            let of_text = call.filter(|call| call.source.value_type() == pg_sys::TEXTOID);
            return Ok(of_text.map(|call| Self { expression: call.source, options: call.options }));
        }
        let Some(trigger) = UpdateTrigger::of_column(schema, table, &fingerprint.name()?)? else { return Ok(None) };
        let source = Column::find(table, &trigger.source)?;
        let source = source.filter(|source| kind_of_stored(source.data_type) == Some(SourceKind::Text));
        let expression = source.and_then(|source| source.as_variable()?.coerced_to(pg_sys::TEXTOID));
        let options = trigger.options()?;
        Ok(expression.map(|expression| Self { expression, options }))
    }
}
