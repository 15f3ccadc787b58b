//! Fingerprints for existing tables, and the way back.
//!
//! [`table`] is `simhash_attach`; [`online`] is the way for tables in use, with the trigger of [`update`], [`fill`] and
//! [`index_commands`]. Rows that are [`unfilled`] are filled or warned of. [`detach`] takes away what either has made,
//! which [`marks`] tell; block columns may have been [`renamed`]. A [`target`] is the table, a [`source`] the column to
//! fingerprint.

mod command;
mod detach;
mod fill;
mod index_commands;
mod index_names;
mod indexes;
mod online;
mod prefix;
pub(crate) mod progress;
mod provenance;
mod renamed;
mod source;
mod table;
pub mod unfilled;
mod update;
