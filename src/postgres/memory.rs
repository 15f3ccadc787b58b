//! Memory contexts.

use std::ffi::CStr;

use pgrx::prelude::*;
use pgrx::{PgMemoryContexts, pg_sys};

use super::error::{Result, user_error};

/// A new memory context for little memory.
///
/// # Safety
/// The parent is a valid memory context.
pub unsafe fn small_context(parent: pg_sys::MemoryContext, name: &'static CStr) -> pg_sys::MemoryContext {
    let [minimum, initial, maximum] =
        [pg_sys::ALLOCSET_SMALL_MINSIZE, pg_sys::ALLOCSET_SMALL_INITSIZE, pg_sys::ALLOCSET_SMALL_MAXSIZE];
    // SAFETY: the caller passes a valid parent; the name lives as long as the process.
    unsafe {
        pg_sys::AllocSetContextCreateInternal(
            parent,
            name.as_ptr(),
            minimum as usize,
            initial as usize,
            maximum as usize,
        )
    }
}

/// The memory in which an aggregate stores its state; an error outside an aggregate.
///
/// # Safety
/// `fcinfo` is that of the running call.
pub unsafe fn of_aggregate(fcinfo: pg_sys::FunctionCallInfo, aggregate: &str) -> Result<PgMemoryContexts> {
    let mut context = std::ptr::null_mut();
    // SAFETY: the caller passes the running call's `fcinfo`.
    if unsafe { pg_sys::AggCheckCallContext(fcinfo, &mut context) } == 0 {
        let message = format!("{aggregate}'s functions work in an aggregate only");
        return Err(user_error(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message));
    }
    Ok(PgMemoryContexts::For(context))
}
