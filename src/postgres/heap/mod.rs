//! Rows of a table. A [`row`] is in a slot; its [`primary_key`] identifies it. [`row_version`] reads the versions of
//! all transactions, committed or not, and [`moment`] says which have committed, and waits for them. [`entry_scan`]
//! reads the entries of a btree, [`dirty_scan`] their row versions, and [`computed`] evaluates expressions for a row.

pub mod computed;
pub mod dirty_scan;
pub mod entry_scan;
pub mod moment;
pub mod primary_key;
pub mod row;
pub mod row_version;
