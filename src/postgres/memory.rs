//! Memory: vectors that grow, the state of an aggregate, and what is done when a value is dropped or its memory freed.

use pgrx::datum::Internal;
use pgrx::{PgMemoryContexts, pg_sys};

use super::call::Call;
use super::error::{Result, invalid_parameter, out_of_memory};

/// Adds an element to a vector; raises an error if out of memory.
pub fn push<T>(vector: &mut Vec<T>, element: T) {
    vector.try_reserve(1).unwrap_or_else(|_| out_of_memory());
    vector.push(element);
}

/// Calls a function when it is dropped, also while a panic unwinds.
pub struct OnDrop<F: FnMut()>(pub F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        self.0();
    }
}

/// The state of an aggregate, made by `create` in its memory if there is none yet; an error outside an aggregate.
///
/// # Safety
/// The state is a `T` that `create` has made, and only this call refers to it.
pub unsafe fn aggregate_state<'a, T>(
    state: Internal,
    call: Call<'_>,
    aggregate: &str,
    create: impl FnOnce(PgMemoryContexts) -> *mut T,
) -> Result<(Internal, &'a mut T)> {
    let state = match state.unwrap() {
        Some(state) => state.cast_mut_ptr(),
        None => {
            let mut context = std::ptr::null_mut();
            // SAFETY: the call is running.
            if unsafe { pg_sys::AggCheckCallContext(call.info, &mut context) } == 0 {
                return Err(invalid_parameter(format!("{aggregate}'s functions work in an aggregate only")));
            }
            create(PgMemoryContexts::For(context))
        }
    };
    // SAFETY: the state lives as long as the aggregate, and the caller says that nothing else refers to it.
    Ok((Internal::from(Some(pg_sys::Datum::from(state))), unsafe { &mut *state }))
}
