//! PostgreSQL's interfaces, as the SQL functions need them. No module depends on the SQL functions, and of the crate
//! `simhash` only the errors are used.
//!
//! [`catalog`] and [`nodes`] model the catalogs and expression trees. [`call`], [`row`], [`arrays`], [`text`],
//! [`trigger`] and [`window`] read a function's input. [`dirty_scan`] reads the [`row_version`]s that any transaction
//! has written, committed or not; [`moment`] tells which transactions committed after a point in time, and waits for
//! others. [`spi`] and [`query`] run statements, whose names are [`server_text`], [`owner`] runs code with the rights
//! of a table's owner, and [`names`] keeps what statements name from being renamed, by [`row_lock`]s among others.
//! [`portal`] reads the client's statement. [`error`] makes errors and notices, [`raised`] lets errors of others pass,
//! [`json`] writes JSON, and [`report`] says when a progress report is due. [`ordering`] compares values of any type.
//! [`ffi`] declares what pgrx does not bind.

pub mod arrays;
pub mod call;
pub mod catalog;
pub mod custom_scan;
pub mod dirty_scan;
pub mod entry_scan;
pub mod error;
pub mod ffi;
pub mod json;
pub mod moment;
pub mod names;
pub mod nodes;
pub mod ordering;
pub mod owner;
pub mod portal;
pub mod query;
pub mod raised;
pub mod report;
pub mod row;
pub mod row_lock;
pub mod row_version;
pub mod server_text;
pub mod spi;
pub mod text;
pub mod trigger;
pub mod window;
