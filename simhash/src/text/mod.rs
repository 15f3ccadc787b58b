//! From text to shingles: [`markup`] removes the markup if there is some, [`normalise`] normalises the text, [`ignore`]
//! removes what the options ask for, [`tokens`] cuts it into tokens by the [`classes`] of its characters, many at a
//! time by a [`mod@mask`], and [`shingle`] joins neighbouring tokens. [`places`] tells where a token stands in the
//! text.

pub mod classes;
pub mod ignore;
pub mod markup;
pub(crate) mod mask;
pub mod normalise;
pub mod places;
pub mod shingle;
pub mod tokens;
