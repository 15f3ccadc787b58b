//! The primary key of a row, by which it is named.

use std::cmp::Ordering;

use pgrx::PgRelation;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{self, Datum, Oid};

use super::search::value;
use super::table::datumCopy;
use crate::sql::spi::from_server;
use crate::sql::tables::open;

/// The columns of a primary key; none if a table has no primary key.
#[derive(Default)]
pub struct Key(Vec<Column>);

struct Column {
    number: i16,
    name: String,
    data_type: Oid,
    type_modifier: i32,
    by_value: bool,
    length: i16,
    collation: Oid,
    /// The function that compares two values; none if the type has no order.
    comparison: Oid,
}

/// A key's value, copied.
pub type KeyValue = Vec<Datum>;

impl Key {
    /// The primary key of a table; without columns if it has none.
    pub fn primary(table: &PgRelation) -> Self {
        // SAFETY: an open table.
        unsafe {
            #[cfg(not(feature = "pg18"))]
            let index = pg_sys::RelationGetPrimaryKeyIndex(table.as_ptr());
            #[cfg(feature = "pg18")]
            let index = pg_sys::RelationGetPrimaryKeyIndex(table.as_ptr(), false);
            if index == Oid::INVALID { Self::default() } else { Self::of_index(table, &open(index)) }
        }
    }

    /// # Safety
    /// The index is one of the table's, and has no expressions among its keys.
    unsafe fn of_index(table: &PgRelation, index: &PgRelation) -> Self {
        // SAFETY: by the contract. An index has as many key columns as it says, each with a collation.
        unsafe {
            let row = &*index.rd_index;
            let numbers = row.indkey.values.as_slice(row.indnkeyatts as usize);
            let columns = table.tuple_desc();
            let column = |(place, &number): (usize, &i16)| {
                let attribute = columns.get(usize::try_from(number).ok()?.checked_sub(1)?)?;
                let flags = pg_sys::TYPECACHE_CMP_PROC as i32;
                Some(Column {
                    number,
                    name: from_server(attribute.attname.data.as_ptr()).ok()?,
                    data_type: attribute.atttypid,
                    type_modifier: attribute.atttypmod,
                    by_value: attribute.attbyval,
                    length: attribute.attlen,
                    collation: *index.rd_indcollation.add(place),
                    comparison: (*pg_sys::lookup_type_cache(attribute.atttypid, flags)).cmp_proc,
                })
            };
            Self(numbers.iter().enumerate().filter_map(column).collect())
        }
    }

    pub fn columns(&self) -> impl Iterator<Item = i16> {
        self.0.iter().map(|column| column.number)
    }

    /// The type of a key of one column, with its modifier.
    pub fn only_type(&self) -> Option<(Oid, i32)> {
        match &self.0[..] {
            [column] => Some((column.data_type, column.type_modifier)),
            _ => None,
        }
    }

    /// The key of the row in a slot; None if a part of it is NULL.
    ///
    /// # Safety
    /// The slot holds a row of the table.
    pub unsafe fn of_row(&self, slot: *mut pg_sys::TupleTableSlot) -> Option<KeyValue> {
        let copy = |column: &Column| {
            // SAFETY: by the contract; the value is of the type that the table says.
            unsafe {
                let found = value(slot, column.number)?;
                let copy = || datumCopy(found, column.by_value, column.length.into());
                Some(pg_sys::ffi::pg_guard_ffi_boundary(copy))
            }
        };
        self.0.iter().map(copy).collect()
    }

    /// Which of two keys comes first.
    pub fn compare(&self, a: &[Datum], b: &[Datum]) -> Ordering {
        let compare = |((column, a), b): ((&Column, &Datum), &Datum)| {
            if column.comparison == Oid::INVALID {
                return Ordering::Equal;
            }
            // SAFETY: values of the column's type, which its function compares.
            let order = unsafe { pg_sys::OidFunctionCall2Coll(column.comparison, column.collation, *a, *b) };
            (order.value() as i32).cmp(&0)
        };
        self.0.iter().zip(a).zip(b).map(compare).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }

    /// The key as PostgreSQL writes it in its messages: `(id)=(42)`. None if there is no key.
    pub fn describe(&self, key: &[Datum]) -> Result<Option<String>, ErrorReport> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let names: Vec<_> = self.0.iter().map(|column| column.name.as_str()).collect();
        let text = |(column, value): (&Column, &Datum)| {
            let (mut output, mut is_varlena) = (Oid::INVALID, false);
            // SAFETY: a value of the column's type, by its output function, whose result is NUL-terminated.
            unsafe {
                pg_sys::getTypeOutputInfo(column.data_type, &mut output, &mut is_varlena);
                from_server(pg_sys::OidOutputFunctionCall(output, *value))
            }
        };
        let values = self.0.iter().zip(key).map(text).collect::<Result<Vec<_>, _>>()?;
        Ok(Some(format!("({})=({})", names.join(", "), values.join(", "))))
    }
}
