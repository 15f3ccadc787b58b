//! Runs code with the rights of a table's owner and no others, as PostgreSQL does in CREATE INDEX and VACUUM.
//!
//! Changing a table runs code of its owner: generation expressions, index predicates, triggers. A superuser who
//! attaches a user's table must not lend that code a superuser's rights. The same holds for a user who only reads a
//! table: PostgreSQL folds the constants of an index's expressions when it first reads them.

use pgrx::prelude::*;

use super::settings::with_safe_search_path;

/// Whether the current user owns the relation, is a member of the owner's role, or is a superuser.
pub fn is_owner(relation: pg_sys::Oid) -> bool {
    // SAFETY: the checks look up system caches.
    unsafe {
        let user = pg_sys::GetUserId();
        #[cfg(feature = "pg15")]
        return pg_sys::pg_class_ownercheck(relation, user);
        #[cfg(not(feature = "pg15"))]
        return pg_sys::object_ownercheck(pg_sys::RelationRelationId, relation, user);
    }
}

/// Calls `run` as the owner, in a security-restricted operation, with pg_catalog first in the search path.
///
/// The previous user, restrictions and settings are restored when `run` returns. After a PostgreSQL error, PostgreSQL
/// restores them itself when it ends the (sub)transaction.
pub(crate) fn as_owner<T>(owner: pg_sys::Oid, run: impl FnOnce() -> T) -> T {
    as_user(Some(owner), pg_sys::SECURITY_RESTRICTED_OPERATION, || with_safe_search_path(run))
}

/// Calls `run` without the policies that FORCE ROW LEVEL SECURITY applies to the owner, as PostgreSQL reads the tables
/// of foreign keys. `run` must not evaluate anything.
pub(crate) fn without_forced_policies<T>(run: impl FnOnce() -> T) -> T {
    as_user(None, pg_sys::SECURITY_NOFORCE_RLS, run)
}

/// Calls `run` as a user, or as the current one, with another flag of the security context.
fn as_user<T>(user: Option<pg_sys::Oid>, flag: u32, run: impl FnOnce() -> T) -> T {
    let (mut previous, mut security_context) = (pg_sys::InvalidOid, 0);
    // SAFETY: a transaction is running, as in every function call; all changes are undone in reverse order.
    unsafe {
        pg_sys::GetUserIdAndSecContext(&mut previous, &mut security_context);
        pg_sys::SetUserIdAndSecContext(user.unwrap_or(previous), security_context | flag as i32);
        let result = run();
        pg_sys::SetUserIdAndSecContext(previous, security_context);
        result
    }
}
