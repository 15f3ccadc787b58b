//! Searches. [`near`] has the functions on fingerprints. [`condition`] recognises the conditions on a [`distance`] by
//! which a table can be searched, [`near_texts`] those on texts, and [`estimate`] estimates how many rows fulfil them.
//! [`other_options`] warns of fingerprints that cannot be near. [`path`] offers the scan of block indexes to the
//! planner and corrects the costs of joins, and [`plan`] defines what the plan stores. PostgreSQL runs a [`scan`] as a
//! [`custom_scan`], within a [`scope`] if the indexes have one. A [`finder`] reads the indexes, [`rows`] fetches rows,
//! and [`nearest`] returns the nearest rows first. [`explain`] adds to the output of EXPLAIN.

mod condition;
mod custom_scan;
mod distance;
mod estimate;
mod explain;
mod finder;
mod near;
mod near_texts;
mod nearest;
mod other_options;
pub mod path;
mod plan;
mod rows;
mod scan;
mod scope;

/// The distance that is assumed if it is not known when a query is planned.
const USUAL_DISTANCE: i32 = 3;
/// The radius of each block that is assumed if radii are not known when a query is planned.
const USUAL_RADIUS: i32 = 1;
