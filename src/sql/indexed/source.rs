//! The column from which a table's fingerprints are made, or that stores them.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use pgrx::spi::{quote_identifier, quote_literal};
use postgres::catalog::column::Column;
use postgres::catalog::generation::{generation_sql, lock_generation_names};
use postgres::catalog::relation::Relation;
use postgres::catalog::target::Target;
use postgres::error::user_error;
use postgres::expression::Expression;
use postgres::json::{RawJsonb, to_json_text};
use simhash::fingerprint::options::Options;

use super::bits::{Bits, FINGERPRINT_BITS};
use super::fingerprint_column::check_is_stored;
use super::recognise::FingerprintCall;
use crate::sql::fingerprint::options::{OptionsDocument, read_options};
use crate::sql::functions::ExtensionSchema;

/// The kinds of source columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// `bigint`: the fingerprints themselves, made by the application.
    Fingerprints,
    /// `bit(64)`: fingerprints as bit strings.
    BitStrings,
    /// Fingerprints as hexadecimal digits: `text`, or a type with an implicit cast to it.
    Hex,
    /// `text`, or a type with an implicit cast to it.
    Text,
    /// `text[]`: features.
    Features,
    /// `tsvector`.
    Tsvector,
}

impl SourceKind {
    /// The kind of a column, by its type. [`SourceKind::Hex`] depends on the options instead.
    fn of(column: &Column) -> Option<Self> {
        let column_type = column.data_type;

        // SAFETY: look-ups in system caches; each pointer points to one type, as the count says.
        let becomes = |to: pg_sys::Oid| unsafe {
            pg_sys::can_coerce_type(1, &column_type, &to, pg_sys::CoercionContext::COERCION_IMPLICIT)
        };
        // SAFETY: a look-up in a system cache.
        match unsafe { pg_sys::getBaseType(column_type) } {
            pg_sys::INT8OID => Some(Self::Fingerprints),
            pg_sys::TSVECTOROID => Some(Self::Tsvector),
            pg_sys::BITOID => (column.as_variable()?.bit_length()? == FINGERPRINT_BITS).then_some(Self::BitStrings),
            _ if becomes(pg_sys::TEXTOID) => Some(Self::Text),
            _ if becomes(pg_sys::TEXTARRAYOID) => Some(Self::Features),
            _ => None,
        }
    }

    /// Whether the column stores fingerprints.
    pub fn is_fingerprint(self) -> bool {
        matches!(self, Self::Fingerprints | Self::BitStrings | Self::Hex)
    }

    /// The type of the column's values in the expression of the fingerprint, and its name.
    fn argument(self) -> (pg_sys::Oid, &'static str) {
        match self {
            Self::Fingerprints => (pg_sys::INT8OID, "pg_catalog.int8"),
            Self::BitStrings => (pg_sys::BITOID, "pg_catalog.bit"),
            Self::Hex | Self::Text => (pg_sys::TEXTOID, "pg_catalog.text"),
            Self::Features => (pg_sys::TEXTARRAYOID, "pg_catalog.text[]"),
            Self::Tsvector => (pg_sys::TSVECTOROID, "pg_catalog.tsvector"),
        }
    }
}

/// The options for a column of hexadecimal digits, as `jsonb` prints them.
const IS_HEX: &str = r#"{"source": "hex"}"#;

/// A source column, and how to fingerprint it.
pub struct Source {
    pub column: String,
    pub kind: SourceKind,
    pub is_generated: bool,
    options: Options,
    /// The options as JSON; None if they are the defaults.
    options_json: Option<String>,
    /// The source as SQL: the column, or a generated column's own expression.
    argument: String,
}

impl Source {
    /// Finds the column. An error if it cannot be fingerprinted.
    pub fn read(table: &Target, column: String, options: Option<RawJsonb<'_>>) -> Result<Self, ErrorReport> {
        let relation = table.open();
        let found = Column::named(&relation, &column)?;
        let mut kind = SourceKind::of(&found).ok_or_else(|| {
            let message = format!("column \"{column}\" of type {} cannot be fingerprinted", found.type_name());
            user_error(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, message).set_hint(
                "A source is text or of a type with an implicit cast to text, text[], tsvector, or a bigint or bit(64) \
                 that holds fingerprints.",
            )
        })?;
        if kind == SourceKind::Fingerprints {
            check_is_stored(&relation, &found)?;
        }
        if options.is_some() && kind != SourceKind::Text {
            let message = format!("column \"{column}\" of type {} takes no options", found.type_name());
            return Err(user_error(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message)
                .set_detail("Options say how the features of a text are made."));
        }
        let (options, options_json) = match options {
            None => (Options::default(), None),
            Some(document) => {
                // SAFETY: an argument or a constant of type jsonb.
                let json = unsafe { to_json_text(document) }?;
                if json == IS_HEX {
                    kind = SourceKind::Hex;
                    (Options::default(), None)
                } else {
                    let options = read_options(OptionsDocument::Jsonb(document))?;
                    let is_default = options == Options::default();
                    (options, (!is_default).then_some(json))
                }
            }
        };
        let argument = as_argument(table, &found, kind)?;
        Ok(Self { column, kind, is_generated: found.is_generated, options, options_json, argument })
    }

    /// The options as JSON; None if they are the defaults.
    pub fn options_json(&self) -> Option<&str> {
        self.options_json.as_deref()
    }

    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The source as SQL: the column, or a generated column's own expression.
    pub fn argument(&self) -> &str {
        &self.argument
    }

    /// The SQL expression of the fingerprint, for statements of this transaction.
    pub fn fingerprint_sql(&self, schema: ExtensionSchema) -> Result<String, ErrorReport> {
        if self.kind == SourceKind::Fingerprints {
            return Ok(self.argument.clone());
        }
        if self.kind == SourceKind::BitStrings {
            return Ok(format!("CAST({} AS pg_catalog.int8)", self.argument));
        }
        if self.kind == SourceKind::Hex {
            let function = schema.locked_name(c"simhash_from_hex", &[pg_sys::TEXTOID])?;
            return Ok(format!("{function}({})", self.argument));
        }
        let options = match &self.options_json {
            Some(json) => format!(", {}::pg_catalog.jsonb", quote_literal(json)),
            None => String::new(),
        };
        let (text, arguments) = (self.kind.argument().0, [self.kind.argument().0, pg_sys::JSONBOID]);
        let arguments = if options.is_empty() { &[text][..] } else { &arguments };
        Ok(format!("{}({}{options})", schema.locked_name(c"simhash", arguments)?, self.argument))
    }

    /// Whether an expression computes the fingerprint of the source column in `relation`, which may be an inheritor.
    pub fn is_fingerprint(
        &self,
        schema: ExtensionSchema,
        relation: &Relation,
        expression: Expression,
    ) -> Result<bool, ErrorReport> {
        let Some(argument) = self.argument_tree(relation)? else {
            return Ok(false);
        };
        let bits = match self.kind {
            SourceKind::Fingerprints => Bits::Bigint(argument),
            SourceKind::BitStrings => Bits::BitString(argument.without_relabelling()),
            SourceKind::Hex => Bits::Hex { digits: argument, bigint: expression },
            SourceKind::Text | SourceKind::Features | SourceKind::Tsvector => {
                let expected = FingerprintCall { source: argument, options: self.options.clone() };
                return Ok(FingerprintCall::read(expression, schema).is_some_and(|call| call.equals(&expected)));
            }
        };
        Ok(Bits::of_bigint(expression).equals(bits))
    }

    /// The argument as an expression tree, as the parser would build it.
    fn argument_tree(&self, relation: &Relation) -> Result<Option<Expression>, ErrorReport> {
        let Some(column) = Column::find(relation, &self.column)? else {
            return Ok(None);
        };
        let source = column.generation(relation).or_else(|| column.as_variable());
        Ok(source.and_then(|source| source.coerced_to(self.kind.argument().0)))
    }
}

/// The column as an SQL expression of the function's argument type. A generated column is replaced by its own
/// expression, because another generated column cannot refer to it.
fn as_argument(table: &Target, column: &Column, kind: SourceKind) -> Result<String, ErrorReport> {
    let (argument_type, argument_type_name) = kind.argument();
    let mut argument = quote_identifier(column.name()?);
    if column.is_generated {
        if column.type_modifier >= 0 {
            let message = format!(
                "generated column \"{}\" of type {} cannot be fingerprinted",
                column.name()?,
                column.type_name()
            );
            return Err(user_error(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message)
                .set_detail("Its expression is used in its place, and does not include the limit.")
                .set_hint("Name the column that it is computed from, or change its type to one without a limit."));
        }
        lock_generation_names(table, column)?;
        argument = generation_sql(table, column)?.unwrap_or_default();
        argument = format!("CAST({argument} AS {})", column.type_name());
    }
    if column.data_type != argument_type {
        argument = format!("CAST({argument} AS {argument_type_name})");
    }
    Ok(argument)
}

/// The call of `simhash_block`, under the name `function`, for a block of the fingerprint in a column.
pub fn block_sql(function: &str, column: &Column, block: i32, blocks: i32) -> Result<String, ErrorReport> {
    Ok(format!("{function}({}, {block}, {blocks})", as_bigint(column)?))
}

/// A column as an argument of type `bigint`. With exact argument types, a call resolves to our function, whatever other
/// functions have its name.
pub fn as_bigint(column: &Column) -> Result<String, ErrorReport> {
    let name = quote_identifier(column.name()?);
    Ok(if column.data_type == pg_sys::INT8OID { name } else { format!("CAST({name} AS pg_catalog.int8)") })
}
