//! The definition of a guard: the arguments of its trigger, and the columns and indexes that they select in each table.
//!
//! [`arguments`] reads the trigger's arguments and writes them. [`guard`] makes a guard from the arguments, and
//! [`cache`] stores it between statements. The arguments are an action, the [`criterion`] of near-duplicates, the
//! [`source`] that is compared, a [`mark_column`] ([`mark_check`]), the columns of a [`scope`], and two [`condition`]s.
//! [`guard_expression`] says which code these may run. When a user asks for a guard, [`asked_sql`] parses the SQL under
//! the user's search path, and [`asked_source`] finds the source.
//!
//! [`members`] lists the tables to search, and [`searched_table`] has the columns and indexes of each table. The
//! indexes are [`searched_texts`] or [`searched_fingerprints`]. The rows near a row are looked up by its [`row_key`].
//! [`distribution`] checks tables that Citus distributes.

pub mod arguments;
pub mod asked_source;
pub mod asked_sql;
pub mod cache;
pub mod condition;
pub mod criterion;
pub mod distribution;
pub mod guard;
pub mod guard_expression;
pub mod mark_check;
pub mod mark_column;
pub mod members;
pub mod row_key;
pub mod scope;
pub mod searched_fingerprints;
pub mod searched_table;
pub mod searched_texts;
pub mod source;
