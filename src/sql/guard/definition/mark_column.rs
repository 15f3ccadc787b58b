//! The column in which a guard that marks rows stores the key of the near-duplicate.
//!
//! The near-duplicate has the marked row's scope values. So if all columns of the primary key but one are in the scope,
//! the value of that column identifies the near-duplicate. A column of type jsonb can store any key, as an object.

use pgrx::pg_sys::{self, Datum};
use postgres::catalog::column::Column;
use postgres::error::Result;
use postgres::heap::primary_key::{KeyValue, PrimaryKey};
use postgres::json::to_jsonb;

use super::scope::GuardScope;

/// The mark column of a table, and the part of this table's keys that a mark stores.
pub struct MarkColumn {
    pub column: i16,
    content: MarkContent,
}

/// The part of the near-duplicate's primary key that a mark stores.
#[derive(Clone, Copy)]
enum MarkContent {
    /// The value of the key's column at this position.
    Value(usize),
    /// The whole key as a JSON object.
    Object,
}

impl MarkColumn {
    /// A column that marks rows of a table with this primary key, within this scope; None if it cannot store the keys.
    pub fn new(primary_key: &PrimaryKey, scope: &GuardScope, column: &Column) -> Option<Self> {
        MarkContent::of(primary_key, scope, column).map(|content| Self { column: column.attnum, content })
    }

    /// The mark for a key of this table.
    pub fn value(&self, primary_key: &PrimaryKey, key: &KeyValue) -> Result<Option<Datum>> {
        match self.content {
            MarkContent::Value(position) => Ok(key.value(position)),
            MarkContent::Object => {
                let key = primary_key.to_json(key)?;
                Ok(key.map(|key| to_jsonb(&key)).transpose()?.flatten().map(|key| key.datum()))
            }
        }
    }
}

impl MarkContent {
    /// The part of a table's keys that a mark column of this type stores; None if it cannot store them.
    fn of(primary_key: &PrimaryKey, scope: &GuardScope, mark: &Column) -> Option<Self> {
        let key: Vec<_> = primary_key.columns().collect();
        if let Some(position) = identifying_column(primary_key, scope)
            && (key[position].data_type, key[position].type_modifier) == (mark.data_type, mark.type_modifier)
        {
            return Some(Self::Value(position));
        }
        (mark.data_type == pg_sys::JSONBOID && !key.is_empty()).then_some(Self::Object)
    }
}

/// The position, in the primary key, of the column that identifies a row within the scope: the only column outside the
/// scope, or the only column of the key. None if there is no such column.
fn identifying_column(primary_key: &PrimaryKey, scope: &GuardScope) -> Option<usize> {
    let is_outside = |column: &Column| !scope.columns().any(|scope| scope == column.attnum);
    let columns = || primary_key.columns().enumerate();
    let mut outside = columns().filter(|(_, column)| is_outside(column)).map(|(position, _)| position);
    match (outside.next(), outside.next()) {
        (Some(position), None) => Some(position),
        // The key's only column is in the scope. Two rows of one scope then have the same key, which only partitions
        // with keys of their own allow.
        (None, None) if columns().count() == 1 => Some(0),
        _ => None,
    }
}
