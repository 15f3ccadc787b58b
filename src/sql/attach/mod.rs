//! Fingerprints for existing tables, and their removal.
//!
//! [`table`] is `simhash_attach`. It makes [`columns`] and their indexes, or [`indexes`] alone, which
//! [`index_commands`] prints for a table in use. [`detach`] removes what attach made, which it recognises by
//! [`label`]s in comments. [`command`] is the start of each command, and [`prefix`] has the names of what attach makes.
//! [`foreign`] checks foreign tables, and [`triggers`] those that generated columns would break.

mod columns;
mod command;
mod detach;
mod foreign;
mod index_commands;
mod index_names;
mod indexes;
mod label;
mod prefix;
mod table;
mod triggers;
