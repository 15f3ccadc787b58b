//! A table that a guard searches: the columns that a search reads, and the indexes.

use pgrx::pg_sys::Oid;
use postgres::catalog::partition::partition_columns;
use postgres::catalog::relation::Relation;
use postgres::error::Result;
use postgres::heap::primary_key::PrimaryKey;
use postgres::heap::row::Row;

use super::arguments::Arguments;
use super::criterion::GuardCriterion;
use super::guard_expression::{GuardExpression, GuardExpressions};
use super::mark_column::MarkColumn;
use super::row_key::RecentRows;
use super::scope::GuardScope;
use super::searched_fingerprints::SearchedFingerprints;
use super::searched_texts::SearchedTexts;
use crate::sql::functions::ExtensionSchema;

/// A table to search: a guarded table, or a partition of one.
pub struct SearchedTable {
    pub oid: Oid,
    pub expressions: GuardExpressions,
    pub lookup: Lookup,
    pub scope: GuardScope,
    pub primary_key: PrimaryKey,
    /// The columns of all partition keys above a partition; empty for another table.
    pub partition_columns: Vec<i16>,
    /// The rows whose keys were last stored as marks of new rows. A search looks at them first: such a row, once
    /// updated, may be younger than thousands of its marked copies, which the indexes would find first.
    pub originals: RecentRows,
    /// The mark column, once `set_mark_columns` has set it; None if the guard does not mark.
    pub mark: Option<MarkColumn>,
}

pub enum Lookup {
    Texts(SearchedTexts),
    Fingerprints(SearchedFingerprints),
}

impl SearchedTable {
    /// Reads the columns and the indexes of a table. An error if the indexes do not serve searches by the criterion.
    pub fn new(table: &Relation, arguments: &Arguments, schema: ExtensionSchema) -> Result<Self> {
        let (expressions, source) = GuardExpressions::read(table, arguments, schema)?;
        let scope = GuardScope::new(table, &arguments.scope)?;
        let lookup = match &arguments.criterion {
            GuardCriterion::Texts(texts) => Lookup::Texts(SearchedTexts::read(table, source, &scope, texts)?),
            GuardCriterion::Distance(max_distance) => {
                Lookup::Fingerprints(SearchedFingerprints::read(table, source, &scope, *max_distance)?)
            }
        };
        Ok(Self {
            oid: table.oid(),
            expressions,
            lookup,
            scope,
            primary_key: PrimaryKey::read(table)?,
            partition_columns: partition_columns(table),
            originals: RecentRows::default(),
            mark: None,
        })
    }

    /// The positions, in the scope, of the columns that the indexes have before the key that is looked up.
    pub fn leading_scope_positions(&self) -> &[usize] {
        match &self.lookup {
            Lookup::Texts(texts) => &texts.leading_scope_positions,
            Lookup::Fingerprints(fingerprints) => &fingerprints.leading_scope_positions,
        }
    }

    /// Whether an UPDATE leaves the scope and the source as they are, byte for byte.
    pub fn is_unchanged(&self, old: Row<'_>, new: Row<'_>) -> bool {
        old.has_same_values(new, self.scope.attnums().chain(self.expressions.source.new_row_columns.iter().copied()))
    }

    /// Whether the rows that the guard finds, or the keys that it reports, depend on this column.
    pub fn depends_on(&self, column: i16) -> bool {
        let GuardExpression { new_row_columns, stored_row_columns, .. } = &self.expressions.source;
        self.primary_key.columns().any(|key_column| key_column.attnum == column)
            || self.scope.attnums().any(|attnum| attnum == column)
            || [new_row_columns, stored_row_columns, &self.partition_columns]
                .into_iter()
                .flatten()
                .any(|attnum| *attnum == column)
    }
}
