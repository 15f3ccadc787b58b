//! The guard of a table: the arguments of its trigger, and the tables that it searches, ready to decide about rows.

use std::ffi::{CStr, CString};
use std::slice;

use pgrx::pg_sys::Oid;
use pgrx::prelude::*;
use pgrx::{IntoDatum, direct_function_call};
use postgres::catalog::column::Column;
use postgres::catalog::partition::PartitionTree;
use postgres::catalog::relation::{ACCESS_SHARE, NO_LOCK, Relation};
use postgres::error::{Explain, Result, not_supported, user_error};
use postgres::server_string::server_string;
use postgres::trigger::{RowEvent, table_of_original};
use simhash::search::lock_keys::Secret;

use super::arguments::{Action, Arguments};
use super::distribution::{check_sees_all, names_without_shard};
use super::members::Members;
use super::searched_table::SearchedTable;
use super::source::column_name;
use crate::sql::functions::ExtensionSchema;

/// Identifies a guard: by its root ([`root_of`]), and by the trigger's arguments in the server's encoding.
#[derive(Clone, PartialEq, Eq)]
pub struct GuardIdentity {
    pub root: Oid,
    arguments: Vec<CString>,
    /// The partitions between the root and the trigger's own table that are being detached: see [`PartitionTree`].
    detached: Vec<Oid>,
}

/// A guard, ready to decide about rows. The cache stores it between statements.
pub struct Guard {
    pub identity: GuardIdentity,
    pub secret: Secret,
    pub action: Action,
    /// The condition under which a new row is stored unchecked, as SQL.
    pub unless: Option<String>,
    /// The tables to search: the root or, if it is partitioned, its leaf partitions.
    pub searched: Vec<SearchedTable>,
    /// The relations whose change makes the guard outdated: all tables, including partitioned ones, and the composite
    /// types that it reads.
    pub relations: Vec<Oid>,
}

impl Guard {
    /// Makes the guard of the event's trigger, which executes `function`. An error if the guard could not decide: a
    /// column is missing, a table cannot be searched, or Citus stores its rows where the guard does not see them.
    pub fn new(function: Oid, identity: GuardIdentity, event: &RowEvent) -> Result<Self> {
        let arguments = identity
            .arguments
            .iter()
            .map(|argument| server_string(argument.to_bytes()))
            .collect::<Result<Vec<_>, _>>()?;
        let arguments = Arguments::parse(&arguments)?;
        let Arguments { source, mark_column, scope, .. } = &arguments;
        check_has_columns(event, column_name(source).iter().chain(mark_column).chain(scope))?;
        // A statement that writes to a partition has not locked the root. SAFETY: any OID may be locked.
        unsafe { pg_sys::LockRelationOid(identity.root, ACCESS_SHARE) };
        let members = Members::read(identity.root, event.table().oid())?;
        for &member in &members.all {
            check_sees_all(&Relation::open(member), scope)?;
        }
        let searched = members.searched_with_marks(&arguments, ExtensionSchema::from_function(function))?;
        let secret = identity.secret();
        let Arguments { action, unless, .. } = arguments;
        // The columns of all partitions have the same types.
        let composite_types = searched.first().map_or_else(Vec::new, |table| table.expressions.composite_types());
        let relations = [members.all, composite_types].concat();
        Ok(Self { identity, secret, action, unless, searched, relations })
    }

    /// The position, in `searched`, of the table that a trigger fires for.
    pub fn position_of(&self, table: &Relation) -> Result<usize> {
        if let Some(position) = self.searched.iter().position(|own| own.oid == table.oid()) {
            return Ok(position);
        }
        // Another kind of table may have row triggers, but no rows of its own.
        Err(not_supported(format!("\"{}\" cannot be guarded", table.name()?))
            .with_detail("A guard searches tables and partitions."))
    }
}

impl GuardIdentity {
    pub fn from_event(event: &RowEvent) -> Result<Self> {
        let (root, own) = (root_of(event), event.table().oid());
        let detached = if root == own { Vec::new() } else { PartitionTree::read(root, own, NO_LOCK).detached };
        let arguments = event.arguments().into_iter().map(CStr::to_owned).collect();
        Ok(Self { root, arguments, detached })
    }

    pub fn has_arguments_of(&self, event: &RowEvent) -> bool {
        self.arguments.iter().map(CString::as_c_str).eq(event.arguments())
    }

    /// The secret with which the guard's lock keys are hashed: pg_locks is public, and must not reveal bands or
    /// fingerprints. It consists of SHA-256 hashes, each of a random number of the database cluster, the database, the
    /// guard's table, the position of the hash, and the arguments. Only users with access to the cluster's files can
    /// read the random number (PostgreSQL derives from it the salts of roles that do not exist). As each guard has its
    /// own secret, the locks on a user's own table reveal nothing about another's, and two guards of one table do not
    /// wait for each other's rows.
    fn secret(&self) -> Secret {
        // SAFETY: the number has this length, and stays in shared memory as long as the server runs. MyDatabaseId is a
        // plain number, set when the session started.
        let (nonce, database) = unsafe {
            let nonce = pg_sys::GetMockAuthenticationNonce().cast::<u8>();
            (slice::from_raw_parts(nonce, pg_sys::MOCK_AUTH_NONCE_LEN as usize), pg_sys::MyDatabaseId)
        };
        const SHA256_BYTES: usize = 32;
        let mut secret = [0; _];
        for (number, part) in (0u32..).zip(secret.chunks_exact_mut(SHA256_BYTES)) {
            let numbers = [database.to_u32(), self.root.to_u32(), number].map(u32::to_le_bytes);
            let mut hashed = [nonce, numbers.as_flattened()].concat();
            hashed.extend(self.arguments.iter().flat_map(|argument| argument.to_bytes_with_nul()));
            // SAFETY: sha256 takes a bytea and returns one, never NULL.
            let hash: Option<Vec<u8>> = unsafe { direct_function_call(pg_sys::sha256_bytea, &[hashed.into_datum()]) };
            part.copy_from_slice(&hash.expect("sha256 is not NULL"));
        }
        Secret(secret)
    }

    /// The identity that a partition being detached shares with the other partitions.
    pub fn without_detached(&self) -> Self {
        Self { detached: Vec::new(), ..self.clone() }
    }
}

/// An error that names the guard if its table lacks a column.
fn check_has_columns<'a>(event: &RowEvent, names: impl Iterator<Item = &'a String>) -> Result<()> {
    let table = event.table();
    for name in names {
        if Column::find(&table, name)?.is_some() {
            continue;
        }
        let (table, guard) = names_without_shard(&table, event.trigger_name()?)?;
        let message = format!("guard \"{guard}\" of table \"{table}\" needs column \"{name}\", which does not exist");
        return Err(user_error(PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN, message).with_hint(
            "Call simhash_guard again with the columns that the table has now, or simhash_unguard to remove the guard.",
        ));
    }
    Ok(())
}

/// The root of the guard: the table of the trigger or, if that was cloned to a partition, of the original trigger.
///
/// A trigger that was created on the partition itself sees only this partition: its owner may not have the right to
/// read the other partitions, and by choosing the trigger's arguments could learn much about their rows.
fn root_of(event: &RowEvent) -> Oid {
    let trigger = event.trigger();
    let original = if trigger.tgisclone { table_of_original(trigger.tgoid) } else { None };
    original.unwrap_or_else(|| event.table().oid())
}
