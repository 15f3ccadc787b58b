//! Near-duplicate text in PostgreSQL: SimHash fingerprints and exact search by Hamming distance.
//!
//! [`simhash`] is the algorithm and knows no PostgreSQL; `sql` makes SQL functions of it, which `sql/pg_simhash.sql`
//! declares.

pub mod simhash;
mod sql;

pgrx::pg_module_magic!();

pgrx::extension_sql_file!("../sql/pg_simhash.sql", name = "pg_simhash", finalize);

#[cfg(any(test, feature = "pg_test"))]
#[path = "../pg_test/mod.rs"]
pub mod pg_test;
