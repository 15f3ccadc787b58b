//! Guarded tables: no two rows are near-duplicates of each other.
//!
//! A guard is a trigger on a table. [`definition`] is what its arguments define, and which tables it searches. [`row`]
//! is what becomes of each new row: the trigger function, the search for near rows, and the action. [`install`] creates
//! and drops the trigger. [`preview`] shows what a guard would find among the rows that a table already has, and
//! reports what a guard costs.

mod definition;
mod install;
mod preview;
mod row;
