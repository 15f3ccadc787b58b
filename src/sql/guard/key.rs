//! The unique keys of a row: the primary key, by which it is named, and others that it can have in common with no
//! other.

use std::cmp::Ordering;

use pgrx::PgRelation;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{self, Datum, Oid};

use super::search::value;
use super::table::datumCopy;
use crate::sql::expression::oids;
use crate::sql::spi::from_server;
use crate::sql::tables::{is_partial, open};

/// The columns of a primary key, or of another unique index; none if a table has no primary key.
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

    /// The keys that two rows of a table cannot have in common even for a moment: those of unique indexes on all rows
    /// and plain columns that are checked at once.
    pub fn all_unique(table: &PgRelation) -> Vec<Self> {
        // SAFETY: an open table, whose list is a copy. An open index has its row of pg_index, an operator family for
        // each key, and compares values of a type that exists.
        unsafe {
            let mut found = Vec::new();
            for index in oids(pg_sys::RelationGetIndexList(table.as_ptr())) {
                let index = open(index);
                let row = &*index.rd_index;
                let keys = row.indnkeyatts as usize;
                let is_plain = !row.indkey.values.as_slice(keys).contains(&0);
                let is_whole = is_plain && !is_partial(index.as_ptr());
                if !(row.indisunique && row.indimmediate && row.indisvalid && is_whole) {
                    continue;
                }
                let key = Self::of_index(table, &index);
                let compares_as_its_type = |(place, column): (usize, &Column)| {
                    let entry = &*pg_sys::lookup_type_cache(column.data_type, pg_sys::TYPECACHE_BTREE_OPFAMILY as i32);
                    *index.rd_opfamily.add(place) == entry.btree_opf && column.comparison != Oid::INVALID
                };
                if key.0.len() == keys && key.0.iter().enumerate().all(compares_as_its_type) {
                    found.push(key);
                }
            }
            found
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

    /// Whether the row in a slot has that value of the key.
    ///
    /// # Safety
    /// The slot holds a row of the table, and the value is one of the key.
    pub unsafe fn is_of(&self, slot: *mut pg_sys::TupleTableSlot, key: &[Datum]) -> bool {
        // SAFETY: by the contract.
        unsafe { self.of_row(slot) }.is_some_and(|of_row| self.compare(&of_row, key).is_eq())
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
