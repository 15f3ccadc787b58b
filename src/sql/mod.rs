//! The SQL functions: each converts its arguments, calls the crate [`simhash`] and converts the result.
//!
//! `sql/pg_simhash.sql` declares them, under the names that pgrx gives their entry points (`NAME_wrapper`). What works
//! on fingerprints is here; [`attach`] gives tables fingerprints, [`search`] finds them, [`guard`] keeps
//! near-duplicates out, and [`batch`] compares all of a table's.

mod aggregate;
mod arguments;
pub(crate) mod attach;
pub(crate) mod batch;
mod blocks;
mod distance;
mod features;
mod fingerprint;
pub(crate) mod fingerprint_cache;
mod fingerprint_column;
mod functions;
mod guard;
mod options;
mod recognise;
mod resemblance;
mod search;
mod tsvector;
