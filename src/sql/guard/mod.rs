//! Guarded tables: no two rows are near-duplicates of each other.
//!
//! [`install`] puts the trigger on a table. [`trigger`] is its function, which decides about each new row. [`table`]
//! knows what there is to search, [`search`] looks for what is near, [`locks`] sees to it that two writers do not look
//! past each other. [`own_row`] is the row that INSERT .. ON CONFLICT finds in place of the new one, [`nearest`] the one
//! that is near, which [`key`] names and [`conflict`] reports. [`pending`] is the row that has been let in and is not
//! stored yet. [`cache`] remembers what is known of a table, and [`computed`] is what PostgreSQL computes only after
//! the trigger.

mod action;
mod cache;
mod conflict;
mod decision;
mod definition;
mod install;
mod locks;
mod mark_column;
mod members;
mod nearest;
mod own_row;
mod pending;
mod probes;
mod scope;
mod search;
mod trigger;
