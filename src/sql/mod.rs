//! The SQL functions: each converts its arguments, calls [`crate::simhash`] and converts the result.
//!
//! `sql/pg_simhash.sql` declares them, under the names that pgrx gives their entry points (`NAME_wrapper`).

mod aggregate;
mod arrays;
mod blocks;
mod distance;
mod error;
mod features;
mod fingerprint;
pub(crate) mod last;
mod options;
mod text;
mod tsvector;
