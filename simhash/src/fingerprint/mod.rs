//! Text to fingerprint: [`features`] cuts the text into features and hashes them by [`hash`], [`feature_table`] keeps
//! the distinct ones, [`weights`] and [`heaviest`] say how much each counts, [`tally`] adds their votes on every bit.
//! [`fingerprinter`] runs these steps, as the [`options`] ask for it. [`feature_list`] and [`weighted`] show what a
//! fingerprint was made of, and [`resemblance`] compares that of two texts.

pub mod feature_list;
pub mod feature_table;
pub mod features;
mod fingerprinter;
pub mod hash;
mod heaviest;
pub mod options;
pub mod resemblance;
pub mod tally;
pub mod weighted;
pub mod weights;

pub use fingerprinter::Fingerprinter;
