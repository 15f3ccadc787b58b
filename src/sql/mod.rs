//! The SQL functions: each converts its arguments, calls the crate [`simhash`] and converts the result.
//!
//! `sql/pg_simhash.sql` declares them, under the names that pgrx gives their entry points (`NAME_wrapper`). Functions
//! on fingerprints are in this folder; [`attach`] adds fingerprints to tables, [`search`] finds the near-duplicates of
//! a fingerprint, [`guard`] keeps near-duplicates out of a table, and [`batch`] compares all fingerprints of a table.
//! [`indexed`] knows the block indexes that a table has.

mod aggregate;
mod arguments;
pub(crate) mod attach;
pub(crate) mod batch;
mod bits;
mod blocks;
mod distance;
mod features;
mod fingerprint;
pub(crate) mod fingerprint_cache;
mod fingerprint_column;
mod functions;
mod guard;
mod indexed;
mod options;
mod radii;
mod recognise;
pub(crate) mod resemblance;
pub(crate) mod rewrite_progress;
pub(crate) mod search;
mod tsvector;
mod weights_aggregate;
mod wide;
