//! Searches for near rows. [`near`] has the SQL functions.
//!
//! When a query is planned, [`path`] offers scans and corrects the planner's estimates. [`condition`] recognises the
//! conditions on distances by which a table can be searched, and [`near_texts`] the conditions on texts; [`estimate`]
//! estimates how many rows fulfil them, and [`other_options`] warns of queries with other options than the table has.
//! The scans and their costs are in [`distance_path`] for block indexes and in [`text_path`] for band indexes, each
//! within a scope ([`scoped_table`]). [`plan`] has the parts of a plan.
//!
//! PostgreSQL runs a [`scan`] as a [`custom_scan`], within a [`scope`] if the indexes have one. The scan reads the
//! indexes by [`lookup`](super::lookup): in a [`distance_search`], where [`nearest`] returns the nearest rows first, or
//! band by band. [`explain`] adds to the output of EXPLAIN.

mod condition;
mod custom_scan;
mod distance_path;
mod distance_search;
mod estimate;
mod explain;
mod near;
mod near_texts;
mod nearest;
mod other_options;
pub mod path;
mod plan;
mod scan;
mod scope;
mod scoped_table;
mod text_path;

/// The distance that is assumed if it is not known when a query is planned. A search for the nearest rows begins with
/// this distance too.
const USUAL_DISTANCE: i32 = 3;
