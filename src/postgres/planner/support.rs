//! Requests to planner support functions (PostgreSQL's nodes/supportnodes.h).

use pgrx::datum::Internal;
use pgrx::pg_sys::{self, Datum, NodeTag, Oid};

use super::planner_info::Planner;
use super::semi_join::is_semi_or_anti;
use crate::error::Result;
use crate::expression::{Expression, expressions};

/// What the planner asks of a support function.
pub enum Request<'a> {
    /// An expression that is equivalent to the call with these arguments, and may be cheaper.
    Simplify { arguments: Vec<Expression> },
    /// A request for the share of rows, or of pairs of rows, that fulfil a condition; in a semi-join, of outer rows.
    Selectivity { planner: Planner, arguments: Vec<Expression>, is_semi_join: bool, answer: &'a mut f64 },
    /// A request for the cost of a window function.
    WindowCost { planner: Planner, function: Oid, arguments: Vec<Expression> },
}

/// Calls `respond` with a request. `respond` returns None, or writes an answer into the request: only
/// [`Request::Selectivity`] has a field for an answer. For the other requests, it can only raise errors and warnings.
pub fn answer(request: Internal, respond: impl FnOnce(Request<'_>) -> Result<Option<()>>) -> Result<Internal> {
    let datum = request.unwrap().unwrap_or_else(Datum::null);
    // SAFETY: the planner passes a support request, of the type that its tag says, with pointers that stay valid.
    let request = unsafe {
        match datum.cast_mut_ptr::<pg_sys::Node>().as_ref().map(|node| node.type_) {
            Some(NodeTag::T_SupportRequestSimplify) => {
                let request = &*datum.cast_mut_ptr::<pg_sys::SupportRequestSimplify>();
                let call = Expression::new(request.fcall).and_then(Expression::call);
                call.map(|(_, arguments)| Request::Simplify { arguments })
            }
            Some(NodeTag::T_SupportRequestSelectivity) => {
                let request = &mut *datum.cast_mut_ptr::<pg_sys::SupportRequestSelectivity>();
                let arguments = expressions(request.args);
                // An anti-join returns the rows that a semi-join does not.
                let is_semi_join = request.is_join && is_semi_or_anti(request.jointype);
                let (planner, answer) = (Planner::new(request.root), &mut request.selectivity);
                planner.map(|planner| Request::Selectivity { planner, arguments, is_semi_join, answer })
            }
            Some(NodeTag::T_SupportRequestCost) => {
                let request = &*datum.cast_mut_ptr::<pg_sys::SupportRequestCost>();
                let call = Expression::new(request.node).and_then(Expression::window_call);
                let planner = Planner::new(request.root);
                let to_request =
                    |(planner, (function, arguments))| Request::WindowCost { planner, function, arguments };
                planner.zip(call).map(to_request)
            }
            _ => None,
        }
    };
    let is_answered = request.map_or(Ok(None), respond)?.is_some();
    // A null pointer, returned as a value that is not NULL, means no answer.
    Ok(Internal::from(Some(if is_answered { datum } else { Datum::null() })))
}
