//! Rows of a table. A [`row`] is in a slot; its [`primary_key`] identifies it. [`row_version`] reads the versions of
//! all transactions, committed or not. [`moment`] says which transactions committed after a point in time, and waits
//! for transactions. [`entry_scan`] reads the entries of a btree, and [`dirty_scan`] their row versions. [`computed`]
//! evaluates expressions for a row.

pub mod computed;
pub mod dirty_scan;
pub mod entry_scan;
pub mod moment;
pub mod primary_key;
pub mod row;
pub mod row_version;
