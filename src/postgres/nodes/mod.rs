//! PostgreSQL's node trees: [`expression`]s are read, [`build`]t, [`computed`] for a row, and seen in the query that the
//! [`planner`] works on. [`support`] functions answer the planner's requests.

pub mod build;
pub mod computed;
pub mod expression;
pub mod planner;
pub mod support;
