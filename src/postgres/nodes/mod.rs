//! PostgreSQL's node trees: [`expression`]s are read and built, [`computed`] for a row, and seen in the query that the
//! [`planner`] works on.

pub mod computed;
pub mod expression;
pub mod planner;
