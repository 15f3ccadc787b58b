//! The layouts of blocks that a table has indexed.
//!
//! A block is indexed if it is a key of a btree: either a stored generated column, computed by
//! `simhash_block(fingerprint, i, blocks)`, or this expression itself. Names do not matter, only expressions do.
//! Columns before the block, such as a tenant's number, are the index's scope. The index must have the fingerprint too,
//! as a column or as an expression: a search compares it in the entries.

use pgrx::pg_sys::{self, Oid};
use postgres::catalog::column::{Column, generation_of};
use postgres::catalog::index::{ExpressionForm, Index};
use postgres::catalog::partition::with_inheritors;
use postgres::catalog::relation::{ACCESS_SHARE, Relation};
use postgres::catalog::row_value::RowValue;
use postgres::expression::Expression;
use serde::{Deserialize, Serialize};
use simhash::search::blocks::{BLOCK_COUNTS, Block, probed_blocks};

use super::bits::Bits;
use super::fingerprint_column::fingerprint_of;
use super::recognise::{BlockCall, block_keys};

/// A block that is a key of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexedBlock {
    pub block: i32,
    pub blocks: i32,
    pub index: Oid,
    /// The attnum of the fingerprint in the index.
    pub fingerprint_attnum: i16,
    /// Whether the index has a predicate, which leaves out rows.
    pub is_partial: bool,
}

impl IndexedBlock {
    fn as_block(self) -> Option<Block> {
        Block::new(self.block, self.blocks)
    }
}

/// A block that an index has within a scope.
#[derive(Clone, Debug)]
pub struct ScopedBlock {
    /// The columns that are keys before the block.
    pub scope: Vec<i16>,
    /// Whether the index compares the columns of the scope as their types and collations do.
    pub has_default_equality: bool,
    pub block: IndexedBlock,
}

impl ScopedBlock {
    /// Whether the scope has no other columns than these.
    pub fn is_within(&self, columns: &[i16]) -> bool {
        self.scope.iter().all(|column| columns.contains(column))
    }
}

/// The indexed blocks of one layout, one index each.
pub type Layout = Vec<IndexedBlock>;

/// The blocks that all members of a family have indexed within a scope. `fingerprint` is the column that has the
/// fingerprint, or from which it is made; `scope` has columns in any order. An index with a predicate does not count:
/// it leaves out rows. Locks the members and their indexes.
///
/// None if the table or a column was dropped, if a member has no such fingerprint or several, or if no member has rows
/// of its own. From PostgreSQL 16 on, a partition may compute a column differently from its parent, so each is read.
pub fn blocks_of_family(root: Oid, fingerprint: i16, scope: &[i16]) -> Option<Vec<Block>> {
    let table = Relation::open_until_end(root, ACCESS_SHARE)?;
    let fingerprint = Column::at(&table, fingerprint)?;
    let scope: Vec<_> = scope.iter().map(|&column| Column::at(&table, column)).collect::<Option<_>>()?;
    let mut common: Option<Vec<Block>> = None;
    for member in with_inheritors(root, ACCESS_SHARE) {
        // Skip a table that was just dropped, and a partitioned table, which has no rows of its own.
        let Some(table) = Relation::open_until_end(member, ACCESS_SHARE).filter(|table| !table.is_partitioned()) else {
            continue;
        };
        let scope: Vec<_> = scope.iter().map(|column| Some(column.in_table(&table)?.attnum)).collect::<Option<_>>()?;
        let fingerprint = fingerprint_of(&table, &fingerprint.in_table(&table)?).ok()??;
        let has_scope = |block: &ScopedBlock| {
            block.has_default_equality && block.scope.len() == scope.len() && block.is_within(&scope)
        };
        // The constants of an expression that was found in an index are folded, those of a generated column are not.
        let form = match fingerprint {
            RowValue::Column(_) => ExpressionForm::Stored,
            RowValue::Expression(_) => ExpressionForm::Planned,
        };
        let blocks = indexed_blocks(&table, table.open_indexes(), fingerprint, form);
        let complete = blocks.into_iter().filter(|scoped| !scoped.block.is_partial && has_scope(scoped));
        let member_blocks: Vec<_> = complete.filter_map(|scoped| scoped.block.as_block()).collect();
        common = Some(match common {
            Some(blocks) => blocks.into_iter().filter(|block| member_blocks.contains(block)).collect(),
            None => member_blocks,
        });
    }
    common
}

/// The blocks of a fingerprint among the keys of these indexes of a table. Each index must have the fingerprint too.
/// `form` is the form of the fingerprint's expression.
pub fn indexed_blocks(
    table: &Relation,
    indexes: impl IntoIterator<Item = Relation>,
    fingerprint: RowValue,
    form: ExpressionForm,
) -> Vec<ScopedBlock> {
    let is_wanted = is_fingerprint_of(table, fingerprint);
    let usable = indexes.into_iter().filter_map(|index| Index::read_usable(&index, form));
    let blocks = usable.filter_map(|index| {
        let key = block_keys(table, &index).find(|key| is_wanted(key.call.fingerprint))?;
        let fingerprint_attnum = fingerprint_in(table, &index, fingerprint)?;
        let BlockCall { block, blocks, .. } = key.call;
        let has_default_equality = has_default_equality(table, &index, &key.scope);
        let Index { oid, is_partial, .. } = index;
        let block = IndexedBlock { block, blocks, index: oid, fingerprint_attnum, is_partial };
        Some(ScopedBlock { scope: key.scope, has_default_equality, block })
    });
    blocks.collect()
}

/// The attnum of this fingerprint in an index, as a `bigint` key or included column; None if it is absent.
pub fn fingerprint_in(table: &Relation, index: &Index, fingerprint: RowValue) -> Option<i16> {
    let is_wanted = is_fingerprint_of(table, fingerprint);
    let included = index.columns[index.keys.len()..].iter().map(|&column| RowValue::Column(column));
    let mut values = index.keys.iter().map(|key| key.value).chain(included);
    let is_fingerprint = |value: Expression| value.value_type() == pg_sys::INT8OID && is_wanted(value);
    values.position(|value| value.expression(table).is_some_and(is_fingerprint)).map(|position| position as i16 + 1)
}

/// Returns a test whether an expression is this fingerprint of a table.
fn is_fingerprint_of(table: &Relation, fingerprint: RowValue) -> impl Fn(Expression) -> bool {
    let computation = fingerprint.computation(table);
    let bits = computation.map(Bits::of_bigint);
    let attnum = fingerprint.column().or_else(|| computation?.as_own_column());
    move |expression| {
        let column = expression.as_own_column();
        let is_same = |expression| bits.is_some_and(|bits| bits.equals(Bits::of_bigint(expression)));
        column.is_some() && column == attnum
            || is_same(expression)
            || column.and_then(|column| generation_of(table, column)).is_some_and(is_same)
    }
}

/// Whether an index compares its first keys, which are these columns, by the columns' types and collations.
pub fn has_default_equality(table: &Relation, index: &Index, columns: &[i16]) -> bool {
    let mut keys = index.keys.iter().zip(columns);
    keys.all(|(key, &attnum)| Column::at(table, attnum).is_some_and(|column| key.is_compared_as(&column)))
}

/// Whether each block that a search with this layout looks up is indexed.
pub fn is_search_served(indexed: &[Block], blocks: i32, max_distance: i32) -> bool {
    probed_blocks(blocks, max_distance).is_some_and(|mut probed| probed.all(|probed| indexed.contains(&probed.block)))
}

/// Groups blocks by layout. A layout may lack some of its blocks.
pub fn group_by_layout<'a>(indexed: impl Iterator<Item = &'a IndexedBlock> + Clone) -> Vec<Layout> {
    let layouts = BLOCK_COUNTS.map(|blocks| {
        let find = |block| indexed.clone().find(|other| (other.block, other.blocks) == (block, blocks)).copied();
        (0..blocks).filter_map(find).collect()
    });
    layouts.filter(|layout: &Layout| !layout.is_empty()).collect()
}

/// The indexed blocks of each layout, as `Growth::new` takes them.
pub fn layout_blocks(layouts: &[Layout]) -> impl Iterator<Item = Vec<Block>> {
    layouts.iter().map(|layout| layout.iter().copied().filter_map(IndexedBlock::as_block).collect())
}
