//! Fingerprints and indexes for existing tables, and their removal.
//!
//! [`simhash_attach`] makes [`columns`] and their [`block_indexes`], or indexes alone; [`detach`] removes them, and
//! [`prefix`] names and labels them. [`simhash_index`] makes [`band_indexes`]. Both build by [`index_steps`], with
//! [`index_names`]. All begin with [`command`], and run SQL commands, so that PostgreSQL checks and logs each step.

mod band_indexes;
mod block_indexes;
mod columns;
mod command;
mod detach;
mod index_names;
mod index_steps;
mod prefix;
mod simhash_attach;
mod simhash_index;
