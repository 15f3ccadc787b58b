//! Fingerprints and indexes for existing tables, and their removal.
//!
//! [`table`] is `simhash_attach`, which makes [`columns`] and their [`block_indexes`], or indexes alone. [`bands`] is
//! `simhash_index`, and `simhash_index_commands` for a table in use: [`band_indexes`] says what they index, and
//! [`index_steps`] by which commands. [`detach`] removes what attach made. [`command`] is the start of each command,
//! [`building`] is common to those that build indexes, and [`prefix`] names and labels what attach makes.

mod band_indexes;
mod bands;
mod block_indexes;
mod building;
mod columns;
mod command;
mod detach;
mod index_steps;
mod prefix;
mod table;
