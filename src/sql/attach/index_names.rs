//! The names of indexes that commands create.

use std::collections::HashSet;
use std::ffi::CStr;

use pgrx::prelude::*;
use postgres::catalog::target::Target;
use postgres::error::Result;
use postgres::server_string::{server_string, to_server_cstring};

use crate::sql::indexed::scope::Scope;

/// Chooses index names as PostgreSQL would, avoiding existing ones and those chosen before.
#[derive(Default)]
pub struct IndexNames {
    /// The schemas and names that were chosen before.
    chosen: HashSet<(pg_sys::Oid, String)>,
    /// The schemas and names of indexes that are dropped first.
    pub dropped: HashSet<(pg_sys::Oid, String)>,
}

impl IndexNames {
    /// Chooses a name made of the names of the table, of a key and of the scope's columns, shortened if need be.
    pub fn choose(&mut self, table: &Target, key: &str, scope: &Scope) -> Result<String> {
        let table_name = to_server_cstring(&table.name)?;
        let key_and_scope = to_server_cstring(&[&[key.to_owned()], scope.names()].concat().join("_"))?;
        for number in 0u32.. {
            let suffix = to_server_cstring(&if number == 0 { "idx".to_owned() } else { format!("idx{number}") })?;
            // SAFETY: the names are NUL-terminated; makeObjectName returns a palloc'd, NUL-terminated name.
            let server_name = unsafe {
                CStr::from_ptr(pg_sys::makeObjectName(table_name.as_ptr(), key_and_scope.as_ptr(), suffix.as_ptr()))
            };
            let name = server_string(server_name.to_bytes())?;
            let exists = table.relation_named(server_name).is_some();
            let schema_and_name = (table.schema, name.clone());
            if (!exists || self.dropped.contains(&schema_and_name)) && self.chosen.insert(schema_and_name) {
                return Ok(name);
            }
        }
        unreachable!("there are fewer than 2^32 indexes")
    }
}
