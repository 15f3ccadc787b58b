//! Checks the new rows of a guarded table.
//!
//! [`decision`] has the trigger function, which decides about each row of a [`statement`]. [`registration`] registers
//! the row in the table of locks, so that two writers of near rows find each other. [`search`] finds near rows, whose
//! texts resemble the new text, and [`near_rows`] selects those that count. [`evaluation`] computes texts and
//! conditions of rows. [`conflicting_rows`] finds the rows that INSERT .. ON CONFLICT would find.
//! [`current_row`] has the rows that the statements of this session are storing; a [`pending_row`] was accepted.
//!
//! [`returned_row`] takes the guard's action: the near-duplicate is reported or stored in the mark column.
//! [`disclosure`] leaves out of the report what the user may not see.

mod conflicting_rows;
mod current_row;
mod decision;
mod disclosure;
pub mod evaluation;
mod near_rows;
mod pending_row;
mod registration;
mod returned_row;
pub mod search;
mod statement;
