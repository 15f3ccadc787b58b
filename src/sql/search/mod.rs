//! Searches. [`near`] has the functions on fingerprints and texts. [`condition`] recognises the conditions on distances
//! by which a table can be searched, [`near_texts`] those on texts, and [`estimate`] estimates how many rows fulfil
//! them. [`other_options`] warns of options that are not those of the table's fingerprints, bands and
//! passages. [`path`] offers scans to the planner and corrects the costs of joins: those of block indexes are in
//! [`distance_path`], those of band indexes in [`text_path`], each within a scope, which [`scoped_table`] knows.
//! [`plan`] defines what the plan stores. PostgreSQL runs a [`scan`] as a [`custom_scan`], within a [`scope`] if the
//! indexes have one. It reads the indexes as [`lookup`](super::lookup) does. In a [`distance_search`], [`nearest`]
//! returns the nearest rows first. [`explain`] adds to the output of EXPLAIN.

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

/// The distance that is assumed if it is not known when a query is planned.
const USUAL_DISTANCE: i32 = 3;
