//! The column from which a table's fingerprints are made, or that stores them.

use pgrx::prelude::*;
use pgrx::spi::{quote_identifier, quote_literal};
use postgres::catalog::column::{Column, generation_of};
use postgres::catalog::names::lock_names_in;
use postgres::catalog::relation::Relation;
use postgres::catalog::target::Target;
use postgres::error::{Explain, Result, invalid_parameter, not_supported, user_error, wrong_state};
use postgres::expression::Expression;
use postgres::json::{RawJsonb, to_json_text};
use postgres::query::Query;
use postgres::server_string::to_server_cstring;
use simhash::fingerprint::options::Options;
use simhash::search::blocks::DEFAULT_BLOCKS;

use super::bits::{Bits, FINGERPRINT_BITS};
use super::fingerprint_column::check_is_stored;
use super::recognise::FingerprintCall;
use crate::sql::fingerprint::options::{JsonDocument, read_options};
use crate::sql::functions::{BLOCK_ARGUMENTS, ExtensionSchema};

/// The content of a source column: fingerprints, or the values from which they are made.
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
    Tsvector,
}

impl SourceKind {
    /// The kind of a column, by its type. [`SourceKind::Hex`] depends on the options instead.
    fn of(column: &Column) -> Option<Self> {
        let column_type = column.data_type;
        // SAFETY: look-ups in system caches; each pointer points to one type, as the count says.
        let can_become = |to: pg_sys::Oid| unsafe {
            pg_sys::can_coerce_type(1, &column_type, &to, pg_sys::CoercionContext::COERCION_IMPLICIT)
        };
        // SAFETY: a look-up in a system cache.
        match unsafe { pg_sys::getBaseType(column_type) } {
            pg_sys::INT8OID => Some(Self::Fingerprints),
            pg_sys::TSVECTOROID => Some(Self::Tsvector),
            pg_sys::BITOID => (column.as_variable()?.bit_length()? == FINGERPRINT_BITS).then_some(Self::BitStrings),
            _ if can_become(pg_sys::TEXTOID) => Some(Self::Text),
            _ if can_become(pg_sys::TEXTARRAYOID) => Some(Self::Features),
            _ => None,
        }
    }

    pub fn holds_fingerprints(self) -> bool {
        matches!(self, Self::Fingerprints | Self::BitStrings | Self::Hex)
    }

    /// The type that the column's values have in the expression of the fingerprint, and the name of the type.
    fn argument_type(self) -> (pg_sys::Oid, &'static str) {
        match self {
            Self::Fingerprints => (pg_sys::INT8OID, "pg_catalog.int8"),
            Self::BitStrings => (pg_sys::BITOID, "pg_catalog.bit"),
            Self::Hex | Self::Text => (pg_sys::TEXTOID, "pg_catalog.text"),
            Self::Features => (pg_sys::TEXTARRAYOID, "pg_catalog.text[]"),
            Self::Tsvector => (pg_sys::TSVECTOROID, "pg_catalog.tsvector"),
        }
    }
}

/// Whether a column holds fingerprints, as far as this is known before its table is locked.
pub fn column_holds_fingerprints(table: pg_sys::Oid, column: &str, options: Option<RawJsonb<'_>>) -> Result<bool> {
    let column = to_server_cstring(column)?;
    // SAFETY: look-ups in system caches, which accept any OID and attnum.
    unsafe {
        let column_type = pg_sys::get_atttype(table, pg_sys::get_attnum(table, column.as_ptr()));
        let is_fingerprint = column_type != pg_sys::Oid::INVALID
            && matches!(pg_sys::getBaseType(column_type), pg_sys::INT8OID | pg_sys::BITOID);
        Ok(is_fingerprint || is_hex(options)?)
    }
}

/// Whether these are the options for a column of hexadecimal digits.
fn is_hex(options: Option<RawJsonb<'_>>) -> Result<bool> {
    // SAFETY: an argument of type jsonb.
    let json = options.map(|options| unsafe { to_json_text(options) }).transpose()?;
    // `jsonb` prints the options in this form.
    Ok(json.as_deref() == Some(r#"{"source": "hex"}"#))
}

/// A literal for a command that is shown to users. A long literal is left out: a criterion may have many weights.
pub fn shown_literal(text: &str) -> String {
    const MAX_SHOWN_BYTES: usize = 500;
    quote_literal(if text.len() > MAX_SHOWN_BYTES { "..." } else { text })
}

/// The options of a command, as an argument of the functions in the SQL that it writes.
pub struct WrittenOptions {
    pub parsed: Options,
    /// The options as JSON; None if they are the defaults.
    pub json: Option<String>,
}

impl WrittenOptions {
    /// Reads an argument of type `jsonb`.
    pub fn read(document: Option<RawJsonb<'_>>) -> Result<Self> {
        let Some(document) = document else { return Ok(Self { parsed: Options::default(), json: None }) };
        let parsed = read_options(JsonDocument::Jsonb(document))?;
        // SAFETY: an argument of type jsonb.
        let json = unsafe { to_json_text(document) }?;
        let json = (parsed != Options::default()).then_some(json);
        Ok(Self { parsed, json })
    }

    /// The options as a further argument of a function; empty if they are the defaults.
    pub fn sql(&self) -> String {
        self.json.as_ref().map_or_else(String::new, |json| format!(", {}::pg_catalog.jsonb", quote_literal(json)))
    }
}

/// A source column, and how to fingerprint it.
pub struct Source {
    pub column: String,
    pub kind: SourceKind,
    options: WrittenOptions,
    /// The column, or a generated column's own expression.
    argument_sql: String,
}

impl Source {
    /// Finds the column. An error if it cannot be fingerprinted.
    pub fn read(table: &Target, column: String, options: Option<RawJsonb<'_>>) -> Result<Self> {
        let relation = table.open();
        let attribute = Column::named(&relation, &column)?;
        let Some(kind) = SourceKind::of(&attribute) else {
            let message = format!("column \"{column}\" of type {} cannot be fingerprinted", attribute.type_name()?);
            return Err(user_error(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, message).with_hint(
                "A source is text or of a type with an implicit cast to text, text[], tsvector, or a bigint or bit(64) \
                 that holds fingerprints. For another type, add a stored generated column of one of these.",
            ));
        };
        if kind == SourceKind::Fingerprints {
            check_is_stored(&relation, &attribute)?;
        }
        if options.is_some() && kind != SourceKind::Text {
            let message = format!("column \"{column}\" of type {} takes no options", attribute.type_name()?);
            return Err(invalid_parameter(message).with_detail("Options say how the features of a text are made."));
        }
        let (kind, options) = if is_hex(options)? { (SourceKind::Hex, None) } else { (kind, options) };
        let options = WrittenOptions::read(options)?;
        let argument_sql = argument_sql_of(table, &attribute, kind)?;
        Ok(Self { column, kind, options, argument_sql })
    }

    /// Refuses a partition or inheritor in which the source has another expression: it would get the fingerprints of
    /// the table's expression. PostgreSQL allows other expressions from version 16 on.
    pub fn check_member(&self, table: &Target, member: &Target) -> Result<()> {
        let own_sql = argument_sql_of(member, &Column::named(&member.open(), &self.column)?, self.kind)?;
        if own_sql == self.argument_sql {
            return Ok(());
        }
        let (column, member) = (&self.column, &member.name);
        let message = format!("table \"{member}\" computes \"{column}\" in another way than table \"{}\"", table.name);
        Err(wrong_state(message)
            .with_detail(format!("There it is {own_sql}, and here {}.", self.argument_sql))
            .with_hint("Give the columns the same expression."))
    }

    /// The SQL expression of the fingerprint, for statements of this transaction.
    pub fn fingerprint_sql(&self, schema: ExtensionSchema) -> Result<String> {
        let (argument, options) = (&self.argument_sql, self.options.sql());
        let arguments = [self.kind.argument_type().0, pg_sys::JSONBOID];
        let (name, arguments) = match self.kind {
            SourceKind::Fingerprints => return Ok(argument.clone()),
            SourceKind::BitStrings => return Ok(format!("CAST({argument} AS pg_catalog.int8)")),
            SourceKind::Hex => (c"simhash_from_hex", &arguments[..1]),
            SourceKind::Text => (c"simhash", &arguments[..]),
            SourceKind::Features => (c"simhash_of_features", &arguments[..1]),
            SourceKind::Tsvector => (c"simhash", &arguments[..1]),
        };
        Ok(format!("{}({argument}{options})", schema.locked_name(name, arguments)?))
    }

    /// A condition that the indexes serve, for users. `column` is the column that stores the fingerprint, if one does.
    pub fn condition_sql(&self, column: Option<&str>) -> String {
        let source = quote_identifier(&self.column);
        let fingerprint = match self.kind {
            SourceKind::Fingerprints => source,
            SourceKind::BitStrings => format!("{source}::bigint"),
            SourceKind::Hex => format!("simhash_from_hex({source})"),
            SourceKind::Text | SourceKind::Features | SourceKind::Tsvector => {
                let function = if self.kind == SourceKind::Features { "simhash_of_features" } else { "simhash" };
                let fingerprint = column.map_or(format!("{function}({source})"), quote_identifier);
                let options = self.options.json.as_deref().map(|json| format!(", {}", shown_literal(json)));
                return format!("simhash_near({fingerprint}, {function}($1{}))", options.unwrap_or_default());
            }
        };
        format!("simhash_near({fingerprint}, $1)")
    }

    pub fn block_sql(&self, schema: ExtensionSchema, block: i32, blocks: i32) -> Result<String> {
        let function = schema.locked_name(c"simhash_block", BLOCK_ARGUMENTS)?;
        // Omit the layout if it is the default of `simhash_block`.
        let layout = if blocks == DEFAULT_BLOCKS { String::new() } else { format!(", {blocks}") };
        Ok(format!("{function}({}, {block}{layout})", self.fingerprint_sql(schema)?))
    }

    /// Refuses a fingerprint that PostgreSQL would parse differently: the expression of a generated source may call
    /// functions that PostgreSQL prints by a name that several functions have.
    pub fn check_sql(&self, schema: ExtensionSchema, table: &Target) -> Result<()> {
        let expression = self.fingerprint_sql(schema)?;
        let query = Query::parse(to_server_cstring(&format!("SELECT {expression} FROM ONLY {}", table.sql()?))?)?;
        if query.only_relation() == Some(table.oid)
            && let [expression] = query.output_expressions()[..]
            && self.is_fingerprint(schema, &table.open(), expression)?
        {
            return Ok(());
        }
        Err(not_supported(format!("the expression of generated column \"{}\" cannot be repeated", self.column))
            .with_detail(format!("Parsed again, {expression} calls other functions."))
            .with_hint("Name a column that it is computed from."))
    }

    /// Whether an expression has the fingerprint of the source in a table or inheritor, or is a generated column of it.
    pub fn is_fingerprint(&self, schema: ExtensionSchema, relation: &Relation, expression: Expression) -> Result<bool> {
        let Some(column) = Column::find(relation, &self.column)? else { return Ok(false) };
        let generation = expression.as_own_column().and_then(|column| generation_of(relation, column));
        // A generated source may be named, or its expression repeated.
        let sources = column.generation(relation).into_iter().chain(column.as_variable());
        let mut arguments = sources.filter_map(|source| source.coerced_to(self.kind.argument_type().0));
        Ok(arguments.any(|argument| {
            let mut computations = [expression].into_iter().chain(generation);
            computations.any(|computation| self.is_fingerprint_of(schema, computation, argument))
        }))
    }

    /// Whether an expression makes the fingerprint from this value of the source.
    fn is_fingerprint_of(&self, schema: ExtensionSchema, expression: Expression, argument: Expression) -> bool {
        let bits = match self.kind {
            SourceKind::Fingerprints => Bits::Bigint(argument),
            SourceKind::BitStrings => Bits::BitString(argument.without_relabelling()),
            SourceKind::Hex => Bits::Hex { digits: argument, bigint: expression },
            SourceKind::Text | SourceKind::Features | SourceKind::Tsvector => {
                let call = FingerprintCall::read(expression, schema);
                return call.is_some_and(|call| call.is_of(argument, &self.options.parsed));
            }
        };
        Bits::of_bigint(expression).equals(bits)
    }
}

/// The column as an expression of the type of the function's argument. A generated column, unless it stores
/// fingerprints, is replaced by its expression: no other generated column can refer to it, and no index can have a
/// virtual column.
fn argument_sql_of(table: &Target, column: &Column, kind: SourceKind) -> Result<String> {
    let (argument_type, argument_type_name) = kind.argument_type();
    let mut sql = quote_identifier(column.name()?);
    if column.is_generated && !(kind.holds_fingerprints() && column.is_stored) {
        if column.type_modifier >= 0 {
            let message = format!(
                "generated column \"{}\" of type {} cannot be fingerprinted",
                column.name()?,
                column.type_name()?
            );
            return Err(not_supported(message)
                .with_detail("Its expression is used in its place, and does not include the limit.")
                .with_hint("Name the column that it is computed from, or change its type to one without a limit."));
        }
        let relation = table.open();
        [column.generation(&relation), column.as_variable()].into_iter().flatten().try_for_each(lock_names_in)?;
        sql = format!("CAST({} AS {})", table.generation_sql(column)?.unwrap_or_default(), column.type_name()?);
    }
    if column.data_type != argument_type {
        sql = format!("CAST({sql} AS {argument_type_name})");
    }
    Ok(sql)
}
