//! Guarded tables: a new row that is a near-duplicate of an existing row is rejected, skipped or marked.
//!
//! A guard is a trigger on a table. [`definition`] reads its arguments and lists the tables that it searches. [`row`]
//! checks each new row: it has the trigger function, the search for near rows, and the action. [`install`] creates and
//! drops the trigger ([`existing_guard`]), and [`guard_list`] lists the guards of a database. [`preview`] shows the
//! near-duplicates that a guard would find among a table's existing rows.

mod definition;
mod existing_guard;
mod guard_list;
mod install;
mod preview;
mod row;
