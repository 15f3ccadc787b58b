//! PostgreSQL's node trees: [`expression`] reads expressions, [`build`] makes them, and [`computed`] evaluates them for
//! a row. [`planner`] reads the query that the planner works on; [`support`] answers its requests to support functions.

pub mod base_relation;
pub mod computed;
pub mod expression;
pub mod planner;
pub mod support;
