//! From text to shingles: [`markup`] takes the markup away if there is some, [`normalise`] normalises the text,
//! [`tokens`] cuts it into tokens by the [`classes`] of its characters, or of scripts without spaces by a
//! [`dictionary`], and [`shingle`] joins neighbouring tokens.

pub mod classes;
pub mod dictionary;
pub mod markup;
mod mask;
pub mod normalise;
pub mod shingle;
pub mod tokens;
mod utf8;
