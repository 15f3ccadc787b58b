//! Looking rows up by the bands of a text or the blocks of a fingerprint: which keys a search looks up next, and in
//! which index. What becomes of a row that is found is decided elsewhere: [`search`](super::search) returns it, and a
//! [`guard`](super::guard) compares it with the new row.
//!
//! For a text, a search looks up [`text_keys`] in [`band_indexes`]; for a fingerprint, blocks in the layouts of
//! [`indexed`](super::indexed). A query reads its [`query_indexes`] by a [`band_walk`] or a [`block_walk`]. A guard
//! reads indexes by a [`dirty_walk`], under a dirty snapshot.
//!
//! Both walks over blocks look up what `Growth` says, but by loops of their own. The executor pulls rows from a query's
//! walk, and may stop after any; a guard's walk pushes rows to the search, and ends within one call.

pub mod band_indexes;
pub mod band_walk;
pub mod block_walk;
pub mod dirty_walk;
pub mod query_indexes;
pub mod text_keys;
