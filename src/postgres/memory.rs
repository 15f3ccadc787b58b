//! The state of an aggregate, and what is done when a value is dropped, as when its memory is freed.

use pgrx::datum::Internal;
use pgrx::prelude::*;
use pgrx::{PgMemoryContexts, pg_sys};

use super::error::{Result, user_error};

/// Calls a function when it is dropped, also while a panic unwinds.
pub struct OnDrop<F: FnMut()>(pub F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        self.0();
    }
}

/// The state of an aggregate. If there is none yet, `create` makes one in the memory of the aggregate; an error outside
/// an aggregate.
///
/// # Safety
/// `fcinfo` is that of the running call. The state is a `T` that `create` has made, and only this call refers to it.
pub unsafe fn aggregate_state<'a, T>(
    state: Internal,
    fcinfo: pg_sys::FunctionCallInfo,
    aggregate: &str,
    create: impl FnOnce(PgMemoryContexts) -> *mut T,
) -> Result<(Internal, &'a mut T)> {
    let state = match state.unwrap() {
        Some(state) => state.cast_mut_ptr(),
        None => {
            let mut context = std::ptr::null_mut();
            // SAFETY: the caller passes the running call's `fcinfo`.
            if unsafe { pg_sys::AggCheckCallContext(fcinfo, &mut context) } == 0 {
                let message = format!("{aggregate}'s functions work in an aggregate only");
                return Err(user_error(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message));
            }
            create(PgMemoryContexts::For(context))
        }
    };
    // SAFETY: the state lives as long as the aggregate, and the caller says that nothing else refers to it.
    Ok((Internal::from(Some(pg_sys::Datum::from(state))), unsafe { &mut *state }))
}
