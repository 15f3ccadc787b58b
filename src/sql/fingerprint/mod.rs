//! Functions on fingerprints and texts, without a table: [`simhash`] and its [`options`], [`aggregate`] and
//! [`weights_aggregate`], [`wide`] fingerprints, those of a [`tsvector`], their [`distance`] and [`blocks`], and the
//! [`features`] and the [`resemblance`] of texts. [`fingerprint_cache`] remembers the last text.

mod aggregate;
pub mod blocks;
mod distance;
mod features;
pub(crate) mod fingerprint_cache;
pub mod options;
pub(crate) mod resemblance;
pub mod simhash;
pub mod tsvector;
mod weights_aggregate;
mod wide;
