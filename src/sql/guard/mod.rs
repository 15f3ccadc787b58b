//! Guarded tables: no two rows are near-duplicates of each other.
//!
//! [`install`] creates the trigger on a table. [`trigger`] is the trigger function; [`definition`] reads what it does
//! from its arguments, and [`cache`] keeps that between statements. [`decision`] decides about each new row, by the
//! guard's [`action`]. [`members`] lists the tables to search, [`search`] finds near rows in them within the [`scope`],
//! of which those count that fulfil a condition ([`among`]),
//! and [`locks`] keeps two writers from overlooking each other. [`criterion`] says what makes two rows near-duplicates,
//! and [`confirmation`] confirms it by their texts. [`own_row`] is the row that INSERT .. ON CONFLICT finds in place of
//! the new one, [`pending`] the row that was accepted and is not stored yet. [`nearest`] is the near-duplicate that was
//! found, which [`conflict`] reports and [`mark_column`] stores; [`disclosure`] says what the user may be told about it.
//! [`log`] is the table that gets a row about each row that is skipped or marked, and [`counts`] counts rows in each
//! session. [`preview`] shows what a guard would find among the rows of a table, and [`cheaper`] reports radii that cost
//! much less. [`distribution`] says which tables that Citus manages can be guarded.

mod action;
mod among;
mod cache;
mod cheaper;
mod confirmation;
mod conflict;
mod counts;
mod criterion;
mod decision;
mod definition;
mod disclosure;
mod distribution;
mod install;
mod locks;
mod log;
mod mark_column;
mod members;
mod nearest;
mod own_row;
mod pending;
mod preview;
mod scope;
mod search;
mod trigger;
