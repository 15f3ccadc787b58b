//! The near-duplicates that a guard would find among a table's existing rows, and its cost for each new row.
//!
//! [`function`] is `simhash_preview`. [`sample`] looks up a sample of the rows as a guard looks up new rows: it finds
//! the [`earlier`] row that each row is near, and sorts the rows into groups. [`common_words`] weighs what
//! the texts have in common. [`cost`] reports if a guard is expensive, also when `simhash_guard` creates it.

mod common_words;
pub mod cost;
mod earlier;
mod function;
pub mod sample;
