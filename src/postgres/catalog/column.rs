//! Reads the columns of a table.

use std::ffi::{CStr, CString};

use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;

use super::relation::Relation;
use crate::error::{Result, user_error};
use crate::expression::{Expression, OWN_VARNO};
use crate::ffi::attribute;
use crate::server_string::{server_string, server_string_from_c, to_server_cstring};

/// A column, as pg_attribute describes it.
pub struct Column {
    pub attnum: i16,
    name: CString,
    pub data_type: Oid,
    pub type_modifier: i32,
    pub collation: Oid,
    pub is_by_value: bool,
    /// The length of a value in bytes; negative if it varies.
    pub length: i16,
    pub is_generated: bool,
    /// Whether the column is generated and its values are stored.
    pub is_stored: bool,
    pub is_not_null: bool,
    /// Whether the table itself defines the column (`attislocal`). The column may be inherited as well.
    pub is_local: bool,
}

impl Column {
    /// All columns of a table in the order of their attnums, without dropped columns and system columns.
    pub fn all(table: &Relation) -> impl Iterator<Item = Self> {
        // SAFETY: an open relation has a descriptor.
        let count = unsafe { (*table.rd_att).natts } as i16;
        (1..=count).filter_map(|attnum| Self::at(table, attnum))
    }

    /// The column with this attnum; None if it does not exist, was dropped or is a system column.
    pub fn at(table: &Relation, attnum: i16) -> Option<Self> {
        let attribute = attribute_of(table, attnum)?;
        Some(Self {
            attnum,
            // SAFETY: `attname` is NUL-terminated.
            name: unsafe { CStr::from_ptr(attribute.attname.data.as_ptr()) }.to_owned(),
            data_type: attribute.atttypid,
            type_modifier: attribute.atttypmod,
            collation: attribute.attcollation,
            is_by_value: attribute.attbyval,
            length: attribute.attlen,
            is_generated: attribute.attgenerated != 0,
            is_stored: attribute.attgenerated as u8 == pg_sys::ATTRIBUTE_GENERATED_STORED,
            is_not_null: attribute.attnotnull,
            is_local: attribute.attislocal,
        })
    }

    /// The column with this name; None if it does not exist or is a system column.
    pub fn find(table: &Relation, name: &str) -> Result<Option<Self>> {
        Ok(attnum_of(table.oid(), &to_server_cstring(name)?).and_then(|attnum| Self::at(table, attnum)))
    }

    /// The column with the same name of another table, such as a partition.
    pub fn in_table(&self, table: &Relation) -> Option<Self> {
        Self::at(table, attnum_of(table.oid(), &self.name)?)
    }

    /// The column with this name; an error if it does not exist.
    pub fn named(table: &Relation, name: &str) -> Result<Self> {
        if let Some(column) = Self::find(table, name)? {
            return Ok(column);
        }
        let message = format!("column \"{name}\" of relation \"{}\" does not exist", table.name()?);
        Err(user_error(PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN, message))
    }

    pub fn name(&self) -> Result<String> {
        server_string(self.name.to_bytes())
    }

    /// The name in the server's encoding.
    pub fn raw_name(&self) -> &CStr {
        &self.name
    }

    /// The name of the type in SQL, with its type modifier.
    pub fn type_name(&self) -> Result<String> {
        // SAFETY: format_type_with_typemod returns a palloc'd, NUL-terminated name.
        unsafe { server_string_from_c(pg_sys::format_type_with_typemod(self.data_type, self.type_modifier)) }
    }

    /// A reference to the column, as stored expressions of its table have it.
    pub fn as_variable(&self) -> Option<Expression> {
        let &Self { attnum, data_type, type_modifier, collation, .. } = self;
        // SAFETY: makeVar pallocs a valid node.
        unsafe { Expression::new(pg_sys::makeVar(OWN_VARNO, attnum, data_type, type_modifier, collation, 0)) }
    }

    /// The generation expression of the column; None if it is not generated.
    pub fn generation(&self, table: &Relation) -> Option<Expression> {
        generation_of(table, self.attnum)
    }
}

/// The descriptor's entry for a column; None if it does not exist, was dropped or is a system column.
fn attribute_of(table: &Relation, attnum: i16) -> Option<&pg_sys::FormData_pg_attribute> {
    // SAFETY: an open relation has a descriptor, as long as it is open.
    unsafe { attribute(table.rd_att, attnum) }.filter(|attribute| !attribute.attisdropped)
}

/// The generation expression of a column, stored or virtual; None if it is not generated. PostgreSQL has not folded its
/// constants, which would run functions that the table's owner chose.
pub fn generation_of(table: &Relation, attnum: i16) -> Option<Expression> {
    if attribute_of(table, attnum)?.attgenerated == 0 {
        return None;
    }
    // SAFETY: the table is open and has the column. The result is a copy.
    unsafe { Expression::new(pg_sys::build_column_default(table.as_ptr(), attnum.into())) }
}

/// Replaces references to generated columns, if `is_replaced` is true for them, by their generation expressions.
pub fn replace_generated_columns(table: &Relation, tree: Expression, is_replaced: fn(&Column) -> bool) -> Expression {
    let columns = tree.own_columns().into_iter().filter_map(|attnum| Column::at(table, attnum));
    let to_replacement = |column: Column| Some((column.attnum, column.generation(table)?));
    let mut replacements = columns.filter(is_replaced).filter_map(to_replacement).peekable();
    if replacements.peek().is_none() { tree } else { tree.with_columns_replaced(replacements) }
}

/// The attnum of the column with this name; None if it does not exist or is a system column. Unless the table is
/// locked, the answer may change at any time.
pub fn attnum_of(table: Oid, name: &CStr) -> Option<i16> {
    // SAFETY: get_attnum looks up a system cache; the name is NUL-terminated.
    let attnum = unsafe { pg_sys::get_attnum(table, name.as_ptr()) };
    (attnum > 0).then_some(attnum)
}
