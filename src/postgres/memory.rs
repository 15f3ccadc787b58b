//! Memory contexts.

use pgrx::prelude::*;
use pgrx::{PgMemoryContexts, pg_sys};

use super::error::{Result, user_error};

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
