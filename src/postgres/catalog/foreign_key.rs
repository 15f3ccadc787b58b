//! Foreign keys of a table.

use pgrx::pg_sys::{self, Oid};

use super::relation::Relation;
use crate::list::nodes;

pub struct ForeignKey {
    pub columns: Vec<i16>,
    pub referenced: Oid,
}

pub fn foreign_keys(table: &Relation) -> Vec<ForeignKey> {
    // SAFETY: the table is open, and its list of foreign keys is valid until its definition changes; `nkeys` of each
    // key's columns are set.
    unsafe {
        let keys = pg_sys::RelationGetFKeyList(table.as_ptr());
        let key = |key: *mut pg_sys::ForeignKeyCacheInfo| {
            let key = &*key;
            ForeignKey { columns: key.conkey[..key.nkeys as usize].to_vec(), referenced: key.confrelid }
        };
        nodes(keys).into_iter().map(key).collect()
    }
}
