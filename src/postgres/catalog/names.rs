//! Locks names, so that they cannot change until the transaction ends.
//!
//! The commands that change a table are SQL text, and PostgreSQL looks up their names when it runs them. The owner of a
//! schema can rename it at any time, even if a table in it is locked, and give its name to another schema. The command
//! would then reach another table of the same name, and run its triggers and casts with the caller's rights. So the
//! object and its schema are locked before their names are read. Releases of PostgreSQL differ in which commands lock
//! an object before they change its name. But all of them, and ALTER EXTENSION .. SET SCHEMA, update the object's
//! catalog row. So that row is locked too, as by SELECT FOR SHARE.
//!
//! FOR KEY SHARE would not block GRANT, but it is too weak, although a name belongs to a unique key: an UPDATE that
//! does not change the key loses a FOR KEY SHARE lock that is taken while the UPDATE compresses the row or looks for
//! another page (heap_update in PostgreSQL 17.11 and 18.6).
//!
//! An object of a superuser or of the current user is not locked: its owner gains no rights by renaming it, and
//! administrators would have to wait for the lock until the transaction ends.
//!
//! The locks do not conflict with the transaction itself, in which a command may run functions of other users. So
//! statements use the current names ([`Target::sql`](super::target::Target::sql)).

use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;
use pgrx::spi::quote_qualified_identifier;

use super::cache::read_cached;
use super::relation::{ACCESS_SHARE, ROW_SHARE, Relation, relation_name};
use super::row_lock::{RowLock, lock_row};
use crate::error::{Result, user_error};
use crate::expression::Expression;
use crate::server_string::server_string_from_c;

/// Locks a schema's name, and returns it; an error if the schema does not exist.
pub fn lock_schema_name(schema: Oid) -> Result<String> {
    lock_catalog_row(pg_sys::NamespaceRelationId, schema)?;
    schema_name(schema)
}

/// The current name of a schema, which is not locked; an error if the schema does not exist.
pub fn schema_name(schema: Oid) -> Result<String> {
    // SAFETY: get_namespace_name returns a NUL-terminated name, or null if the schema does not exist.
    unsafe {
        let name = pg_sys::get_namespace_name(schema);
        if name.is_null() {
            let message = format!("schema with OID {} does not exist", schema.to_u32());
            return Err(user_error(PgSqlErrorCode::ERRCODE_INVALID_SCHEMA_NAME, message));
        }
        server_string_from_c(name)
    }
}

/// The current qualified, quoted name of a relation; None if it does not exist. The name is not locked.
pub fn relation_sql(relation: Oid) -> Result<Option<String>> {
    let Some(name) = relation_name(relation)? else { return Ok(None) };
    // SAFETY: a look-up in a system cache.
    let schema = schema_name(unsafe { pg_sys::get_rel_namespace(relation) })?;
    Ok(Some(quote_qualified_identifier(schema, name)))
}

/// The current name of a role that exists, such as the owner of a locked table. It is not locked.
pub fn role_name(role: Oid) -> Result<String> {
    // SAFETY: GetUserNameFromId returns a NUL-terminated name, or raises an error.
    unsafe { server_string_from_c(pg_sys::GetUserNameFromId(role, false)) }
}

/// Locks the names of an object (a function, a type, or anything else with an OID), if it exists, and of its schema.
pub fn lock_object_names(catalog: Oid, object: Oid) -> Result<()> {
    let Some(row) = lock_catalog_row(catalog, object)? else { return Ok(()) };
    // SAFETY: the row was found in this catalog, whose column for the schema has an OID.
    let schema = unsafe { oid_in(&Relation::open(catalog), row, pg_sys::get_object_attnum_namespace(catalog)) };
    schema.map_or(Ok(()), |schema| lock_schema_name(schema).map(drop))
}

/// Locks the names of the objects in an expression, so that its SQL means the same when it is parsed again.
pub fn lock_names_in(expression: Expression) -> Result<()> {
    for part in expression.parts() {
        let collation = part.node::<pg_sys::CollateExpr>().map(|node| node.collOid);
        let functions = part.functions().into_iter().map(|function| (pg_sys::ProcedureRelationId, Some(function)));
        let others = [
            (pg_sys::TypeRelationId, part.any_value_type()),
            (pg_sys::OperatorRelationId, part.operator()),
            (pg_sys::CollationRelationId, collation),
        ];
        for (catalog, object) in functions.chain(others) {
            if let Some(object) = object {
                lock_object_names(catalog, object)?;
            }
        }
    }
    Ok(())
}

/// Locks an object and its catalog row until the transaction ends, unless its owner is trusted. Waits for transactions
/// that have changed the row. Returns a copy of the row; None if the object does not exist.
///
/// Some transactions change the row and then lock the object; others lock the object first. To avoid deadlocks with
/// them, this holds neither lock while it waits for the other.
///
/// A read-only transaction gets the row without a lock. It cannot run the commands that need locked names anyway.
fn lock_catalog_row(catalog: Oid, object: Oid) -> Result<Option<pg_sys::HeapTuple>> {
    // SAFETY: the catalog has OIDs, also in its column for the owner if it has one, and is open as long as
    // `catalog_table`. The active snapshot sees the row version that is locked, so that it is not removed meanwhile.
    // Entries of the caches that are in use are removed when they are released.
    unsafe {
        let catalog_table = Relation::open_while_used(catalog, ROW_SHARE);
        let owner_attnum = pg_sys::get_object_attnum_owner(catalog);
        loop {
            crate::interrupts::tick();
            pg_sys::LockDatabaseObject(catalog, object, 0, ACCESS_SHARE);
            pg_sys::PushActiveSnapshot(pg_sys::GetLatestSnapshot());
            let row = find_row(&catalog_table, object, pg_sys::GetActiveSnapshot());
            let owner = row.and_then(|row| oid_in(&catalog_table, row, owner_attnum));
            let has_trusted_owner = owner.is_some_and(is_trusted);
            let locked = match row {
                Some(row) if !pg_sys::XactReadOnly && !has_trusted_owner => Some(lock_row(&catalog_table, row)),
                // The row does not exist, its owner is trusted, or the transaction is read-only.
                _ => None,
            };
            pg_sys::PopActiveSnapshot();
            if has_trusted_owner {
                pg_sys::UnlockDatabaseObject(catalog, object, 0, ACCESS_SHARE);
            }
            match locked {
                None | Some(RowLock::Held) => {
                    // The next look-up of a name must read the catalogs: a snapshot may see that a transaction has
                    // ended before its invalidations have removed earlier names from the caches.
                    pg_sys::InvalidateCatalogSnapshot();
                    pg_sys::ResetCatalogCaches();
                    return Ok(row);
                }
                Some(RowLock::Own) => {
                    let message = format!("could not lock the row of object {} in its catalog", object.to_u32());
                    return Err(user_error(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, message));
                }
                // Another transaction has replaced the row, or may do so: read it again.
                Some(outcome @ (RowLock::Gone | RowLock::Blocked(_) | RowLock::Queued(_))) => {
                    pg_sys::UnlockDatabaseObject(catalog, object, 0, ACCESS_SHARE);
                    outcome.wait(&catalog_table);
                }
            }
            if let Some(row) = row {
                pg_sys::heap_freetuple(row);
            }
        }
    }
}

/// A copy of an object's row, as a snapshot sees it; null stands for one that sees all that is committed now. A
/// system cache may have a version that was removed.
///
/// # Safety
/// The snapshot is null or registered, and the catalog has OIDs.
pub(crate) unsafe fn find_row(
    catalog: &Relation,
    object: Oid,
    snapshot: pg_sys::Snapshot,
) -> Option<pg_sys::HeapTuple> {
    // SAFETY: the caller passes a catalog with an index on its OIDs. The row is copied before the scan ends.
    unsafe {
        let column = pg_sys::get_object_attnum_oid(catalog.oid());
        let index = pg_sys::get_object_oid_index(catalog.oid());
        let equal = pg_sys::BTEqualStrategyNumber as pg_sys::StrategyNumber;
        let mut key = pg_sys::ScanKeyData::default();
        pg_sys::ScanKeyInit(&mut key, column, equal, pg_sys::F_OIDEQ.into(), object.into());
        let scan = pg_sys::systable_beginscan(catalog.as_ptr(), index, true, snapshot, 1, &mut key);
        let row = pg_sys::systable_getnext(scan);
        let copy = (!row.is_null()).then(|| pg_sys::heap_copytuple(row));
        pg_sys::systable_endscan(scan);
        copy
    }
}

/// The OID in a column of a catalog's row; None if it is NULL, or if the attnum is 0.
///
/// # Safety
/// The row is one of the catalog, and the column has OIDs.
unsafe fn oid_in(catalog: &Relation, row: pg_sys::HeapTuple, column: i16) -> Option<Oid> {
    let mut is_null = true;
    // SAFETY: the caller passes a row of the catalog, and the attnum of one of its columns or 0, which is not a column.
    let value = unsafe { pg_sys::SPI_getbinval(row, catalog.rd_att, column.into(), &mut is_null) };
    (!is_null).then(|| Oid::from_u32(value.value() as u32))
}

/// Whether a role gains no rights by renaming its objects: it is a superuser, or the current user.
fn is_trusted(role: Oid) -> bool {
    let database_owner = Oid::from_u32(pg_sys::ROLE_PG_DATABASE_OWNER);
    // SAFETY: look-ups in system caches, whose rows are of this form.
    unsafe {
        // The schema public belongs to pg_database_owner, a role whose only member is the owner of the database.
        if role == database_owner {
            let (cache, database) = (pg_sys::SysCacheIdentifier::DATABASEOID, pg_sys::MyDatabaseId.into());
            let owner = read_cached(cache, &[database], |row: &pg_sys::FormData_pg_database| row.datdba);
            return owner.is_some_and(|owner| owner != database_owner && is_trusted(owner));
        }
        role == pg_sys::GetUserId() || pg_sys::superuser_arg(role)
    }
}
