//! The column that a table's fingerprints are made of, or that holds them.

use pgrx::PgRelation;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use pgrx::spi::{quote_identifier, quote_literal};

use super::target::Target;
use crate::simhash::options::Options;
use crate::sql::calls::FingerprintCall;
use crate::sql::error::user_error;
use crate::sql::expression::Expression;
use crate::sql::functions::ExtensionSchema;
use crate::sql::names::{hold, hold_schema};
use crate::sql::options::{Document, RawJsonb, read, to_json_text};
use crate::sql::spi;
use crate::sql::tables::{check_has_values, column_name};

/// What kind of source a column is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `bigint`: the fingerprints themselves, which the application makes.
    Fingerprints,
    /// `text`, or what is text without anybody's asking.
    Text,
    /// `text[]`: features.
    Features,
    /// `tsvector`.
    Document,
}

impl Kind {
    fn of_type(column_type: pg_sys::Oid) -> Option<Self> {
        // SAFETY: look-ups in system caches; one type each.
        let becomes = |to: pg_sys::Oid| unsafe {
            pg_sys::can_coerce_type(1, &column_type, &to, pg_sys::CoercionContext::COERCION_IMPLICIT)
        };
        // SAFETY: a look-up in a system cache.
        match unsafe { pg_sys::getBaseType(column_type) } {
            pg_sys::INT8OID => Some(Self::Fingerprints),
            pg_sys::TSVECTOROID => Some(Self::Document),
            _ if becomes(pg_sys::TEXTOID) => Some(Self::Text),
            _ if becomes(pg_sys::TEXTARRAYOID) => Some(Self::Features),
            _ => None,
        }
    }

    /// The type that `simhash` or `simhash_block` takes, and its name.
    fn argument(self) -> (pg_sys::Oid, &'static str) {
        match self {
            Self::Fingerprints => (pg_sys::INT8OID, "pg_catalog.int8"),
            Self::Text => (pg_sys::TEXTOID, "pg_catalog.text"),
            Self::Features => (pg_sys::TEXTARRAYOID, "pg_catalog.text[]"),
            Self::Document => (pg_sys::TSVECTOROID, "pg_catalog.tsvector"),
        }
    }
}

/// A source column of a table, and how to fingerprint it.
pub struct Source {
    pub column: String,
    pub kind: Kind,
    pub is_generated: bool,
    options: Options,
    /// The options as JSON, unless they are the default ones.
    options_json: Option<String>,
    /// The column, or what stands for it where it cannot be referred to, as an expression of the argument's type.
    argument: String,
}

impl Source {
    /// Finds the column and checks that it can be fingerprinted.
    pub fn read(table: &Target, column: String, options: Option<RawJsonb<'_>>) -> Result<Self, ErrorReport> {
        let relation = table.open();
        let attribute = Attribute::of(&relation, &column)?.ok_or_else(|| no_such_column(&column, table))?;
        let kind = Kind::of_type(attribute.column_type).ok_or_else(|| {
            let message = format!("column \"{column}\" of type {} cannot be fingerprinted", attribute.type_name());
            user_error(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, message).set_hint(
                "A source is text or of a type with an implicit cast to text, text[], tsvector, or a bigint that holds \
                 fingerprints.",
            )
        })?;
        if kind == Kind::Fingerprints {
            check_has_values(&relation, attribute.number)?;
        }
        if options.is_some() && kind != Kind::Text {
            let message = format!("column \"{column}\" of type {} takes no options", attribute.type_name());
            return Err(user_error(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message)
                .set_detail("Options say how the features of a text are made."));
        }
        let (options, options_json) = match options {
            None => (Options::default(), None),
            Some(document) => {
                let options = read(Document::Jsonb(document))?;
                let json = if options == Options::default() { None } else { Some(to_json_text(document)?) };
                (options, json)
            }
        };
        let argument = attribute.as_argument(table, &column, kind)?;
        Ok(Self { column, kind, is_generated: attribute.is_generated, options, options_json, argument })
    }

    /// The options as JSON, unless they are the default ones.
    pub fn options_json(&self) -> Option<&str> {
        self.options_json.as_deref()
    }

    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The column, or its expression, as `simhash` takes it.
    pub fn argument(&self) -> &str {
        &self.argument
    }

    /// The fingerprint as it may stand in a statement of this transaction.
    pub fn fingerprint_sql(&self, schema: ExtensionSchema) -> Result<String, ErrorReport> {
        if self.kind == Kind::Fingerprints {
            return Ok(self.argument.clone());
        }
        let options = match &self.options_json {
            Some(json) => format!(", {}::pg_catalog.jsonb", quote_literal(json)),
            None => String::new(),
        };
        let (text, arguments) = (self.kind.argument().0, [self.kind.argument().0, pg_sys::JSONBOID]);
        let arguments = if options.is_empty() { &[text][..] } else { &arguments };
        Ok(format!("{}({}{options})", schema.held_name(c"simhash", arguments)?, self.argument))
    }

    /// Whether an expression of a table with that column is its fingerprint.
    pub fn is_fingerprint(
        &self,
        schema: ExtensionSchema,
        relation: &PgRelation,
        expression: Expression,
    ) -> Result<bool, ErrorReport> {
        let Some(argument) = self.argument_tree(relation)? else {
            return Ok(false);
        };
        if self.kind == Kind::Fingerprints {
            return Ok(expression.equals(argument));
        }
        let wanted = FingerprintCall { source: argument, options: self.options.clone() };
        Ok(FingerprintCall::of(expression, schema).is_some_and(|call| call.equals(&wanted)))
    }

    /// What the parser makes of the argument.
    fn argument_tree(&self, relation: &PgRelation) -> Result<Option<Expression>, ErrorReport> {
        let Some(attribute) = Attribute::of(relation, &self.column)? else {
            return Ok(None);
        };
        // SAFETY: an open table.
        let generated = unsafe { Expression::of_generated_column(relation.as_ptr(), attribute.number) };
        let source = match generated {
            Some(expression) => expression,
            None => match attribute.as_variable() {
                Some(variable) => variable,
                None => return Ok(None),
            },
        };
        Ok(source.coerced_to(self.kind.argument().0))
    }
}

pub fn no_such_column(column: &str, table: &Target) -> ErrorReport {
    let message = format!("column \"{column}\" of table \"{}\" does not exist", table.name);
    user_error(PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN, message)
}

/// A column as pg_attribute has it.
pub struct Attribute {
    pub number: pg_sys::AttrNumber,
    pub column_type: pg_sys::Oid,
    pub type_modifier: i32,
    collation: pg_sys::Oid,
    pub is_generated: bool,
    pub is_stored: bool,
    /// Whether it is the table's own, be it also inherited.
    pub is_local: bool,
}

impl Attribute {
    /// The column of that name, which is none of the system's.
    pub fn of(relation: &PgRelation, name: &str) -> Result<Option<Self>, ErrorReport> {
        let name = spi::to_server(name)?;
        // SAFETY: a look-up in a system cache; a column that it finds is in the descriptor of the open relation.
        unsafe {
            let number = pg_sys::get_attnum(relation.oid(), name.as_ptr());
            if number <= 0 {
                return Ok(None);
            }
            let descriptor = relation.tuple_desc();
            let Some(attribute) = descriptor.get(number as usize - 1) else {
                return Ok(None);
            };
            Ok(Some(Self {
                number,
                column_type: attribute.atttypid,
                type_modifier: attribute.atttypmod,
                collation: attribute.attcollation,
                is_generated: attribute.attgenerated != 0,
                is_stored: attribute.attgenerated as u8 == pg_sys::ATTRIBUTE_GENERATED_STORED,
                is_local: attribute.attislocal,
            }))
        }
    }

    /// The name of a column of the table.
    pub fn name_of(relation: &PgRelation, number: pg_sys::AttrNumber) -> Result<Option<String>, ErrorReport> {
        // SAFETY: NUL-terminated.
        column_name(relation.oid(), number).map(|name| unsafe { spi::from_server(name.as_ptr()) }).transpose()
    }

    /// A block of the fingerprint that the column holds, computed by the function `simhash_block` of that name.
    pub fn block_sql(&self, function: &str, column: &str, block: i32, blocks: i32) -> String {
        let column = quote_identifier(column);
        // Of the arguments' own types, so that no function but ours is meant, whatever others there are of its name.
        let argument =
            if self.column_type == pg_sys::INT8OID { column } else { format!("CAST({column} AS pg_catalog.int8)") };
        format!("{function}({argument}, {block}, {blocks})")
    }

    pub fn type_name(&self) -> String {
        // SAFETY: a palloc'd, NUL-terminated name.
        unsafe { spi::from_server(pg_sys::format_type_with_typemod(self.column_type, self.type_modifier)) }
            .unwrap_or_default()
    }

    fn as_variable(&self) -> Option<Expression> {
        // SAFETY: the node is palloc'd.
        unsafe {
            let variable = pg_sys::makeVar(1, self.number, self.column_type, self.type_modifier, self.collation, 0);
            Expression::new(variable)
        }
    }

    /// The column, as an expression of the type that the function takes. A generated column's own expression stands for
    /// it, since another generated column cannot refer to it.
    fn as_argument(&self, table: &Target, column: &str, kind: Kind) -> Result<String, ErrorReport> {
        let (argument_type, argument_type_name) = kind.argument();
        let mut argument = quote_identifier(column);
        if self.is_generated {
            if self.type_modifier >= 0 {
                let message =
                    format!("generated column \"{column}\" of type {} cannot be fingerprinted", self.type_name());
                return Err(user_error(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message)
                    .set_detail("Its expression stands for it, and the limit is no part of that.")
                    .set_hint("Name the column that it is computed from, or change its type to one without a limit."));
            }
            self.hold_names(table)?;
            argument = self.generation_sql(table)?.unwrap_or_default();
            argument = format!("CAST({argument} AS {})", self.type_name());
        }
        if self.column_type != argument_type {
            argument = format!("CAST({argument} AS {argument_type_name})");
        }
        Ok(argument)
    }

    /// Holds the names of all that the generation expression and the type refer to, so that the text of the expression
    /// means the same when it is parsed again.
    fn hold_names(&self, table: &Target) -> Result<(), ErrorReport> {
        // PostgreSQL 14 keeps the dependencies with the column, later versions with its entry in pg_attrdef.
        let query = format!(
            "SELECT DISTINCT pg_catalog.concat_ws(' ', refclassid, refobjid) FROM pg_catalog.pg_depend \
             WHERE (classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND objid = {table} AND objsubid = {column} \
                 OR classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass AND objid IN ( \
                     SELECT oid FROM pg_catalog.pg_attrdef WHERE adrelid = {table} AND adnum = {column})) \
             AND NOT (refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND refobjid = {table})",
            table = table.oid.to_u32(),
            column = self.number
        );
        for object in spi::strings(&query)? {
            let mut numbers = object.split(' ').filter_map(|number| number.parse().ok()).map(pg_sys::Oid::from_u32);
            match (numbers.next(), numbers.next()) {
                (Some(pg_sys::RelationRelationId), Some(relation)) => {
                    // SAFETY: any OID may be locked; a look-up in a system cache.
                    let schema = unsafe {
                        pg_sys::LockRelationOid(relation, pg_sys::AccessShareLock as pg_sys::LOCKMODE);
                        pg_sys::get_rel_namespace(relation)
                    };
                    hold_schema(schema)?;
                }
                (Some(catalogue), Some(object)) => hold(catalogue, object)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// The generation expression, with all names qualified that are not of the system's schema.
    pub fn generation_sql(&self, table: &Target) -> Result<Option<String>, ErrorReport> {
        let query = format!(
            "SELECT pg_catalog.pg_get_expr(adbin, adrelid) FROM pg_catalog.pg_attrdef \
             WHERE adrelid = {} AND adnum = {}",
            table.oid.to_u32(),
            self.number
        );
        Ok(spi::strings(&query)?.pop())
    }

    /// The column as CREATE TABLE would define it.
    pub fn definition(&self, table: &Target) -> Result<String, ErrorReport> {
        let type_name = self.type_name();
        if !self.is_generated {
            return Ok(type_name);
        }
        let expression = self.generation_sql(table)?.unwrap_or_default();
        let kind = if self.is_stored { "STORED" } else { "VIRTUAL" };
        Ok(format!("{type_name} GENERATED ALWAYS AS ({expression}) {kind}"))
    }
}
