//! Text to shingles: [`normalise`] brings a text into one form, [`tokens`] cuts it by the [`classes`] of its
//! characters, and [`shingle`] joins neighbouring tokens.

pub mod classes;
pub mod normalise;
pub mod shingle;
pub mod tokens;
mod utf8;
