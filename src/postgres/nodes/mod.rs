//! PostgreSQL's node trees: [`expression`] reads expressions, [`equality`] those by which a column equals one value,
//! [`condition`] parses conditions, and [`computed`] evaluates expressions for a row. [`planner`] reads the query that the planner works on, and
//! [`base_relation`] a relation of it, whose [`row_estimate`] it can correct; [`support`] answers the planner's
//! requests to support functions.

pub mod base_relation;
pub mod computed;
pub mod condition;
mod equality;
pub mod expression;
pub mod planner;
mod row_estimate;
pub mod support;
