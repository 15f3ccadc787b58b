//! Works with the planner. [`planner_info`] reads the query that is planned, [`base_relation`] a relation of it, and
//! [`comparison`] its conditions on columns. [`row_estimate`] changes the planner's estimates of rows, and
//! [`semi_join`] its costs of joins. [`support`] answers the planner's requests to support functions.

pub mod base_relation;
mod comparison;
pub mod planner_info;
pub mod row_estimate;
pub mod semi_join;
pub mod support;
