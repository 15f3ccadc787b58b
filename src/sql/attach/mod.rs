//! Fingerprints for existing tables, and their removal.
//!
//! [`table`] is `simhash_attach`. [`online`] is `simhash_attach_online`, for tables in use; it goes with the trigger of
//! [`update`], [`fill`] and [`index_commands`]. [`detach`] removes what attach made, which it recognises by its
//! comments ([`provenance`]), even block columns that were [`renamed`]. [`command`] is the start of each command, and
//! [`prefix`] has the names of the objects that attach makes. [`block_indexes`] are the indexes of a layout;
//! [`indexes`] and [`index_names`] list and name indexes. [`loading`] makes queries load the library. [`foreign`]
//! checks foreign tables.

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
mod table;
mod update;
