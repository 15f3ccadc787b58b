//! Guarded tables: no two rows are near-duplicates of each other.
//!
//! A guard is a trigger on a table. [`definition`] reads its arguments and lists the tables that it searches. [`row`]
//! checks each new row: it has the trigger function, the search for near rows, and the action. [`install`] creates and
//! drops the trigger, and [`guards`] reads its arguments for users. [`trial`] tries a guard on a stored row.
//! [`preview`] shows the near-duplicates that a guard would find among a table's existing rows, and reports a guard's
//! cost.

mod definition;
mod guards;
mod install;
mod preview;
mod row;
mod trial;
