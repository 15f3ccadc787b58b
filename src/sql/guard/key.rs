//! The primary key of a row, by which it is named.

use std::cmp::Ordering;
use std::ffi::c_int;

use pgrx::PgRelation;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{self, Datum, Oid};

use super::search::value;
use crate::sql::spi::from_server;
use crate::sql::tables::open;

/// The columns of a table's primary key.
pub struct PrimaryKey {
    columns: Vec<Column>,
    /// Whether it is checked at once, not at the end of the transaction.
    is_immediate: bool,
}

struct Column {
    number: i16,
    name: String,
    data_type: Oid,
    by_value: bool,
    length: i16,
    collation: Oid,
    /// The function that compares two values; none if the type has no order.
    comparison: Oid,
}

impl PrimaryKey {
    /// That of a table; without columns if it has none.
    pub fn of(table: &PgRelation) -> Self {
        // SAFETY: an open table. An index of it has as many key columns as it says, and they are columns of the table.
        unsafe {
            #[cfg(not(feature = "pg18"))]
            let index = pg_sys::RelationGetPrimaryKeyIndex(table.as_ptr());
            #[cfg(feature = "pg18")]
            let index = pg_sys::RelationGetPrimaryKeyIndex(table.as_ptr(), false);
            if index == Oid::INVALID {
                return Self { columns: Vec::new(), is_immediate: false };
            }
            let index = open(index);
            let description = &*index.rd_index;
            let numbers = description.indkey.values.as_slice(description.indnkeyatts as usize);
            let columns = table.tuple_desc();
            let column = |&number: &i16| {
                let attribute = columns.get(usize::try_from(number).ok()?.checked_sub(1)?)?;
                let flags = pg_sys::TYPECACHE_CMP_PROC as i32;
                Some(Column {
                    number,
                    name: from_server(attribute.attname.data.as_ptr()).ok()?,
                    data_type: attribute.atttypid,
                    by_value: attribute.attbyval,
                    length: attribute.attlen,
                    collation: attribute.attcollation,
                    comparison: (*pg_sys::lookup_type_cache(attribute.atttypid, flags)).cmp_proc,
                })
            };
            Self { columns: numbers.iter().filter_map(column).collect(), is_immediate: description.indimmediate }
        }
    }

    pub fn is_immediate(&self) -> bool {
        self.is_immediate
    }

    /// Whether the row in a slot has that key.
    ///
    /// # Safety
    /// The slot holds a row of the table, and the key is one of it.
    pub unsafe fn is_key_of(&self, slot: *mut pg_sys::TupleTableSlot, key: &[Datum]) -> bool {
        // SAFETY: by the contract.
        let of_row = unsafe { self.of_row(slot) };
        let is_comparable = self.columns.iter().all(|column| column.comparison != Oid::INVALID);
        !key.is_empty() && is_comparable && of_row.len() == key.len() && self.compare(&of_row, key).is_eq()
    }

    /// The type of a key of one column.
    pub fn only_type(&self) -> Option<Oid> {
        match &self.columns[..] {
            [column] => Some(column.data_type),
            _ => None,
        }
    }

    /// The key of the row in a slot, copied.
    ///
    /// # Safety
    /// The slot holds a row of the table.
    pub unsafe fn of_row(&self, slot: *mut pg_sys::TupleTableSlot) -> Vec<Datum> {
        // SAFETY: by the contract; a primary key has no NULL, and is of the types that the table says.
        unsafe {
            let copy = |column: &Column| {
                let found = value(slot, column.number)?;
                let copy = || datumCopy(found, column.by_value, column.length.into());
                Some(pg_sys::ffi::pg_guard_ffi_boundary(copy))
            };
            self.columns.iter().filter_map(copy).collect()
        }
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
        self.columns.iter().zip(a).zip(b).map(compare).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }

    /// The key as PostgreSQL writes it in its messages: `(id)=(42)`. None if there is no key.
    pub fn describe(&self, key: &[Datum]) -> Result<Option<String>, ErrorReport> {
        if self.columns.is_empty() {
            return Ok(None);
        }
        let names: Vec<_> = self.columns.iter().map(|column| column.name.as_str()).collect();
        let text = |(column, value): (&Column, &Datum)| {
            let (mut output, mut is_varlena) = (Oid::INVALID, false);
            // SAFETY: a value of the column's type, by its output function, whose result is NUL-terminated.
            unsafe {
                pg_sys::getTypeOutputInfo(column.data_type, &mut output, &mut is_varlena);
                from_server(pg_sys::OidOutputFunctionCall(output, *value))
            }
        };
        let values = self.columns.iter().zip(key).map(text).collect::<Result<Vec<_>, _>>()?;
        Ok(Some(format!("({})=({})", names.join(", "), values.join(", "))))
    }
}

// PostgreSQL's `utils/datum.h`, which pgrx leaves out.
unsafe extern "C-unwind" {
    fn datumCopy(value: Datum, by_value: bool, length: c_int) -> Datum;
}
