//! The planner's interfaces. [`planner_info`] reads the query that it plans, and [`base_relation`] a relation of the
//! query: the conditions by which a column equals one value ([`equality`]), and the number of rows that the planner
//! expects ([`row_estimate`]). [`custom_scan`] offers it a scan of our own, and [`support`] answers its requests to
//! support functions.

pub mod base_relation;
pub mod custom_scan;
mod equality;
pub mod planner_info;
mod row_estimate;
pub mod support;
