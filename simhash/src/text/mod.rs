//! From text to shingles: [`normalise`] normalises a text, [`tokens`] cuts it into tokens by the [`classes`] of its
//! characters, or of scripts without spaces by a [`dictionary`], and [`shingle`] joins neighbouring tokens.

pub mod classes;
pub mod dictionary;
mod mask;
pub mod normalise;
pub mod shingle;
pub mod tokens;
mod utf8;
