//! Functions on fingerprints and texts, without a table: [`simhash`] and its [`options`], [`aggregate`] and
//! [`weights_aggregate`], [`wide`] fingerprints, fingerprints of a [`tsvector`] or in [`hex`] digits, their
//! [`distance`] and [`blocks`], and the [`features`], the
//! [`resemblance`], the [`difference`] and the [`passages`] of texts.
//! [`fingerprint_cache`] caches the fingerprint of the last text.

mod aggregate;
pub mod blocks;
mod difference;
mod distance;
mod features;
pub(crate) mod fingerprint_cache;
mod hex;
pub mod options;
mod passages;
pub(crate) mod resemblance;
pub mod simhash;
pub mod tsvector;
mod weights_aggregate;
mod wide;
