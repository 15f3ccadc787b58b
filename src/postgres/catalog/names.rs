//! Names of schemas, relations and roles; and locks on schemas, so that their names cannot change until the transaction
//! ends.
//!
//! The commands that change a table are SQL text, and PostgreSQL looks up their names when it runs the command. The
//! owner of a schema can rename it at any time, and give its name to another schema. A lock on a table in the schema
//! does not prevent this. The command would then reach another table of the same name, and run its triggers and casts
//! with the caller's rights. ALTER SCHEMA .. RENAME does not lock the schema, but it updates its catalog row. So before
//! a name is read, that row is locked, as by SELECT FOR SHARE.
//!
//! FOR KEY SHARE would not block GRANT, but it is not enough, although a name belongs to a unique key. An UPDATE that
//! does not change the key removes a FOR KEY SHARE lock that is taken while the UPDATE compresses the row or looks for
//! another page (heap_update in PostgreSQL 17.11 and 18.6).
//!
//! A schema of a superuser or of the current user is not locked: its owner gains no rights by renaming it, and
//! administrators would have to wait for the lock until the transaction ends.
//!
//! The locks do not conflict with the transaction itself, in which a command may run functions of other users. So
//! statements use the current names ([`Target::sql`](super::target::Target::sql)).

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;
use pgrx::spi::quote_qualified_identifier;

use super::cache::read_cached;
use super::relation::relation_name;
use crate::error::user_error;
use crate::owner::as_owner;
use crate::spi::execute_now;
use crate::text::from_server;

/// The role that owns the system catalogs (`BOOTSTRAP_SUPERUSERID`). It may lock their rows, unless somebody has taken
/// superuser away from it, which PostgreSQL 15 allows.
const CATALOG_OWNER: Oid = Oid::from_u32(10);

/// Locks a schema's name, and returns it; an error if the schema does not exist. Does not lock a schema whose owner is
/// trusted.
///
/// A read-only transaction cannot lock rows, and cannot run the commands that need locked names. It gets the name
/// without a lock.
pub fn lock_schema_name(schema: Oid) -> Result<String, ErrorReport> {
    // SAFETY: a look-up in a system cache, whose rows are of this form; a setting that is a plain variable.
    let (owner, is_read_only) = unsafe {
        let row = pg_sys::SearchSysCache1(pg_sys::SysCacheIdentifier::NAMESPACEOID as i32, schema.into());
        (read_cached(row, |found: &pg_sys::FormData_pg_namespace| found.nspowner), pg_sys::XactReadOnly)
    };
    if !is_read_only && owner.is_some_and(|owner| !is_trusted(owner)) {
        let row = format!("SELECT FROM pg_catalog.pg_namespace WHERE oid = {} FOR SHARE", schema.to_u32());
        as_owner(CATALOG_OWNER, || execute_now(&row))?;
        // The row may have shown that a transaction has ended before the session has received its cache invalidations,
        // so the caches may still have an earlier name.
        // SAFETY: a transaction is running. Entries of the caches that are in use are removed when they are released.
        unsafe {
            pg_sys::InvalidateCatalogSnapshot();
            pg_sys::ResetCatalogCaches();
        }
    }
    schema_name(schema)
}

/// The schema's current name, which is not locked; an error if the schema does not exist.
pub fn schema_name(schema: pg_sys::Oid) -> Result<String, ErrorReport> {
    // SAFETY: get_namespace_name returns a NUL-terminated name, or null if the schema does not exist.
    unsafe {
        let name = pg_sys::get_namespace_name(schema);
        if name.is_null() {
            return Err(no_such_schema(schema));
        }
        from_server(name)
    }
}

/// The current qualified, quoted name of a relation, which is not locked; None if the relation does not exist.
pub fn relation_sql(relation: Oid) -> Result<Option<String>, ErrorReport> {
    let Some(name) = relation_name(relation)? else { return Ok(None) };
    // SAFETY: a look-up in a system cache.
    let schema = schema_name(unsafe { pg_sys::get_rel_namespace(relation) })?;
    Ok(Some(quote_qualified_identifier(schema, name)))
}

/// The current name of a role, which is not locked. The role must exist, as the current user and the owner of a locked
/// table do.
pub fn role_name(role: Oid) -> Result<String, ErrorReport> {
    // SAFETY: GetUserNameFromId returns a NUL-terminated name, or raises an error.
    unsafe { from_server(pg_sys::GetUserNameFromId(role, false)) }
}

fn no_such_schema(schema: Oid) -> ErrorReport {
    let message = format!("schema with OID {} does not exist", schema.to_u32());
    user_error(PgSqlErrorCode::ERRCODE_INVALID_SCHEMA_NAME, message)
}

/// Whether a role gains no rights by renaming its schemas: it is a superuser, or the current user.
fn is_trusted(role: Oid) -> bool {
    let database_owner = Oid::from_u32(pg_sys::ROLE_PG_DATABASE_OWNER);
    // SAFETY: look-ups in system caches, whose rows are of this form.
    unsafe {
        if role == database_owner {
            let cache = pg_sys::SysCacheIdentifier::DATABASEOID as i32;
            let row = pg_sys::SearchSysCache1(cache, pg_sys::MyDatabaseId.into());
            let owner = read_cached(row, |database: &pg_sys::FormData_pg_database| database.datdba);
            return owner.is_some_and(|owner| owner != database_owner && is_trusted(owner));
        }
        role == pg_sys::GetUserId() || pg_sys::superuser_arg(role)
    }
}
