//! The layouts of blocks that a table has indexed.
//!
//! A block is indexed if a btree has it as a key: either a stored generated column, computed by
//! `simhash_block(fingerprint, i, blocks)`, or this expression itself. Names do not matter, only expressions do.

use pgrx::pg_sys::{self, Oid};
use simhash::search::blocks::radius;

use super::partitions::Partitions;
use crate::postgres::catalog::column::{Column, generation_of};
use crate::postgres::catalog::index::{Index, Keyed};
use crate::postgres::catalog::partition::with_inheritors;
use crate::postgres::catalog::relation::Relation;
use crate::postgres::catalog::statistics::Statistics;
use crate::postgres::nodes::expression::Expression;
use crate::sql::functions::Functions;
use crate::sql::recognise::BlockCall;

/// The fingerprint whose blocks are wanted.
#[derive(Clone, Copy)]
pub enum Fingerprint {
    /// A column of the table.
    Column(i16),
    /// An expression of the table's columns, whose column references have relation 1, as in the catalogs.
    Expression(Expression),
}

/// The key that stands for a block in an index.
#[derive(Clone, Copy)]
pub enum BlockKey {
    /// A generated column.
    Column(i16),
    /// `simhash_block` of the fingerprint, as the search writes it.
    OfFingerprint,
    /// An expression of the table's columns, whose column references have relation 1.
    Expression(Expression),
}

/// A block that is a key of an index.
#[derive(Clone, Copy)]
pub struct IndexedBlock {
    pub block: i32,
    pub blocks: i32,
    pub key: BlockKey,
    pub index: Oid,
    /// The position, from 1, at which the index also has the fingerprint's column; None if it does not.
    pub fingerprint: Option<i16>,
    /// Whether any search can use the index: it has all rows, and the block is its first key.
    pub unconditional: bool,
    pub statistics: Statistics,
}

/// What a search of a table can use.
pub struct Indexed {
    pub blocks: Vec<IndexedBlock>,
    /// The planner's estimate of the number of rows.
    pub rows: f64,
}

impl Indexed {
    /// What a table itself has indexed; None if the table was dropped.
    pub fn read_table(table: Oid, fingerprint: Fingerprint, functions: &Functions) -> Option<Self> {
        Some(Self::read_open(&Relation::open_for_planning(table)?, fingerprint, functions))
    }

    fn read_open(table: &Relation, fingerprint: Fingerprint, functions: &Functions) -> Self {
        Self { blocks: indexed_blocks(table, fingerprint, functions), rows: table.estimated_rows() }
    }

    /// The blocks that a table and all its partitions or inheritors have indexed. For a condition that the planner does
    /// not pass on to them one by one, as in a join.
    pub fn read_family(root: Oid, fingerprint: i16, functions: &Functions) -> Option<Self> {
        let table = Relation::open_for_planning(root)?;
        if table.is_partitioned() {
            Some(Self::read_partitioned(&table, fingerprint, functions))
        } else {
            Self::read_members(root, fingerprint, functions)
        }
    }

    /// What a partitioned table itself has indexed. All its partitions have it too, because a valid index has a part in
    /// each.
    ///
    /// The partitions are neither locked nor opened: the planner locks those that it does not prune, and must not wait
    /// for the others.
    fn read_partitioned(root: &Relation, fingerprint: i16, functions: &Functions) -> Self {
        let partitions = Partitions::read(root.oid());
        let mut found =
            Self { blocks: indexed_blocks(root, Fingerprint::Column(fingerprint), functions), rows: partitions.rows() }
                .only_on_columns();
        found.blocks.retain_mut(|block| {
            let BlockKey::Column(number) = block.key else { return true };
            block.statistics = Statistics { relation: root.oid(), column: number, with_inheritors: true };
            partitions.compute(number, fingerprint, (block.block, block.blocks), functions)
        });
        found
    }

    /// What the partitions of a table, or a table and its inheritors, have indexed in common. All of them, and their
    /// indexes, are locked.
    ///
    /// From PostgreSQL 16 on, a partition may compute a column differently from its parent, so that each must be
    /// checked.
    pub fn read_members(root: Oid, fingerprint: i16, functions: &Functions) -> Option<Self> {
        let root_table = Relation::open_for_planning(root)?;
        let fingerprint = Column::at(&root_table, fingerprint)?;
        let mut common: Option<Self> = None;
        for member in with_inheritors(root, pg_sys::AccessShareLock as pg_sys::LOCKMODE) {
            // Skip a table that has just been dropped, and a partitioned table, which has no rows of its own.
            let Some(table) = Relation::open_for_planning(member).filter(|table| !table.is_partitioned()) else {
                continue;
            };
            let own_fingerprint = Fingerprint::Column(Column::find_raw(&table, fingerprint.raw_name())?.number);
            let mut own = Self::read_open(&table, own_fingerprint, functions).only_on_columns();
            for block in &mut own.blocks {
                if let BlockKey::Column(number) = block.key {
                    let number = Column::find_raw(&root_table, Column::at(&table, number)?.raw_name())?.number;
                    block.key = BlockKey::Column(number);
                    block.statistics = Statistics { relation: root, column: number, with_inheritors: true };
                }
            }
            common = Some(match common {
                Some(others) => others.and(&own),
                None => own,
            });
        }
        common
    }

    /// Leaves out indexes on the expression that a column is computed from. To use them, a search would have to
    /// evaluate that expression with the searching user's rights, and so run code of the table's owner. A condition on
    /// the column does not.
    pub fn only_on_columns(mut self) -> Self {
        self.blocks.retain(|block| !matches!(block.key, BlockKey::Expression(_)));
        self
    }

    /// Whether all blocks that a search with this layout must probe are indexed.
    pub fn serves(&self, blocks: i32, max_distance: i32) -> bool {
        (0..blocks).filter(|&block| radius(block, blocks, max_distance).is_some()).all(|block| {
            self.blocks.iter().any(|found| (found.block, found.blocks) == (block, blocks) && found.unconditional)
        })
    }

    fn and(mut self, other: &Self) -> Self {
        self.rows += other.rows;
        self.blocks.retain_mut(|block| {
            let same: Vec<_> = other.blocks.iter().filter(|other| block.is_same_as(other)).collect();
            block.unconditional &= same.iter().any(|same| same.unconditional);
            !same.is_empty()
        });
        self
    }
}

impl IndexedBlock {
    /// Whether this is the same block, with the same key, as in another table of the family.
    fn is_same_as(&self, other: &Self) -> bool {
        let same_key = match (self.key, other.key) {
            (BlockKey::Column(a), BlockKey::Column(b)) => a == b,
            (BlockKey::OfFingerprint, BlockKey::OfFingerprint) => true,
            _ => false, // expressions of different tables
        };
        same_key && (self.block, self.blocks) == (other.block, other.blocks)
    }
}

/// The blocks of a fingerprint that are keys of the table's indexes.
fn indexed_blocks(table: &Relation, fingerprint: Fingerprint, functions: &Functions) -> Vec<IndexedBlock> {
    let generation = match fingerprint {
        Fingerprint::Column(number) => generation_of(table, number),
        Fingerprint::Expression(expression) => Some(expression),
    };
    let mut found = Vec::new();
    let indexes = table.indexes().into_iter().filter_map(Relation::open_for_planning);
    for index in indexes.filter_map(|index| Index::read_usable(&index)) {
        for (place, key) in (0i16..).zip(&index.keys).filter(|(_, key)| key.is_integer) {
            let expression = match key.of {
                Keyed::Column(number) => generation_of(table, number),
                Keyed::Expression(expression) => Some(expression),
            };
            let call = expression.and_then(|expression| BlockCall::read(expression, functions.simhash_block));
            let Some(BlockCall { fingerprint: of, block, blocks }) = call else { continue };
            let is_column = matches!(fingerprint, Fingerprint::Column(number) if of.as_own_column() == Some(number));
            if !is_column && !generation.is_some_and(|generation| generation.equals(of)) {
                continue;
            }
            let (key, (relation, column)) = match key.of {
                Keyed::Column(number) => (BlockKey::Column(number), (table.oid(), number)),
                Keyed::Expression(_) if is_column => (BlockKey::OfFingerprint, (index.oid, place + 1)),
                Keyed::Expression(expression) => (BlockKey::Expression(expression), (index.oid, place + 1)),
            };
            found.push(IndexedBlock {
                block,
                blocks,
                key,
                index: index.oid,
                fingerprint: match fingerprint {
                    Fingerprint::Column(number) => index.place_of(number),
                    Fingerprint::Expression(_) => None,
                },
                unconditional: place == 0 && !index.is_partial,
                statistics: Statistics { relation, column, with_inheritors: false },
            });
        }
    }
    found
}
