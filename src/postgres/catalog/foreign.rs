//! Foreign tables.

use pgrx::pg_sys;
use pgrx::pg_sys::Oid;
use pgrx::pg_sys::panic::ErrorReport;

use super::relation::relation_kind;
use crate::text::from_server;

pub fn is_foreign(relation: Oid) -> bool {
    relation_kind(relation) == pg_sys::RELKIND_FOREIGN_TABLE
}

/// The name of the server of a foreign table, which the caller has locked.
pub fn server_name(table: Oid) -> Result<String, ErrorReport> {
    // SAFETY: a foreign table has a server, which cannot be dropped while the table exists; its name is NUL-terminated.
    unsafe { from_server((*pg_sys::GetForeignServer((*pg_sys::GetForeignTable(table)).serverid)).servername) }
}

/// Whether a role, or PUBLIC, has a user mapping for the server of a foreign table, which the caller has locked.
pub fn has_user_mapping(role: Oid, table: Oid) -> bool {
    let empty = pg_sys::Datum::from(0_usize);
    let cache = pg_sys::SysCacheIdentifier::USERMAPPINGUSERSERVER as i32;
    // SAFETY: a foreign table has a server; the keys of the system cache are a role and a server.
    unsafe {
        let server = (*pg_sys::GetForeignTable(table)).serverid;
        [role, pg_sys::InvalidOid]
            .into_iter()
            .any(|role| pg_sys::SearchSysCacheExists(cache, role.into(), server.into(), empty, empty))
    }
}
