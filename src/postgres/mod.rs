//! PostgreSQL as the SQL functions need it. Nothing here knows fingerprints: of the crate `simhash`, only its errors.
//!
//! [`catalog`] and [`nodes`] are models of the catalogs and of expression trees. [`row`], [`arrays`], [`text`],
//! [`trigger`] and [`window`] read what a function is given. [`dirty_scan`] reads tables: the [`row_version`]s of all
//! transactions, also of those that are in progress at some [`moment`]. [`spi`] and [`query`] run statements, [`owner`] with the
//! rights of a table's owner, while [`names`] keeps what they name from being renamed. [`error`] and [`report`] tell the user.
//! [`ffi`]
//! declares what pgrx does not bind.

pub mod arrays;
pub mod catalog;
pub mod dirty_scan;
pub mod error;
pub mod ffi;
pub mod moment;
pub mod names;
pub mod nodes;
pub mod owner;
pub mod query;
pub mod report;
pub mod row;
pub mod row_version;
pub mod spi;
pub mod text;
pub mod trigger;
pub mod window;
