//! Search by blocks: [`blocks`] cuts fingerprints into blocks and lists the values to look up, and [`growth`] decides
//! in which order to look them up. [`cost`] estimates the cost of a search with each layout, and [`layout_costs`]
//! measures how uneven the blocks of a table are. [`lock_keys`] makes the keys that writers of near rows lock.

pub mod blocks;
pub mod cost;
pub mod growth;
pub mod layout_costs;
pub mod lock_keys;
