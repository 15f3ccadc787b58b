//! All near-duplicates of a table at once.
//!
//! [`pairs`] has `simhash_pairs` and, to combine the pairs of several searches, `simhash_components`. [`cluster`] has
//! the window functions `simhash_cluster` and `simhash_duplicate_of`: [`texts`] compares texts for them, and
//! [`window_results`] reads fingerprints and returns the key of the row that represents each row.

mod cluster;
mod pairs;
mod texts;
mod window_results;
