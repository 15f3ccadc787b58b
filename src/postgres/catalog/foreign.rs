//! Foreign tables.

use pgrx::pg_sys;
use pgrx::pg_sys::Oid;

use super::relation::relation_kind;
use crate::error::Result;
use crate::text::from_server;

pub fn is_foreign(relation: Oid) -> bool {
    relation_kind(relation) == pg_sys::RELKIND_FOREIGN_TABLE
}

/// The name of the server of a foreign table, which the caller has locked.
pub fn server_name(table: Oid) -> Result<String> {
    // SAFETY: a foreign table has a server, which cannot be dropped while the table exists; its name is NUL-terminated.
    unsafe { from_server((*pg_sys::GetForeignServer((*pg_sys::GetForeignTable(table)).serverid)).servername) }
}
