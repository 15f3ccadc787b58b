//! The text that fingerprints are made from.

use pgrx::pg_sys;
use postgres::catalog::column::Column;
use postgres::catalog::relation::Relation;
use postgres::error::Result;
use postgres::expression::Expression;
use simhash::fingerprint::options::Options;

use super::recognise::{FingerprintCall, document_json};
use crate::sql::functions::ExtensionSchema;

/// The text that a table's fingerprints or sizes are made from, and the options that they are made with.
pub struct TextSource {
    /// An expression of type `text` over the table's columns, in the current memory context.
    pub expression: Expression,
    pub options: Options,
    /// The constant that has the options; None if they are not written.
    document: Option<Expression>,
}

impl TextSource {
    /// The source of a fingerprint by the expression that computes it: the argument of `simhash`, which may be in a
    /// CASE or COALESCE, as in `CASE WHEN length(body) > 100 THEN simhash(body) END`. None if the fingerprint is not
    /// made from a text, or from several.
    pub fn of(computation: Option<Expression>, schema: ExtensionSchema) -> Option<Self> {
        let calls = computation?.outcomes().into_iter().filter_map(|outcome| FingerprintCall::read(outcome, schema));
        let mut calls = calls.filter(|call| call.source.value_type() == pg_sys::TEXTOID);
        let call = calls.next()?;
        let FingerprintCall { source: expression, options, document } = call.clone();
        calls.all(|other| other.equals(&call)).then_some(Self { expression, options, document })
    }

    pub fn options_json(&self) -> Result<String> {
        document_json(self.document)
    }

    /// The source of a size: the arguments of `simhash_size`, with constant options. None for any other expression.
    pub fn of_size(expression: Expression, schema: ExtensionSchema) -> Option<Self> {
        let FingerprintCall { source: expression, options, document } = FingerprintCall::read_size(expression, schema)?;
        Some(Self { expression, options, document })
    }

    pub fn has_same_sizes(&self, other: &Self) -> bool {
        self.has_sizes_of(other.expression, &other.options)
    }

    /// Whether its sizes are those of a text by these options.
    pub fn has_sizes_of(&self, text: Expression, options: &Options) -> bool {
        self.options.makes_same_fingerprints(options)
            && self.expression.without_relabelling().equals(text.without_relabelling())
    }

    /// The text of a stored row: a generated column, if one stores it, so that nothing is evaluated.
    pub fn of_stored_row(&self, table: &Relation) -> Expression {
        let as_text = |expression: Expression| expression.coerced_to(pg_sys::TEXTOID);
        let has_text = |column: &Column| {
            let generation = column.generation(table).filter(|_| column.is_stored);
            generation.and_then(as_text).is_some_and(|text| text.equals(self.expression))
        };
        let stored = Column::all(table).find(has_text).and_then(|column| as_text(column.as_variable()?));
        stored.unwrap_or(self.expression)
    }
}
