//! PostgreSQL's catalogs as types: an open [`relation`], its [`column`]s, [`index`]es and [`partition`]s. [`unlocked`]
//! reads about tables that are not locked, and [`foreign`] about foreign tables. A [`target`] is the table that a
//! command works on; [`generation`] gives its generation expressions as SQL, and [`foreign_key`] lists its foreign
//! keys. [`names`] locks the names in statements against renaming, with [`row_lock`]s among others. [`citus`] reads the
//! catalogs of Citus.

pub mod citus;
pub mod column;
pub mod foreign;
pub mod foreign_key;
pub mod generation;
pub mod index;
pub mod names;
pub mod partition;
pub mod relation;
pub mod row_lock;
pub mod target;
pub mod unlocked;
