//! The SQL functions: each converts its arguments, calls the crate [`simhash`] and converts the result.
//!
//! `sql/pg_simhash.sql` declares them, under the names that pgrx gives their entry points (`NAME_wrapper`).
//! [`fingerprint`] has the functions on texts and fingerprints; [`attach`] indexes those of a table, [`search`] finds
//! their near-duplicates, [`guard`] keeps near-duplicates out of a table, and [`batch`] compares all rows of a table.
//! [`indexed`] reads which fingerprints and block indexes a table has, and [`lookup`] looks rows up by bands or blocks.

mod arguments;
pub(crate) mod attach;
pub(crate) mod batch;
pub(crate) mod fingerprint;
mod functions;
mod guard;
mod indexed;
mod lookup;
pub(crate) mod search;
pub(crate) mod version;
