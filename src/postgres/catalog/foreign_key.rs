//! Foreign keys of a table.

use pgrx::pg_sys::{self, Oid};

use super::relation::Relation;

pub struct ForeignKey {
    /// The attnums of its columns.
    pub columns: Vec<i16>,
    /// The table that it refers to.
    pub referenced: Oid,
}

pub fn foreign_keys(table: &Relation) -> Vec<ForeignKey> {
    // SAFETY: the table is open, and its list of foreign keys is valid until its definition changes; `nkeys` of each
    // key's columns are set.
    unsafe {
        let keys = pg_sys::RelationGetFKeyList(table.as_ptr());
        let count = if keys.is_null() { 0 } else { (*keys).length };
        (0..count)
            .map(|position| {
                let key = &*pg_sys::list_nth(keys, position).cast::<pg_sys::ForeignKeyCacheInfo>();
                ForeignKey { columns: key.conkey[..key.nkeys as usize].to_vec(), referenced: key.confrelid }
            })
            .collect()
    }
}
