//! Looking rows up by the bands of a text: [`band_indexes`] knows the indexes of a table that have them, and
//! [`text_keys`] what a search looks up there.

pub mod band_indexes;
pub mod text_keys;
