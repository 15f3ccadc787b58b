//! PostgreSQL's catalogs as types: [`relation`], its columns ([`column`]), [`index`]es, [`primary_key`], [`partition`]s
//! and [`statistics`]. [`unlocked`] reads of tables that are not locked. A [`target`] is a table that a command works
//! on; [`generation`] writes its generated columns as SQL.

pub mod column;
pub mod generation;
pub mod index;
pub mod partition;
pub mod primary_key;
pub mod relation;
pub mod statistics;
pub mod target;
pub mod unlocked;
