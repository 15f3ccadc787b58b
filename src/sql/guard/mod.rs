//! Guarded tables: no two rows are near-duplicates of each other.
//!
//! A guard is a trigger on a table. [`definition`] reads its arguments and lists the tables that it searches. [`row`]
//! checks each new row: it has the trigger function, the search for near rows, and the action. [`install`] creates and
//! drops the trigger, and [`guards`] lists the guards of a database. [`preview`] shows the near-duplicates that a guard
//! would find among a table's existing rows.

mod definition;
mod guards;
mod install;
mod preview;
mod row;
