//! The running call of a function: what is called, on what, and within what.

use std::ffi::c_int;
use std::marker::PhantomData;

use pgrx::PgMemoryContexts;
use pgrx::callconv::{Arg, ArgAbi};
use pgrx::datum::Internal;
use pgrx::pg_sys::{self, Oid};

use super::error::{Result, invalid_parameter};
use super::expression::Expression;

/// The running call of a `#[pg_extern]` function: an argument that SQL does not pass.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub(crate) info: pg_sys::FunctionCallInfo,
    lifetime: PhantomData<&'a ()>,
}

// SAFETY: the call runs for `'a`, the lifetime of its arguments.
unsafe impl<'a> ArgAbi<'a> for Call<'a> {
    unsafe fn unbox_arg_unchecked(argument: Arg<'_, 'a>) -> Self {
        // SAFETY: pgrx passes the running call.
        unsafe { Self::new(argument.unbox_unchecked()) }
    }

    fn is_virtual_arg() -> bool {
        true
    }
}

pgrx::impl_sql_translatable!(Call<'_>, arg_only = "internal");

impl<'a> Call<'a> {
    /// # Safety
    /// `info` belongs to a call that runs for `'a`, and knows its function, as every call from SQL does.
    pub unsafe fn new(info: pg_sys::FunctionCallInfo) -> Self {
        Self { info, lifetime: PhantomData }
    }

    /// The function that is called.
    pub fn function(self) -> Oid {
        // SAFETY: a running call knows its function.
        unsafe { (*(*self.info).flinfo).fn_oid }
    }

    /// Whether all arguments are constants, so that no row decides whether the call fails. PostgreSQL evaluates such
    /// a call of an immutable function while it plans.
    pub fn has_constant_arguments(self) -> bool {
        // SAFETY: `fn_expr` is null or a valid expression, which outlives the call.
        let expression = unsafe { Expression::new((*(*self.info).flinfo).fn_expr) };
        let function_and_arguments = expression.and_then(Expression::call);
        function_and_arguments
            .is_some_and(|(_, arguments)| arguments.iter().all(|argument| argument.constant().is_some()))
    }

    /// The type of an argument, whose `position` counts from 0; the invalid OID if the call has no expression.
    pub fn argument_type(self, position: c_int) -> Oid {
        // SAFETY: a running call knows its function, whose expression is null or valid.
        unsafe { pg_sys::get_fn_expr_argtype((*self.info).flinfo, position) }
    }

    /// The `context` of the call, if it is a node of type `tag`.
    pub fn context(self, tag: pg_sys::NodeTag) -> Option<*mut pg_sys::Node> {
        // SAFETY: the context of a running call is null or a node.
        unsafe {
            let node = (*self.info).context;
            (!node.is_null() && (*node).type_ == tag).then_some(node)
        }
    }

    /// The state of the aggregate that calls this function: as the result to return, and as a reference. If there is
    /// none yet, `create` makes it in the aggregate's memory context; outside an aggregate, that is an error, which
    /// names `aggregate`.
    ///
    /// # Safety
    /// The state is a `T` that `create` has made. Only this call refers to it, and does not use it after it ends.
    pub unsafe fn aggregate_state<T>(
        self,
        state: Internal,
        aggregate: &str,
        create: impl FnOnce(PgMemoryContexts) -> *mut T,
    ) -> Result<(Internal, &'a mut T)> {
        let pointer = match state.unwrap() {
            Some(datum) => datum.cast_mut_ptr(),
            None => {
                let mut context = std::ptr::null_mut();
                // SAFETY: the call is running.
                if unsafe { pg_sys::AggCheckCallContext(self.info, &mut context) } == 0 {
                    return Err(invalid_parameter(format!("{aggregate}'s functions work in an aggregate only")));
                }
                create(PgMemoryContexts::For(context))
            }
        };
        // SAFETY: the state lives as long as the aggregate, and the caller says that nothing else refers to it.
        Ok((Internal::from(Some(pg_sys::Datum::from(pointer))), unsafe { &mut *pointer }))
    }
}
