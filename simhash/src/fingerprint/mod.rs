//! From text to fingerprint, size and bands, and what else is made of the features of texts. [`fingerprinter`] runs all
//! steps, as the [`options`] ask:
//!
//! 1. [`features`] cuts a text into features, which are made of [`units`], and hashes them by [`hash`].
//! 2. [`collect`] stores the distinct ones in a [`feature_table`], with a cache of [`seen_words`] before it, and their
//!    pairs of [`neighbours`]. [`mod@line`] is a short cut for short texts.
//! 3. [`weights`] and [`weight_map`] decide how much each counts; [`learn`] finds weights in a sample of texts.
//! 4. [`tally`] adds up the votes of the features on every bit of the fingerprint, [`size`] counts them, and [`bands`]
//!    are made of them, to find texts that resemble each other.
//!
//! [`feature_list`] and [`weighted`] show what a fingerprint is made of, and [`difference`] in what two texts differ.
//! [`resemblance`] compares two texts, [`feature_set`] many; [`sketch`] refutes most pairs without their texts.
//! [`agreement`] is what two texts must have in common by the option `same`: [`numbers`] and words.

pub mod agreement;
pub mod bands;
mod collect;
pub mod difference;
pub mod feature_list;
pub mod feature_set;
pub mod feature_table;
pub mod features;
mod fingerprinter;
pub mod hash;
pub mod invalid_options;
pub(crate) mod json_number;
pub mod learn;
mod line;
mod neighbours;
mod numbers;
pub mod options;
pub mod resemblance;
pub mod seen_words;
pub mod size;
pub mod sketch;
pub mod tally;
pub(crate) mod units;
pub mod weight_map;
pub mod weighted;
pub mod weights;

pub use fingerprinter::{Fingerprinter, Scratch, Summary};
