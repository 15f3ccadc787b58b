//! Reads rows of a table. A [`row`] is in a slot; its [`primary_key`] identifies it. [`row_version`] reads the versions
//! of all transactions, committed or not; [`transactions`] says which of these have committed, and waits for them.
//! [`entry_scan`] reads the entries of a btree, [`dirty_scan`] their row versions. A [`prepared_expression`] is
//! evaluated for a row.

pub mod dirty_scan;
pub mod entry_scan;
pub mod prepared_expression;
pub mod primary_key;
pub mod row;
pub mod row_version;
pub mod transactions;
