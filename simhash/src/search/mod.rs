//! Search by blocks: [`blocks`] cuts fingerprints and lists the values to look up, [`cost`] estimates what a search
//! costs with each layout, [`skew`] measures how uneven the blocks of a table are. [`lock_keys`] are what concurrent
//! writers of near fingerprints lock.

pub mod blocks;
pub mod cost;
pub mod lock_keys;
pub mod skew;
