//! Fingerprints for existing tables, and their removal.
//!
//! [`table`] is `simhash_attach`. It makes [`columns`] and their indexes, or [`indexes`] alone, which
//! [`index_commands`] prints for a table in use. [`detach`] removes what attach made. [`command`] is the start of each
//! command, and [`prefix`] has the names and labels of what attach makes.

mod columns;
mod command;
mod detach;
mod index_commands;
mod indexes;
mod prefix;
mod table;
