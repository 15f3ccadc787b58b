//! Fingerprints and indexes for existing tables, and their removal.
//!
//! [`simhash_attach`] makes [`columns`] and their [`block_indexes`], or indexes alone; [`detach`] removes them, and
//! [`prefix`] names and labels them. [`simhash_index`] makes [`band_indexes`] by the commands of [`index_steps`]. All
//! begin with [`command`], and [`building`] is common to those that build indexes.

mod band_indexes;
mod block_indexes;
mod building;
mod columns;
mod command;
mod detach;
mod index_steps;
mod prefix;
mod simhash_attach;
mod simhash_index;
