//! Functions on fingerprints and texts, without a table: [`simhash`] and its [`options`], [`aggregate`] and
//! [`weights_aggregate`], their [`distance`] and [`blocks`], and the [`features`], the [`resemblance`], the
//! [`passages`] and the [`matches`] of texts; the [`explanation`] says what makes two texts near-duplicates.
//! [`fingerprint_cache`] caches the fingerprint of the last text.

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
