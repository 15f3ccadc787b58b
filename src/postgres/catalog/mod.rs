//! PostgreSQL's catalogs as types: an open [`relation`], its [`column`]s, [`index`]es and [`partition`]s. [`cache`]
//! reads rows of the system caches. A [`target`] is the table that a command changes; [`generation`] returns its
//! generation expressions as SQL. [`names`] locks names of objects against renaming, also by a [`row_lock`]. [`citus`]
//! reads the catalogs of Citus.

pub mod cache;
pub mod citus;
pub mod column;
pub mod generation;
pub mod index;
pub mod names;
pub mod partition;
pub mod relation;
pub mod row_lock;
pub mod target;
