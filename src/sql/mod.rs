//! The SQL functions: each converts its arguments, calls [`crate::simhash`] and converts the result.
//!
//! `sql/pg_simhash.sql` declares them, under the names that pgrx gives their entry points (`NAME_wrapper`). What works
//! on fingerprints is here; [`attach`] gives tables fingerprints, [`search`] finds them, [`guard`] keeps
//! near-duplicates out, and [`batch`] compares all of a table's.

mod aggregate;
mod arguments;
mod arrays;
pub(crate) mod attach;
pub(crate) mod batch;
mod blocks;
mod calls;
mod distance;
mod error;
mod expression;
mod features;
mod fingerprint;
mod functions;
mod guard;
pub(crate) mod last;
mod lexemes;
mod names;
mod options;
mod owner;
mod query;
mod resemblance;
mod search;
mod spi;
mod tables;
mod text;
mod trigger;
mod tsvector;
