//! The SQL functions. `sql/pg_simhash.sql` declares them, under the names that pgrx gives their entry points
//! (`NAME_wrapper`).
//!
//! [`fingerprint`] has the functions on texts and fingerprints: each converts its arguments, calls the crate
//! [`simhash`] and converts the result. [`attach`] indexes the texts and fingerprints of a table, [`search`] finds
//! their near-duplicates, [`guard`] keeps near-duplicates out of a table, and [`batch`] compares all rows of a table.
//! [`indexed`] finds the columns and indexes of a table that serve searches, and [`lookup`] looks rows up by bands or
//! blocks. [`arguments`] and [`functions`] have what several of them need: checks of arguments, and the extension's own
//! functions. [`version`] refuses the objects of another version.

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
