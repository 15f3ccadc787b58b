//! Requests to planner support functions (PostgreSQL's nodes/supportnodes.h).

use pgrx::datum::Internal;
use pgrx::pg_sys::{self, Datum, NodeTag, Oid};

use super::planner_info::Planner;
use super::semi_join::is_semi_or_anti;
use crate::error::Result;
use crate::expression::{Expression, expressions};

/// A request of the planner to a support function. Only a request for a selectivity is ever answered; the others are
/// occasions to report errors and warnings while a query is planned.
pub enum Request {
    /// The planner asks for a simpler form of a call that it cannot evaluate. This is where constants are checked.
    Simplify { arguments: Vec<Expression> },
    /// The planner asks for the share of rows that fulfil a condition: in a join, of pairs of rows; in a semi-join, of
    /// outer rows.
    Selectivity { planner: Planner, arguments: Vec<Expression>, is_semi_join: bool },
    /// The planner asks for the cost of a call of a window function. This is where warnings are given.
    WindowCost { planner: Planner, function: Oid, arguments: Vec<Expression> },
}

/// Calls `respond` with a request. `respond` returns the selectivity, or None for no answer.
pub fn answer(internal: Internal, respond: impl FnOnce(Request) -> Result<Option<f64>>) -> Result<Internal> {
    let datum = internal.unwrap().unwrap_or_else(Datum::null);
    let mut selectivity = None;
    // SAFETY: the planner passes a support request, of the type that its tag says, with pointers that stay valid.
    let request = unsafe {
        match datum.cast_mut_ptr::<pg_sys::Node>().as_ref().map(|node| node.type_) {
            Some(NodeTag::T_SupportRequestSimplify) => {
                let asked = &*datum.cast_mut_ptr::<pg_sys::SupportRequestSimplify>();
                let call = Expression::new(asked.fcall).and_then(Expression::call);
                call.map(|(_, arguments)| Request::Simplify { arguments })
            }
            Some(NodeTag::T_SupportRequestSelectivity) => {
                let asked = &mut *datum.cast_mut_ptr::<pg_sys::SupportRequestSelectivity>();
                let arguments = expressions(asked.args);
                // An anti-join returns the rows that a semi-join does not, so the planner asks for the same share.
                let is_semi_join = asked.is_join && is_semi_or_anti(asked.jointype);
                selectivity = Some(&mut asked.selectivity);
                let planner = Planner::new(asked.root);
                planner.map(|planner| Request::Selectivity { planner, arguments, is_semi_join })
            }
            Some(NodeTag::T_SupportRequestCost) => {
                let asked = &*datum.cast_mut_ptr::<pg_sys::SupportRequestCost>();
                let call = Expression::new(asked.node).and_then(Expression::window_call);
                let planner = Planner::new(asked.root);
                let to_request =
                    |(planner, (function, arguments))| Request::WindowCost { planner, function, arguments };
                planner.zip(call).map(to_request)
            }
            _ => None,
        }
    };
    let share = request.map_or(Ok(None), respond)?;
    let Some((selectivity, share)) = selectivity.zip(share) else {
        // A null pointer, returned as a value that is not NULL, means no answer.
        return Ok(Internal::from(Some(Datum::null())));
    };
    *selectivity = share;
    Ok(Internal::from(Some(datum)))
}
