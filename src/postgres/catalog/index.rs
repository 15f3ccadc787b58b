//! Reads the indexes of a table.

use std::ffi::{CStr, CString};

use pgrx::pg_sys::{self, Oid};

use super::column::Column;
use super::partition::with_inheritors;
use super::relation::{ACCESS_SHARE, NO_LOCK, Relation};
use super::row_value::RowValue;
use super::statistics::{has_zero_target, read_statistics};
use super::types::btree_operator_family;
use crate::error::Result;
use crate::expression::{Expression, expressions};
use crate::server_string::server_string;
use crate::spi::query_oids;

/// An index, as it was when it was read.
pub struct Index {
    pub oid: Oid,
    name: CString,
    /// The keys in order, at least one.
    pub keys: Vec<IndexKey>,
    /// The columns in order, keys before included columns; 0 for an expression.
    pub columns: Vec<i16>,
    /// Whether the index has a predicate, which leaves out rows.
    pub is_partial: bool,
    /// Whether queries may use the index: it is built, in all partitions of the table too, and is not being dropped.
    pub is_valid: bool,
    /// Whether the index is attached to an index of the partitioned table.
    pub is_partition: bool,
    /// Whether the index is neither unique nor of a constraint.
    pub is_unconstrained: bool,
}

/// A column or an expression that is a key of an index, and how the index compares it.
#[derive(Clone, Copy)]
pub struct IndexKey {
    pub value: RowValue,
    /// Whether the index is a btree that compares the key by PostgreSQL's own operators on `int4`.
    pub is_integer: bool,
    operator_family: Oid,
    collation: Oid,
}

/// The form in which the expressions of an index are read.
#[derive(Clone, Copy)]
pub enum ExpressionForm {
    /// As in plans: PostgreSQL folds their constants, which runs functions that the table's owner chose.
    Planned,
    /// As in the catalog: nothing is evaluated.
    Stored,
}

impl Index {
    /// Reads a btree that queries may use; None for any other index.
    pub fn read_usable(index: &Relation, form: ExpressionForm) -> Option<Self> {
        (is_usable(index)? && index.is_btree()).then(|| Self::read(index, form))?
    }

    /// All indexes of a table, except those that are being dropped.
    pub fn all(table: &Relation) -> impl Iterator<Item = Self> {
        table.open_indexes().filter_map(|index| Self::read(&index, ExpressionForm::Planned))
    }

    /// All indexes of a table, also those that are being dropped.
    pub fn all_and_dying(table: &Relation) -> Result<impl Iterator<Item = Self>> {
        Ok(Self::all(table).chain(Self::dying(table)?))
    }

    /// The indexes of a table that are being dropped, or that a failed DROP INDEX CONCURRENTLY has left.
    fn dying(table: &Relation) -> Result<Vec<Self>> {
        let select = "SELECT indexrelid FROM pg_catalog.pg_index WHERE NOT indislive AND indrelid =";
        let oids = query_oids(&format!("{select} {}", table.oid().to_u32()))?;
        let indexes = oids.into_iter().filter_map(|oid| Relation::open_until_end(oid, ACCESS_SHARE));
        Ok(indexes.filter_map(|index| Self::read(&index, ExpressionForm::Planned)).collect())
    }

    /// Reads an open index; None if the relation is not an index.
    fn read(index: &Relation, form: ExpressionForm) -> Option<Self> {
        let is_valid = is_usable(index)?;
        // SAFETY: an open index has its row of pg_index, with `indnatts` attnums, and an array element for each key.
        unsafe {
            let pg_index = &*index.rd_index;
            let columns = pg_index.indkey.values.as_slice(pg_index.indnatts as usize);
            let mut expressions = key_expressions(index, form).into_iter();
            let mut keys = Vec::new();
            for (position, &column) in columns.iter().take(pg_index.indnkeyatts as usize).enumerate() {
                let value =
                    if column == 0 { RowValue::Expression(expressions.next()?) } else { RowValue::Column(column) };
                let (operator_family, collation) =
                    (*index.rd_opfamily.add(position), *index.rd_indcollation.add(position));
                let is_integer = index.is_btree()
                    && *index.rd_opcintype.add(position) == pg_sys::INT4OID
                    && operator_family == pg_sys::INTEGER_BTREE_FAM_OID;
                keys.push(IndexKey { value, is_integer, operator_family, collation });
            }
            let predicate = pg_sys::Anum_pg_index_indpred as i32;
            (!keys.is_empty()).then(|| Self {
                oid: index.oid(),
                name: CStr::from_ptr((*index.rd_rel).relname.data.as_ptr()).to_owned(),
                keys,
                columns: columns.to_vec(),
                // No descriptor is needed: ADD COLUMN has left no missing values in a catalog.
                is_partial: !pg_sys::heap_attisnull(index.rd_indextuple, predicate, std::ptr::null_mut()),
                is_valid,
                is_partition: index.is_partition(),
                is_unconstrained: !(pg_index.indisunique || pg_index.indisprimary || pg_index.indisexclusion),
            })
        }
    }

    pub fn name(&self) -> Result<String> {
        server_string(self.name.to_bytes())
    }

    /// Whether the index is not valid and can be dropped alone. A failed command leaves such an index. But an index
    /// that another session builds CONCURRENTLY looks the same, and so does an incomplete index of a partitioned table.
    pub fn is_left_behind(&self) -> bool {
        !self.is_valid && !self.is_partition && self.is_unconstrained
    }

    /// Whether ANALYZE has computed statistics of the key at `position` of this index of a table, or is told not to.
    pub fn has_statistics(&self, table: &Relation, position: usize) -> bool {
        // Statistics of a column belong to the table, and of an expression to the index.
        let (relation, attnum) = match self.keys[position].value {
            RowValue::Column(attnum) => (table.oid(), attnum),
            RowValue::Expression(_) => (self.oid, position as i16 + 1),
        };
        read_statistics(relation, attnum, |_| ()).is_some() || has_zero_target(relation, attnum)
    }
}

impl IndexKey {
    /// Whether the index compares this key, a column, by the default operators of its type and by its collation.
    pub fn is_compared_as(&self, column: &Column) -> bool {
        self.collation == column.collation && btree_operator_family(column.data_type) == Some(self.operator_family)
    }
}

/// Whether queries may use an index ([`Index::is_valid`]); None if the relation is not an index.
fn is_usable(index: &Relation) -> Option<bool> {
    // SAFETY: `rd_index` is null, or the row of pg_index.
    unsafe { index.rd_index.as_ref() }.map(|row| row.indisvalid && row.indisready && row.indislive)
}

/// Whether ON CONFLICT can infer an index: it is a usable, immediate, unique btree without an exclusion constraint.
pub fn is_inferable(index: &Relation) -> bool {
    // SAFETY: `rd_index` is null, or the row of pg_index.
    let row = unsafe { index.rd_index.as_ref() };
    is_usable(index) == Some(true)
        && index.is_btree()
        && row.is_some_and(|row| row.indisunique && row.indimmediate && !row.indisexclusion)
}

/// A unique index whose keys are all among these columns and NOT NULL: no two rows of the table are equal in them, by
/// the default operators of their types and by their collations. None for a table with inheritors that are not
/// partitions: the index does not have their rows.
pub fn unique_within(table: &Relation, columns: &[i16]) -> Option<Index> {
    if !table.is_partitioned() && with_inheritors(table.oid(), NO_LOCK).len() > 1 {
        return None;
    }
    let is_within = |key: &IndexKey| {
        let attnum = key.value.column().filter(|attnum| columns.contains(attnum));
        let column = attnum.and_then(|attnum| Column::at(table, attnum));
        column.is_some_and(|column| column.is_not_null && key.is_compared_as(&column))
    };
    let is_unique_key = |index: &Index| !index.is_partial && index.keys.iter().all(is_within);
    let inferable = table.open_indexes().filter(is_inferable);
    inferable.filter_map(|index| Index::read_usable(&index, ExpressionForm::Stored)).find(is_unique_key)
}

/// The expressions among an index's keys, in order.
fn key_expressions(index: &Relation, form: ExpressionForm) -> Vec<Expression> {
    let mut is_null = true;
    // SAFETY: an open index has its row of pg_index, with a pg_node_tree, stored like a text. The lists are copies.
    unsafe {
        if let ExpressionForm::Planned = form {
            return expressions(pg_sys::RelationGetIndexExpressions(index.as_ptr()));
        }
        let (cache, column) = (pg_sys::SysCacheIdentifier::INDEXRELID as i32, pg_sys::Anum_pg_index_indexprs as i16);
        let stored = pg_sys::SysCacheGetAttr(cache, index.rd_indextuple, column, &mut is_null);
        if is_null {
            return Vec::new();
        }
        expressions(pg_sys::stringToNode(pg_sys::text_to_cstring(stored.cast_mut_ptr())).cast())
    }
}
