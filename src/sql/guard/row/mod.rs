//! Checks the new rows of a guarded table.
//!
//! [`trigger`] is the trigger function. [`statement`] has the state of a guard in one statement, and [`decision`]
//! decides about each row. [`registration`] registers the row in the table of locks, so that two writers of near rows
//! find each other. [`search`] finds near rows, and [`near_rows`] selects the rows that count: they fulfil the
//! condition [`among`], and their texts resemble the new text ([`confirmation`]), both evaluated as the writer
//! ([`stored_rows`]). The others are [`dismissed`]. [`same_key`] finds the row that
//! INSERT .. ON CONFLICT would find. [`running`] has the rows that the statements of this session are storing. A
//! [`pending`] row is accepted and not stored yet.
//!
//! [`returned_row`] takes the guard's action: the [`near_duplicate`] is reported ([`rejection`]) or stored in the mark
//! column. [`disclosure`] leaves out of the report what the user may not see.

pub mod among;
pub mod confirmation;
mod decision;
pub mod disclosure;
pub mod dismissed;
mod near_duplicate;
mod near_rows;
mod pending;
mod registration;
mod rejection;
mod returned_row;
mod running;
mod same_key;
pub mod search;
mod statement;
mod stored_rows;
mod trigger;
