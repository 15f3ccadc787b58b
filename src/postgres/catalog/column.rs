//! Columns of a table, as pg_attribute has them.

use std::ffi::{CStr, CString};

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;

use super::relation::Relation;
use crate::postgres::error::user_error;
use crate::postgres::ffi::attribute;
use crate::postgres::nodes::expression::Expression;
use crate::postgres::spi::{from_server, to_server};

/// A column of a table.
pub struct Column {
    pub number: i16,
    name: CString,
    pub data_type: Oid,
    pub type_modifier: i32,
    pub collation: Oid,
    /// `attbyval` and `attlen`: how values are passed.
    pub by_value: bool,
    pub length: i16,
    pub is_generated: bool,
    /// Whether it is generated, and its values are stored.
    pub is_stored: bool,
    pub is_not_null: bool,
    /// Whether it is the table's own, whether inherited too or not.
    pub is_local: bool,
}

impl Column {
    /// All columns of a table, in their order, without dropped ones and the system's.
    pub fn all(table: &Relation) -> impl Iterator<Item = Self> {
        numbers(table).filter_map(|number| Self::at(table, number))
    }

    /// The column of that number; None if it was dropped, or is the system's.
    pub fn at(table: &Relation, number: i16) -> Option<Self> {
        let place = usize::try_from(number).ok()?.checked_sub(1)?;
        // SAFETY: an open relation has a descriptor with as many columns as it says.
        let found = unsafe {
            if place >= (*table.rd_att).natts as usize {
                return None;
            }
            attribute(table.rd_att, place)
        };
        if found.attisdropped {
            return None;
        }
        Some(Self {
            number,
            // SAFETY: a NUL-terminated name.
            name: unsafe { CStr::from_ptr(found.attname.data.as_ptr()) }.to_owned(),
            data_type: found.atttypid,
            type_modifier: found.atttypmod,
            collation: found.attcollation,
            by_value: found.attbyval,
            length: found.attlen,
            is_generated: found.attgenerated != 0,
            is_stored: found.attgenerated as u8 == pg_sys::ATTRIBUTE_GENERATED_STORED,
            is_not_null: found.attnotnull,
            is_local: found.attislocal,
        })
    }

    /// The column of that name; None if there is none, or it is the system's.
    pub fn find(table: &Relation, name: &str) -> Result<Option<Self>, ErrorReport> {
        Ok(Self::find_raw(table, &to_server(name)?))
    }

    /// The column of that name in the server's encoding; None if there is none, or it is the system's.
    pub fn find_raw(table: &Relation, name: &CStr) -> Option<Self> {
        // SAFETY: an open relation has a descriptor with as many columns as it says; their names are NUL-terminated.
        let has_name = |number: &i16| unsafe {
            let found = attribute(table.rd_att, *number as usize - 1);
            !found.attisdropped && CStr::from_ptr(found.attname.data.as_ptr()) == name
        };
        Self::at(table, numbers(table).find(has_name)?)
    }

    /// The column of that name; an error if there is none.
    pub fn named(table: &Relation, name: &str) -> Result<Self, ErrorReport> {
        match Self::find(table, name)? {
            Some(column) => Ok(column),
            None => Err(no_such_column(table, name)?),
        }
    }

    /// The name, decoded.
    pub fn name(&self) -> Result<String, ErrorReport> {
        // SAFETY: a NUL-terminated name.
        unsafe { from_server(self.name.as_ptr()) }
    }

    /// The name in the server's encoding.
    pub fn raw_name(&self) -> &CStr {
        &self.name
    }

    /// The type as it is written in SQL, with its modifier.
    pub fn type_name(&self) -> String {
        // SAFETY: a palloc'd, NUL-terminated name.
        unsafe { from_server(pg_sys::format_type_with_typemod(self.data_type, self.type_modifier)) }.unwrap_or_default()
    }

    /// A reference to the column, as stored expressions of its table have it.
    pub fn as_variable(&self) -> Option<Expression> {
        // SAFETY: the node is palloc'd.
        unsafe {
            let variable = pg_sys::makeVar(1, self.number, self.data_type, self.type_modifier, self.collation, 0);
            Expression::new(variable)
        }
    }

    /// The expression by which the column is computed; None if it is not generated.
    pub fn generation(&self, table: &Relation) -> Option<Expression> {
        generation_of(table, self.number)
    }
}

/// The error of a name that is no column's.
pub fn no_such_column(table: &Relation, name: &str) -> Result<ErrorReport, ErrorReport> {
    let message = format!("column \"{name}\" of relation \"{}\" does not exist", table.name()?);
    Ok(user_error(PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN, message))
}

/// The numbers of a table's columns, also of dropped ones.
fn numbers(table: &Relation) -> impl Iterator<Item = i16> + use<> {
    // SAFETY: an open relation has a descriptor.
    1..=(unsafe { (*table.rd_att).natts } as i16)
}

/// The expression by which a column is computed, stored or virtual; None if it is not generated.
///
/// As it was written: folding its constants would run functions that the table's owner has put there.
pub fn generation_of(table: &Relation, number: i16) -> Option<Expression> {
    if !Column::at(table, number)?.is_generated {
        return None;
    }
    // SAFETY: a column of an open table. The result is a copy.
    unsafe { Expression::new(pg_sys::build_column_default(table.as_ptr(), number.into())) }
}

/// The name of a type as it is written in SQL.
pub fn type_name(data_type: Oid) -> Result<String, ErrorReport> {
    // SAFETY: any OID may be asked for; the name is NUL-terminated.
    unsafe { from_server(pg_sys::format_type_be(data_type)) }
}
