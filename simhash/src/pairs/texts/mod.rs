//! All near texts, and their clusters.
//!
//! Near texts are found by their [`sketches`]: those that share a band are [`candidates`]. [`confirmation`] reads the
//! texts of candidates and compares their features with those of the [`held_candidates`]. Its [`outcome`] is the
//! clusters of [`confirmed`] near-duplicates, found by [`stars`], or the rows that are [`kept`] if each row that
//! duplicates an earlier one is dropped. Where many share a band, [`prefixes`] say which to compare. [`in_memory`] does
//! it for texts that are all in memory.

mod candidates;
mod confirmation;
mod confirmed;
mod held_candidates;
mod in_memory;
mod kept;
mod outcome;
mod prefixes;
mod sketches;
mod stars;

pub use confirmation::Confirmation;
pub use confirmed::ConfirmedClusters;
pub use in_memory::representatives;
pub use kept::KeptRows;
pub use outcome::Outcome;
pub use sketches::TextSketches;
