//! Texts within others. [`passages`] find them. [`mod@matches`] show where, for a [`headline`]: they are [`tiles`] of
//! [`token`]s between shared [`starts`], in chains of [`links`].

pub mod headline;
mod links;
pub mod matches;
pub mod passages;
mod starts;
pub mod tiles;
pub mod token;
