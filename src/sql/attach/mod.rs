//! Fingerprints for existing tables, and their removal.
//!
//! [`table`] is `simhash_attach`. [`online`] is `simhash_attach_online`, for tables in use; it creates the trigger of
//! [`update`], and is followed by [`fill`] and [`index_commands`]. [`unfilled`] finds rows that lack a fingerprint, and
//! [`text_source`] the text that a column's fingerprints are made from. [`detach`] removes what attach made, which it
//! recognises by its comments ([`provenance`]), even block columns that were [`renamed`].
//! [`command`] is the start of each command, [`source`] the column to fingerprint, and [`prefix`] the names of what is
//! made. [`block_indexes`] are the indexes of a layout; [`indexes`] and [`index_names`] list and name indexes.
//! [`loading`] makes queries load the library. [`foreign`] checks foreign tables.

mod block_indexes;
mod command;
mod detach;
mod fill;
mod foreign;
mod index_commands;
mod index_names;
mod indexes;
mod loading;
mod online;
mod prefix;
mod provenance;
mod renamed;
mod source;
mod table;
pub mod text_source;
pub mod unfilled;
pub mod update;
