//! Texts within others: [`passages`] finds the texts, and [`mod@matches`] shows where they match, for a [`headline`]. A
//! match is made of [`tiles`], runs of [`token`]s that both texts have, which begin at shared [`starts`]. The tiles are
//! found by chains of [`links`].

pub mod headline;
mod links;
pub mod matches;
pub mod passages;
mod starts;
pub mod tiles;
pub mod token;
