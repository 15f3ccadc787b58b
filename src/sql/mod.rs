//! The SQL functions: each converts its arguments, calls [`crate::simhash`] and converts the result.
//!
//! `sql/pg_simhash.sql` declares them, under the names that pgrx gives their entry points (`NAME_wrapper`).

mod aggregate;
mod arrays;
mod blocks;
mod choice;
mod distance;
mod error;
mod expression;
mod expressions;
mod features;
mod fingerprint;
mod functions;
pub(crate) mod last;
mod layouts;
mod near;
mod options;
mod planner;
mod rewrite;
mod statistics;
mod text;
mod tsvector;
