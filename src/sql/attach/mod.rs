//! Fingerprints and indexes for existing tables, and their removal.
//!
//! [`table`] is `simhash_attach`, which makes [`columns`] and their [`indexes`], or indexes alone. [`bands`] is
//! `simhash_index`, and `simhash_index_commands` for a table in use: [`asked_bands`] and [`text`] say what they index,
//! and [`index_steps`] has their commands. [`detach`] removes what attach made. [`command`] is the start of each
//! command, [`building`] is common to those that build indexes, and [`prefix`] has the names and labels of what attach
//! makes.

mod asked_bands;
mod bands;
mod building;
mod columns;
mod command;
mod detach;
mod index_steps;
mod indexes;
mod prefix;
mod table;
mod text;
