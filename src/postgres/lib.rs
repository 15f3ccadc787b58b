//! PostgreSQL's interfaces that the SQL functions need. This crate uses only the errors of the crate `simhash`.
//!
//! - Calls: [`call`], [`arrays`], [`text`], [`text_identity`], [`trigger`] and [`window`] read what a function is
//!   given; [`argument_length`] limits it. [`parameters`] reads parameters of full text search; [`running_statement`]
//!   says what the statement that fires a trigger may do.
//! - Expressions: [`expression`] reads and builds trees, [`row_expression`] parses what users write, and [`built_in`]
//!   finds the code in it that PostgreSQL does not ship.
//! - Tables: [`catalog`] models the catalogs, and locks the names in statements against renaming; [`planner`] works
//!   with the planner; [`heap`] reads rows; [`row_movement`] recognises rows that an UPDATE moves to another partition.
//! - Statements: [`spi`] and [`query`] run them; [`owner`] runs code with the rights of a table's owner,
//!   [`subtransaction`] in a subtransaction; [`settings`] reads and changes settings; [`statement_hooks`] sees each
//!   statement.
//! - Names: [`encoding`] represents names and commands in the server's encoding as strings; [`server_string`] converts
//!   them.
//! - Errors: [`error`] makes errors and notices, [`raised`] raises errors with fields that pgrx lacks, and
//!   [`interrupts`] lets users cancel.
//! - Values: [`json`] writes JSON and converts `jsonb`, [`ordering`] compares values of any type, [`list`] reads lists;
//!   [`memory`] adds to collections, with an error if memory is short, and [`reserve`] keeps some for then.
//! - [`ffi`] declares what pgrx does not bind, or binds by functions of its own.

// Bindings of versions before 19 need casts and mutable references that are unnecessary here: there, the numbers of
// system caches have another type, and some functions take pointers to mutable values.
#![cfg_attr(feature = "pg19", allow(clippy::unnecessary_cast, clippy::unnecessary_mut_passed))]

pub mod argument_length;
pub mod arrays;
pub mod built_in;
pub mod call;
pub mod catalog;
pub mod encoding;
pub mod error;
pub mod expression;
pub mod ffi;
pub mod heap;
pub mod interrupts;
pub mod json;
pub mod list;
mod literals;
pub mod memory;
pub mod ordering;
pub mod owner;
pub mod parameters;
pub mod planner;
pub mod query;
pub mod raised;
pub mod reserve;
pub mod row_expression;
pub mod row_movement;
pub mod running_statement;
pub mod server_string;
pub mod settings;
pub mod spi;
pub mod statement_hooks;
pub mod subtransaction;
pub mod text;
pub mod text_identity;
pub mod trigger;
pub mod window;
