//! Looking rows up by the bands of a text or the blocks of a fingerprint: which keys a search looks up next, and in
//! which index. What becomes of a row is decided elsewhere: [`search`](super::search) fetches it, and a guard's
//! [`row`](super::guard) waits for it, refuses or marks.
//!
//! What is sought are [`text_keys`], or a fingerprint. The indexes are [`band_indexes`], or the layouts of
//! [`indexed`](super::indexed). A query walks in its [`query_indexes`], by bands ([`band_walk`]) or by blocks
//! ([`block_walk`]), and a guard in both ways under a dirty snapshot ([`dirty_walk`]).

pub mod band_indexes;
pub mod band_walk;
pub mod block_walk;
pub mod dirty_walk;
pub mod query_indexes;
pub mod text_keys;
