//! From text to fingerprint: [`features`] cuts the text into features and hashes them with [`hash`], [`collect`] stores
//! the distinct ones in a [`feature_table`], with [`seen_words`] before it; [`line`] is a short cut. [`weights`] and
//! [`weight_map`] decide how much each counts, and [`tally`] adds up their votes on every bit. [`fingerprinter`] runs
//! these steps as the [`options`] ask. [`feature_list`] and [`weighted`] show what a fingerprint is made of.
//! [`resemblance`] compares the features of two texts and pairs of [`neighbours`], [`feature_set`] those of many, and
//! [`agreement`] what texts must agree in, such as [`numbers`]; [`size`] counts what is compared, [`sketch`] tells
//! which texts cannot resemble each other, and [`difference`] lists what differs. [`learn`] finds weights. [`passages`]
//! are made of the same [`units`], to find texts within others, and [`mod@matches`], which are [`tiles`] of [`token`]s
//! between shared [`starts`] and in chains of [`links`], show where, for a [`headline`]; [`bands`] are made of the same
//! features, to find texts that resemble each other.

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
pub mod headline;
pub mod learn;
mod line;
mod links;
pub mod matches;
mod neighbours;
mod numbers;
pub mod options;
pub mod passages;
pub mod resemblance;
pub mod seen_words;
pub mod size;
pub mod sketch;
mod starts;
pub mod tally;
pub mod tiles;
pub mod token;
mod units;
pub mod weight_map;
pub mod weighted;
pub mod weights;

pub use fingerprinter::{Fingerprinter, Scratch, Summary};
