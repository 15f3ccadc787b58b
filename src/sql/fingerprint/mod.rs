//! Functions without a table. [`simhash`] and [`aggregate`] make fingerprints, by [`options`] that
//! [`weights_aggregate`] helps to choose; [`distance`] and [`blocks`] read them. [`features`], [`resemblance`],
//! [`passages`], [`matches`] and [`explanation`] compare texts. [`fingerprint_cache`] stores the results for the last
//! text.

mod aggregate;
pub mod blocks;
mod distance;
mod explanation;
mod features;
pub(crate) mod fingerprint_cache;
mod matches;
pub mod options;
mod passages;
pub(crate) mod resemblance;
pub mod simhash;
mod weights_aggregate;
