//! Searches. [`near`] has the functions on fingerprints. [`condition`] recognises conditions on a [`distance`], and
//! says by which of them a table can be searched; [`estimate`] says how many rows fulfil them. [`path`] offers the scan
//! of block indexes to the planner, and [`plan`] is what the plan of a search stores. [`scan`] runs it, within a
//! [`scope`] if the indexes have one. It finds [`rows`] by a [`finder`] or, nearest first, by [`nearest`]. [`explain`]
//! shows what it has done.

mod condition;
mod distance;
mod estimate;
mod explain;
mod finder;
mod near;
mod nearest;
pub mod path;
mod plan;
mod rows;
mod scan;
mod scope;

/// The distance that is assumed if it is not known when a query is planned.
const USUAL_DISTANCE: i32 = 3;
