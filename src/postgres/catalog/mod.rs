//! Models PostgreSQL's catalogs: an open [`relation`], its [`column`]s with their [`types`] and [`statistics`], its
//! [`row_value`]s, [`index`]es and [`partition`]s, and the [`target`], which is the table that a command changes.
//! [`cache`] reads rows of the system caches. [`names`] locks names of objects against renaming, also by a
//! [`row_lock`]. [`citus`] reads the catalogs of Citus.

pub mod cache;
pub mod citus;
pub mod column;
pub mod index;
pub mod names;
pub mod partition;
pub mod relation;
pub mod row_lock;
pub mod row_value;
pub mod statistics;
pub mod target;
pub mod types;
