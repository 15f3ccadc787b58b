//! The column in which a guard that marks rows stores the key of the near-duplicate.
//!
//! The near-duplicate has the marked row's scope values. So if all columns of the primary key but one are in the scope,
//! the value of that column identifies the near-duplicate. A column of type jsonb can store any key, as an object.

use pgrx::pg_sys::{self, Datum, Oid};
use postgres::catalog::column::Column;
use postgres::error::Result;
use postgres::heap::primary_key::{KeyValue, PrimaryKey};
use postgres::json::to_jsonb;

use super::scope::GuardScope;

/// The mark column of a table, and the part of this table's keys that a mark stores.
pub struct MarkColumn {
    pub column: i16,
    pub data_type: Oid,
    /// The position, in the primary key, of the column whose value a mark stores; None for the whole key, as a JSON
    /// object.
    position: Option<usize>,
}

impl MarkColumn {
    /// A column that marks rows of a table with this primary key, within this scope; None if it cannot store the keys.
    pub fn new(primary_key: &PrimaryKey, scope: &GuardScope, column: &Column) -> Option<Self> {
        let &Column { attnum, data_type, type_modifier, .. } = column;
        let key: Vec<_> = primary_key.columns().collect();
        let has_key_type =
            |&position: &usize| (key[position].data_type, key[position].type_modifier) == (data_type, type_modifier);
        let position = identifying_column(&key, scope).filter(has_key_type);
        let can_store_whole_key = data_type == pg_sys::JSONBOID && !key.is_empty();
        (position.is_some() || can_store_whole_key).then_some(Self { column: attnum, data_type, position })
    }

    /// The mark that names the row with this primary key.
    pub fn value(&self, primary_key: &PrimaryKey, key: &KeyValue) -> Result<Option<Datum>> {
        if let Some(position) = self.position {
            return Ok(key.value(position));
        }
        let json = primary_key.to_json(key)?;
        Ok(json.map(|json| to_jsonb(&json)).transpose()?.map(|document| document.datum()))
    }
}

/// The position, in the primary key, of the column that identifies a row within the scope: the only column outside the
/// scope, or the only column of the key. None if such a column does not exist.
fn identifying_column(key: &[&Column], scope: &GuardScope) -> Option<usize> {
    let is_outside = |position: &usize| !scope.attnums().any(|attnum| attnum == key[*position].attnum);
    let mut outside = (0..key.len()).filter(is_outside);
    match (outside.next(), outside.next()) {
        (Some(position), None) => Some(position),
        // The key's only column is in the scope. Two rows with equal scope values then have the same key, which only
        // partitions with keys of their own allow.
        (None, None) if key.len() == 1 => Some(0),
        _ => None,
    }
}
