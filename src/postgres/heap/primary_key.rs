//! The primary key of a table, which identifies its rows.

use std::cmp::Ordering;

use pgrx::pg_sys::{self, Datum, Oid};

use super::row::Row;
use crate::catalog::column::Column;
use crate::catalog::relation::Relation;
use crate::error::Result;
use crate::json;
use crate::server_string::server_string_from_c;
use crate::settings::with_fixed_settings;

/// The columns of a primary key; empty if the table has no primary key.
#[derive(Default)]
pub struct PrimaryKey(Vec<KeyColumn>);

struct KeyColumn {
    column: Column,
    name: String,
    collation: Oid,
    /// The type's comparison function; the invalid OID if the type has no order.
    comparison: Oid,
}

/// Copies of the values of a row's primary key, in the memory context in which [`PrimaryKey::of_row`] was called.
#[derive(Default)]
pub struct KeyValue(Vec<Datum>);

impl PrimaryKey {
    pub fn read(table: &Relation) -> Result<Self> {
        // SAFETY: the table and its index are open, and the index has a collation for each key.
        unsafe {
            #[cfg(not(any(feature = "pg18", feature = "pg19")))]
            let index = pg_sys::RelationGetPrimaryKeyIndex(table.as_ptr());
            #[cfg(any(feature = "pg18", feature = "pg19"))]
            let index = pg_sys::RelationGetPrimaryKeyIndex(table.as_ptr(), false);
            if index == Oid::INVALID {
                return Ok(Self::default());
            }
            let index = Relation::open(index);
            let pg_index = &*index.rd_index;
            let attnums = pg_index.indkey.values.as_slice(pg_index.indnkeyatts as usize);
            let mut columns = Vec::new();
            for (position, &attnum) in attnums.iter().enumerate() {
                let Some(column) = Column::at(table, attnum) else { continue };
                let type_entry = pg_sys::lookup_type_cache(column.data_type, pg_sys::TYPECACHE_CMP_PROC as i32);
                columns.push(KeyColumn {
                    name: column.name()?,
                    collation: *index.rd_indcollation.add(position),
                    comparison: (*type_entry).cmp_proc,
                    column,
                });
            }
            Ok(Self(columns))
        }
    }

    pub fn columns(&self) -> impl Iterator<Item = &Column> + Clone {
        self.0.iter().map(|key| &key.column)
    }

    /// The key of a row of the table; empty if a value of the key is NULL, or if the table has no key.
    pub fn of_row(&self, row: Row<'_>) -> KeyValue {
        let copy = |key: &KeyColumn| {
            let value = row.value(key.column.attnum)?;
            let Column { is_by_value, length, .. } = key.column;
            // SAFETY: the value is of the column's type, whose `attbyval` and `attlen` are passed.
            Some(unsafe { pg_sys::datumCopy(value, is_by_value, length.into()) })
        };
        KeyValue(self.0.iter().map(copy).collect::<Option<_>>().unwrap_or_default())
    }

    /// Compares a value of this key with a value of the key `other`, which may be another table's. All values count as
    /// equal if the keys differ in their columns or in the order of these, and so do values of a type without an order.
    pub fn compare(&self, own_value: &KeyValue, other: &Self, other_value: &KeyValue) -> Ordering {
        let is_same_column = |(own, other): (&KeyColumn, &KeyColumn)| {
            own.name == other.name && own.column.data_type == other.column.data_type
        };
        if self.0.len() != other.0.len() || !self.0.iter().zip(&other.0).all(is_same_column) {
            return Ordering::Equal;
        }
        let compare = |((key, &own), &other): ((&KeyColumn, &Datum), &Datum)| {
            if key.comparison == Oid::INVALID {
                return Ordering::Equal;
            }
            // SAFETY: both values are of the column's type, and the function is the type's own comparison.
            let order = unsafe { pg_sys::OidFunctionCall2Coll(key.comparison, key.collation, own, other) };
            (order.value() as i32).cmp(&0)
        };
        let columns = self.0.iter().zip(&own_value.0).zip(&other_value.0);
        columns.map(compare).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }

    /// The key as PostgreSQL writes it in its messages: `(id)=(42)`. None if the key is empty.
    pub fn describe(&self, key: &KeyValue) -> Result<Option<String>> {
        if key.0.is_empty() {
            return Ok(None);
        }
        let names: Vec<_> = self.0.iter().map(|column| column.name.as_str()).collect();
        Ok(Some(format!("({})=({})", names.join(", "), self.texts(key)?.join(", "))))
    }

    /// The key as a JSON object: `{"id": 42}`. Values that are not integers are strings, which do not depend on the
    /// session's settings. None if the key is empty.
    pub fn to_json<'a>(&'a self, key: &KeyValue) -> Result<Option<String>> {
        if key.0.is_empty() {
            return Ok(None);
        }
        let texts = with_fixed_settings(|| self.texts(key))?;
        let to_member = |(key, text): (&'a KeyColumn, &String)| {
            // SAFETY: getBaseType looks up a system cache, for a type that exists.
            let base_type = unsafe { pg_sys::getBaseType(key.column.data_type) };
            let is_integer = matches!(base_type, pg_sys::INT2OID | pg_sys::INT4OID | pg_sys::INT8OID);
            let number = text.parse().ok().filter(|_| is_integer);
            (key.name.as_str(), number.map_or_else(|| json::string(text), json::integer))
        };
        Ok(Some(json::object(self.0.iter().zip(&texts).map(to_member))))
    }

    /// The values as text, by the output functions of their types.
    fn texts(&self, key: &KeyValue) -> Result<Vec<String>> {
        let to_text = |(key, &value): (&KeyColumn, &Datum)| {
            let (mut output, mut is_varlena) = (Oid::INVALID, false);
            // SAFETY: the value is of this type, whose output function returns a NUL-terminated string.
            unsafe {
                pg_sys::getTypeOutputInfo(key.column.data_type, &mut output, &mut is_varlena);
                server_string_from_c(pg_sys::OidOutputFunctionCall(output, value))
            }
        };
        self.0.iter().zip(&key.0).map(to_text).collect()
    }
}

impl KeyValue {
    /// The value of the key column with this index; None if the key is empty.
    pub fn value(&self, index: usize) -> Option<Datum> {
        self.0.get(index).copied()
    }
}
