//! PostgreSQL's catalogs as types: an open [`relation`], its [`column`]s, [`index`]es, [`primary_key`] and
//! [`partition`]s. [`unlocked`] reads about tables that are not locked, and [`foreign`] about foreign tables. A
//! [`target`] is the table that a command works on; [`generation`] gives its generation expressions as SQL. [`citus`]
//! reads the catalogs of Citus.

pub mod citus;
pub mod column;
pub mod foreign;
pub mod foreign_key;
pub mod generation;
pub mod index;
pub mod partition;
pub mod primary_key;
pub mod relation;
pub mod target;
pub mod unlocked;
