//! Searches. [`near`] has the functions, [`condition`] recognises them in a query, [`wanted`] says which of them one
//! table can be searched for, [`estimate`] how many rows are near, and [`path`] offers the scan of block indexes to the
//! planner. [`plan`] is what its plan keeps. [`scan`] runs it, within a [`scope`] if the indexes have one: it reads
//! rows from a [`finder`] or, nearest first, from [`nearest`]; [`explain`] says what it did.

mod condition;
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
mod wanted;

/// The distance that is assumed if the planner does not know it.
const USUAL_DISTANCE: i32 = 3;
