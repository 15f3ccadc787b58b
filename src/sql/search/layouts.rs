//! The layouts of blocks that a table has indexed.
//!
//! A block is indexed where a btree has it as a key: either a stored generated column, computed by
//! `simhash_block(fingerprint, i, blocks)`, or this expression itself. Names do not matter, only expressions do.

use std::ffi::c_char;

use pgrx::pg_sys::{self, Oid};

use super::partitions::{Partitions, column_number};
use super::statistics::Statistics;
use crate::simhash::blocks::radius;
use crate::sql::calls::BlockCall;
use crate::sql::expression::{self, Expression};
use crate::sql::functions::Functions;
use crate::sql::tables::{column_name, estimated_rows, index_expressions, is_partial, with_inheritors};

/// The fingerprint whose blocks are looked for.
#[derive(Clone, Copy)]
pub enum Fingerprint {
    /// A column of the table.
    Column(i16),
    /// An expression of the table's columns, which are those of relation 1, as in the catalogue.
    Expression(Expression),
}

/// What stands for a block in a table's indexes.
#[derive(Clone, Copy)]
pub enum Key {
    /// A generated column.
    Column(i16),
    /// `simhash_block` of the fingerprint as the search names it.
    OfFingerprint,
    /// An expression of the table's columns, which are those of relation 1.
    Expression(Expression),
}

/// A block that an index has as a key.
#[derive(Clone, Copy)]
pub struct IndexedBlock {
    pub block: i32,
    pub blocks: i32,
    pub key: Key,
    pub index: Oid,
    /// Where the index has the fingerprint's column too, from 1.
    pub fingerprint: Option<i16>,
    /// Whether any search can use the index: it has all rows, and the block is its first key.
    pub unconditional: bool,
    pub statistics: Statistics,
}

/// What a search in a table can use.
pub struct Indexed {
    pub blocks: Vec<IndexedBlock>,
    /// The number of rows, as the planner estimates it.
    pub rows: f64,
}

impl Indexed {
    /// What one table has; None if it is no more.
    pub fn of_table(table: Oid, fingerprint: Fingerprint, functions: &Functions) -> Option<Self> {
        Some(Self::of_open(&Relation::open(table)?, fingerprint, functions))
    }

    fn of_open(table: &Relation, fingerprint: Fingerprint, functions: &Functions) -> Self {
        Self { blocks: indexed_blocks(table, fingerprint, functions), rows: table.rows() }
    }

    /// What a table has indexed together with all that a search of it reads, for a search of which the planner knows no
    /// more than the table.
    pub fn of_family(root: Oid, fingerprint: i16, functions: &Functions) -> Option<Self> {
        let table = Relation::open(root)?;
        if table.is_partitioned() {
            Some(Self::of_partitioned(&table, fingerprint, functions))
        } else {
            Self::of_members(root, fingerprint, functions)
        }
    }

    /// What a partitioned table itself has indexed, which is what all its partitions have: a valid index of it has a
    /// part in each.
    ///
    /// The partitions are neither locked nor opened. The planner locks those that it does not prune, and must not wait
    /// for the others.
    fn of_partitioned(root: &Relation, fingerprint: i16, functions: &Functions) -> Self {
        let partitions = Partitions::of(root.oid());
        let mut found =
            Self { blocks: indexed_blocks(root, Fingerprint::Column(fingerprint), functions), rows: partitions.rows() }
                .of_columns();
        found.blocks.retain_mut(|block| {
            let Key::Column(number) = block.key else { return true };
            block.statistics = Statistics { relation: root.oid(), column: number, with_inheritors: true };
            partitions.compute(number, fingerprint, (block.block, block.blocks), functions)
        });
        found
    }

    /// What a partitioned table's partitions have in common, or a table and those that inherit from it. All of them, and
    /// their indexes, are locked.
    ///
    /// From PostgreSQL 16 on, a partition may compute a column otherwise than its parent does, so that each has to be
    /// looked at.
    pub fn of_members(root: Oid, fingerprint: i16, functions: &Functions) -> Option<Self> {
        let name = column_name(root, fingerprint)?;
        let mut common: Option<Self> = None;
        for member in with_inheritors(root, Relation::LOCK) {
            // One that has just been dropped is not searched, and a partitioned table has no rows of its own.
            let Some(table) = Relation::open(member).filter(|table| !table.is_partitioned()) else { continue };
            let fingerprint = Fingerprint::Column(column_number(member, &name)?);
            let mut own = Self::of_open(&table, fingerprint, functions).of_columns();
            for block in &mut own.blocks {
                if let Key::Column(number) = block.key {
                    let number = column_number(root, &column_name(member, number)?)?;
                    block.key = Key::Column(number);
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

    /// Without the indexes on what a column is computed from: to use them, a search would have to compute it too, with
    /// the rights of whoever searches. It must not run the code of the table's owner where a condition on the column
    /// does not.
    pub fn of_columns(mut self) -> Self {
        self.blocks.retain(|block| !matches!(block.key, Key::Expression(_)));
        self
    }

    /// Whether all blocks are indexed that a search with a layout has to look at.
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
    /// Whether they are the same in two tables of a tree.
    fn is_same_as(&self, other: &Self) -> bool {
        let same_key = match (self.key, other.key) {
            (Key::Column(a), Key::Column(b)) => a == b,
            (Key::OfFingerprint, Key::OfFingerprint) => true,
            _ => false, // expressions of different tables
        };
        same_key && (self.block, self.blocks) == (other.block, other.blocks)
    }
}

/// The blocks of a fingerprint that indexes of a table have as keys.
fn indexed_blocks(table: &Relation, fingerprint: Fingerprint, functions: &Functions) -> Vec<IndexedBlock> {
    let generation = match fingerprint {
        Fingerprint::Column(number) => table.generation_expression(number),
        Fingerprint::Expression(expression) => Some(expression),
    };
    let mut found = Vec::new();
    for index in table.indexes() {
        for IntegerKey { key, position, unconditional } in index.integer_keys() {
            let expression = match key {
                IndexKey::Column(number) => table.generation_expression(number),
                IndexKey::Expression(expression) => Some(expression),
            };
            let call = expression.and_then(|expression| BlockCall::of(expression, functions.simhash_block));
            let Some(BlockCall { fingerprint: of, block, blocks }) = call else { continue };
            let is_column = matches!(fingerprint, Fingerprint::Column(number) if of.as_own_column() == Some(number));
            if !is_column && !generation.is_some_and(|generation| generation.equals(of)) {
                continue;
            }
            let key = match key {
                IndexKey::Column(number) => Key::Column(number),
                IndexKey::Expression(_) if is_column => Key::OfFingerprint,
                IndexKey::Expression(expression) => Key::Expression(expression),
            };
            let statistics = match key {
                Key::Column(number) => (table.oid(), number),
                _ => (index.oid(), position),
            };
            let statistics = Statistics { relation: statistics.0, column: statistics.1, with_inheritors: false };
            let place = match fingerprint {
                Fingerprint::Column(number) => index.place_of(number),
                Fingerprint::Expression(_) => None,
            };
            found.push(IndexedBlock {
                block,
                blocks,
                key,
                index: index.oid(),
                fingerprint: place,
                unconditional,
                statistics,
            });
        }
    }
    found
}

/// A table or index, open, and locked against changes of its definition to the end of the transaction, as the planner
/// locks what it looks at.
struct Relation(pg_sys::Relation);

/// A key of a btree that compares integers as `=` does.
struct IntegerKey {
    key: IndexKey,
    /// From 1.
    position: i16,
    /// Whether any search can use it: the index has all rows, and it is its first key.
    unconditional: bool,
}

enum IndexKey {
    Column(i16),
    Expression(Expression),
}

impl Relation {
    const LOCK: pg_sys::LOCKMODE = pg_sys::AccessShareLock as pg_sys::LOCKMODE;

    /// None if there is no such relation any more.
    fn open(relation: Oid) -> Option<Self> {
        // SAFETY: any relation may be opened; what there is not gives null.
        let relation = unsafe { pg_sys::try_relation_open(relation, Self::LOCK) };
        (!relation.is_null()).then_some(Self(relation))
    }

    fn is_partitioned(&self) -> bool {
        // SAFETY: an open relation has its row of pg_class.
        unsafe { (*(*self.0).rd_rel).relkind == pg_sys::RELKIND_PARTITIONED_TABLE as c_char }
    }

    /// The number of rows, as the planner estimates it.
    fn rows(&self) -> f64 {
        // SAFETY: an open relation.
        if self.is_partitioned() { 0.0 } else { unsafe { estimated_rows(self.0) } }
    }

    /// The expression of a generated column that is stored.
    fn generation_expression(&self, number: i16) -> Option<Expression> {
        // SAFETY: an open table. A virtual column has no index, so that it makes no difference.
        unsafe { Expression::of_generated_column(self.0, number) }
    }

    fn indexes(&self) -> impl Iterator<Item = Relation> {
        // SAFETY: an open table, whose list is a copy.
        let list = unsafe { expression::oids(pg_sys::RelationGetIndexList(self.0)) };
        list.into_iter().filter_map(Self::open)
    }

    fn oid(&self) -> Oid {
        // SAFETY: an open relation.
        unsafe { (*self.0).rd_id }
    }

    /// Where an index has a column of its table, as a key or included, from 1.
    fn place_of(&self, column: i16) -> Option<i16> {
        // SAFETY: an open index has a description with an entry for each of its columns.
        unsafe {
            let description = &*(*self.0).rd_index;
            let columns = description.indkey.values.as_slice(description.indnatts as usize);
            columns.iter().position(|&found| found == column).map(|place| place as i16 + 1)
        }
    }

    /// The keys of a valid btree that compare integers as `=` does.
    fn integer_keys(&self) -> Vec<IntegerKey> {
        // SAFETY: an open index has a description with an entry for each of its keys; the lists are copies.
        unsafe {
            let index = &*self.0;
            let description = &*index.rd_index;
            if !description.indisvalid || (*index.rd_rel).relam != pg_sys::BTREE_AM_OID {
                return Vec::new();
            }
            let partial = is_partial(self.0);
            let mut expressions = index_expressions(self.0).into_iter();
            let keys = description.indnkeyatts as usize;
            let columns = description.indkey.values.as_slice(keys);
            let families = std::slice::from_raw_parts(index.rd_opfamily, keys);
            let types = std::slice::from_raw_parts(index.rd_opcintype, keys);
            let mut found = Vec::new();
            for position in 0..keys {
                let key = match columns[position] {
                    0 => match expressions.next() {
                        Some(expression) => IndexKey::Expression(expression),
                        None => break,
                    },
                    number => IndexKey::Column(number),
                };
                let compares_integers =
                    types[position] == pg_sys::INT4OID && families[position] == pg_sys::INTEGER_BTREE_FAM_OID;
                if compares_integers {
                    let unconditional = position == 0 && !partial;
                    found.push(IntegerKey { key, position: position as i16 + 1, unconditional });
                }
            }
            found
        }
    }
}

impl Drop for Relation {
    fn drop(&mut self) {
        // SAFETY: opened, and closed only here.
        unsafe { pg_sys::relation_close(self.0, pg_sys::NoLock as pg_sys::LOCKMODE) };
    }
}
