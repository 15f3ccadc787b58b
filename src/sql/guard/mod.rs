//! Guarded tables: no two rows are near-duplicates of each other.
//!
//! [`install`] puts the trigger on a table. [`trigger`] is its function, which decides about each new row. [`table`]
//! knows what there is to search, [`search`] looks for what is near, [`locks`] sees to it that two writers do not look
//! past each other. [`nearest`] is the row that was found, which [`key`] names and [`conflict`] reports. [`cache`]
//! remembers what is known of a table, and [`computed`] is what PostgreSQL computes only after the trigger.

mod cache;
mod computed;
mod conflict;
mod install;
mod key;
mod locks;
mod nearest;
mod search;
mod table;
mod trigger;
