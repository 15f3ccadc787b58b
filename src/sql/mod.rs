//! The SQL functions: each converts its arguments, calls [`crate::simhash`] and converts the result.
//!
//! `sql/pg_simhash.sql` declares them, under the names that pgrx gives their entry points (`NAME_wrapper`).

mod aggregate;
mod arrays;
mod attach;
mod blocks;
mod choice;
mod detach;
mod distance;
mod error;
mod expression;
mod expressions;
mod features;
mod fingerprint;
mod functions;
mod indexes;
pub(crate) mod last;
mod layouts;
mod marks;
mod near;
mod online;
mod options;
mod owner;
mod planner;
mod prefix;
pub(crate) mod progress;
mod rewrite;
mod skew;
mod source;
mod spi;
mod statistics;
mod target;
mod text;
mod tsvector;
mod update;
