//! Requests to planner support functions (PostgreSQL's nodes/supportnodes.h).

use pgrx::datum::Internal;
use pgrx::pg_sys::{self, Datum, NodeTag, Oid};

use super::planner_info::Planner;
use super::semi_join::is_semi_or_anti;
use crate::error::Result;
use crate::expression::{Expression, expressions};

/// A request of the planner to a support function.
pub enum Request {
    /// An expression that is equivalent to the call with these arguments, and may be cheaper.
    Simplify { arguments: Vec<Expression> },
    /// The share of rows, or of pairs of rows, that fulfil a condition; in a semi-join, of outer rows.
    Selectivity { planner: Planner, arguments: Vec<Expression>, is_semi_join: bool },
    /// The cost of a window function.
    WindowCost { planner: Planner, function: Oid, arguments: Vec<Expression> },
}

/// Calls `respond` with a request. `respond` returns the selectivity, or None for no answer. Other requests get no
/// answer: for these, it only raises errors and warnings.
pub fn answer(request: Internal, respond: impl FnOnce(Request) -> Result<Option<f64>>) -> Result<Internal> {
    let datum = request.unwrap().unwrap_or_else(Datum::null);
    let mut selectivity = None;
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
                selectivity = Some(&mut request.selectivity);
                let planner = Planner::new(request.root);
                planner.map(|planner| Request::Selectivity { planner, arguments, is_semi_join })
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
    let answer = if let Some((selectivity, share)) = selectivity.zip(request.map_or(Ok(None), respond)?) {
        *selectivity = share;
        datum
    } else {
        // A null pointer, returned as a value that is not NULL, means no answer.
        Datum::null()
    };
    Ok(Internal::from(Some(answer)))
}
