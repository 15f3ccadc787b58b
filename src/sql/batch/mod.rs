//! All near-duplicates of a table at once: `simhash_pairs`, `simhash_cluster`, `simhash_duplicate_of` and, to combine
//! the pairs of several searches, `simhash_components`.

mod cluster;
mod pairs;
mod partition;
mod texts;
