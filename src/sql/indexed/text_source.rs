//! The text that the fingerprints of a column are made from.

use pgrx::pg_sys;
use postgres::catalog::column::Column;
use postgres::catalog::relation::Relation;
use postgres::expression::Expression;
use simhash::fingerprint::options::Options;

use super::recognise::FingerprintCall;
use crate::sql::functions::ExtensionSchema;

/// The text that a table's fingerprints are made from, and the options that they are made with.
pub struct TextSource {
    /// An expression of type `text` over the table's columns, in the current memory context.
    pub expression: Expression,
    pub options: Options,
}

impl TextSource {
    /// The source of a fingerprint column: the argument of `simhash` in its generation expression. None if it is not
    /// made from a text.
    pub fn of_column(table: &Relation, fingerprint: &Column, schema: ExtensionSchema) -> Option<Self> {
        let call = FingerprintCall::read(fingerprint.generation(table)?.without_relabelling(), schema)?;
        let is_text = call.source.value_type() == pg_sys::TEXTOID;
        is_text.then(|| Self { expression: call.source, options: call.options })
    }
}
