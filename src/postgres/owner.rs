//! Running with the rights of a table's owner and no others, as PostgreSQL's own CREATE INDEX and VACUUM do.
//!
//! What changes a table evaluates code of its owner: generation expressions, index predicates, triggers. A superuser
//! who attaches somebody's table must not lend that code a superuser's rights. Nor must whoever only looks at a table:
//! PostgreSQL computes the constant parts of an index's expressions when it reads them for the first time.

use pgrx::prelude::*;

/// Whether the current user is the owner of the relation, a member of the owner's role, or a superuser.
pub fn is_owner(relation: pg_sys::Oid) -> bool {
    // SAFETY: look-ups in system caches.
    unsafe {
        let user = pg_sys::GetUserId();
        #[cfg(any(feature = "pg14", feature = "pg15"))]
        return pg_sys::pg_class_ownercheck(relation, user);
        #[cfg(not(any(feature = "pg14", feature = "pg15")))]
        return pg_sys::object_ownercheck(pg_sys::RelationRelationId, relation, user);
    }
}

/// Runs `f` as the owner, in a security-restricted operation, with the system's schema first in the search path.
///
/// The former user, restrictions and settings come back when `f` returns. After an error of PostgreSQL's, PostgreSQL
/// brings them back itself when it ends the (sub)transaction.
pub fn as_owner<T>(owner: pg_sys::Oid, f: impl FnOnce() -> T) -> T {
    let (mut user, mut context) = (pg_sys::InvalidOid, 0);
    let restriction = pg_sys::SECURITY_RESTRICTED_OPERATION as i32;
    // SAFETY: within a transaction, as every function call is; what is changed is put back in the reverse order.
    unsafe {
        pg_sys::GetUserIdAndSecContext(&mut user, &mut context);
        pg_sys::SetUserIdAndSecContext(owner, context | restriction);
        let result = with_settings(|| {
            set(c"search_path", c"pg_catalog, pg_temp");
            f()
        });
        pg_sys::SetUserIdAndSecContext(user, context);
        result
    }
}

/// The same for statements that run the table's triggers, which may do what a restricted operation may not (defer a
/// constraint, say), and may need the search path of who calls: the owner, who runs them anyway, is not restricted, and
/// keeps the search path. So `f` names all that it means with its schema.
pub fn as_owner_with_triggers<T>(owner: pg_sys::Oid, f: impl FnOnce() -> T) -> T {
    // SAFETY: no arguments, no conditions.
    let is_owner = unsafe { pg_sys::GetUserId() } == owner;
    if is_owner { with_settings(f) } else { as_owner(owner, f) }
}

/// Runs `f`, and puts back what it has `set`.
pub fn with_settings<T>(f: impl FnOnce() -> T) -> T {
    // SAFETY: within a transaction, as every function call is.
    unsafe {
        let settings = pg_sys::NewGUCNestLevel();
        let result = f();
        pg_sys::AtEOXact_GUC(false, settings);
        result
    }
}

/// Sets a setting until the nest level ends.
pub fn set(name: &'static std::ffi::CStr, value: &'static std::ffi::CStr) {
    // SAFETY: both are NUL-terminated, and any user may set what is set here.
    unsafe {
        pg_sys::set_config_option(
            name.as_ptr(),
            value.as_ptr(),
            pg_sys::GucContext::PGC_USERSET,
            pg_sys::GucSource::PGC_S_SESSION,
            pg_sys::GucAction::GUC_ACTION_SAVE,
            true,
            0,
            false,
        );
    }
}
