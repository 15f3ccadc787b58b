//! Guarded tables: no two rows are near-duplicates of each other.
//!
//! [`install`] puts the trigger on a table. [`trigger`] is its function, which decides about each new row. [`table`]
//! knows what there is to search, [`search`] looks for what is near, [`locks`] sees to it that two writers do not look
//! past each other, [`key`] names the row that was found, and [`conflict`] reports it.

mod cache;
mod conflict;
mod install;
mod key;
mod locks;
mod search;
mod table;
mod trigger;
