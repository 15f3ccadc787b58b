//! Block columns that were renamed after attach made them, recognised by their comments and generation expressions.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use postgres::catalog::column::{Column, generation_of};
use postgres::catalog::index::KeyKind;
use postgres::catalog::relation::Relation;
use postgres::catalog::target::Target;
use postgres::expression::Expression;
use simhash::search::blocks::BLOCK_COUNTS;

use super::indexes::NamedIndex;
use super::prefix::Prefix;
use super::provenance::{Maker, is_labelled_relation, maker_of};
use crate::sql::indexed::recognise::BlockCall;

/// A block column whose name is no longer one of a prefix.
pub struct RenamedBlock {
    pub name: String,
    pub expression: Expression,
    pub call: BlockCall,
}

impl RenamedBlock {
    /// The renamed columns that belong to the prefix by their names, in the order of the table's columns. The caller
    /// checks their source and layout.
    pub fn all_of(table: &Target, prefix: &Prefix) -> Result<Vec<Self>, ErrorReport> {
        let relation = table.open();
        let mut found = Vec::new();
        for column in Column::all(&relation).filter(|column| column.data_type == pg_sys::INT4OID) {
            let attnum = column.attnum;
            let Some(expression) = generation_of(&relation, attnum) else {
                continue;
            };
            let Some(call) = BlockCall::read(expression) else { continue };
            if maker_of(relation.oid(), attnum)? != Some(Maker::Attach) {
                continue;
            }
            let name = column.name()?;
            let has_own_name = (0..*BLOCK_COUNTS.end()).any(|block| prefix.block(block) == name);
            let column = Self { name, expression, call };
            if !has_own_name && !column.has_name_of_another(&relation)? && column.is_of(table, attnum, prefix)? {
                found.push(column);
            }
        }
        Ok(found)
    }

    /// Whether the column has the name of that block under another prefix in use. If the application fills the
    /// fingerprint column, no column shows which prefixes are in use, so any name of this form counts.
    fn has_name_of_another(&self, relation: &Relation) -> Result<bool, ErrorReport> {
        let Some(other) = self.name.strip_suffix(&format!("_block{}", self.call.block)) else { return Ok(false) };
        let is_fingerprint = |found: Column| found.data_type == pg_sys::INT8OID;
        Ok(self.call.fingerprint.as_own_column().is_some()
            || Column::find(relation, other)?.is_some_and(is_fingerprint))
    }

    /// Whether the column belongs to this prefix rather than to another with the same source. The name of an index that
    /// attach made on the column shows the prefix. Without such an index, the column belongs to this prefix if no other
    /// prefix lacks the block.
    fn is_of(&self, table: &Target, attnum: pg_sys::AttrNumber, prefix: &Prefix) -> Result<bool, ErrorReport> {
        let block = self.call.block;
        for index in NamedIndex::all_of(table)? {
            let is_on_it = index.keys.iter().any(|key| matches!(key.kind, KeyKind::Column(column) if column == attnum));
            // After the block, the name has the scope, or the suffix of all names of indexes.
            if is_on_it && is_labelled_relation(index.oid, 0)? && index.name.contains(&format!("_block{block}_")) {
                return Ok(index.name.contains(&format!("_{}_", prefix.block(block))));
            }
        }
        let relation = table.open();
        for column in Column::all(&relation).filter(|column| column.data_type == pg_sys::INT8OID) {
            let attnum = column.attnum;
            let generated = generation_of(&relation, attnum);
            if generated.is_some_and(|generated| generated.equals(self.call.fingerprint))
                && let other = column.name()?
                && other != prefix.fingerprint()
                && Column::find(&relation, &format!("{other}_block{block}"))?.is_none()
            {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
