//! Partitions as in the catalogs, without locks on them.
//!
//! What is read of them may change at any time, like everything that the planner estimates. For what a search finds,
//! only the generation expressions matter: a partition's expressions change by `ALTER TABLE .. SET EXPRESSION` on the
//! partition itself (from PostgreSQL 17 on).

use pgrx::pg_sys::{self, Oid};

use crate::postgres::catalog::partition::with_inheritors;
use crate::postgres::catalog::unlocked::{analyzed_rows, column_name, column_number, stored_generation};
use crate::sql::functions::Functions;
use crate::sql::recognise::BlockCall;

/// A table, which comes first, and its partitions at all levels.
pub struct Partitions(Vec<Oid>);

impl Partitions {
    pub fn read(root: Oid) -> Self {
        Self(with_inheritors(root, pg_sys::NoLock as pg_sys::LOCKMODE))
    }

    /// The number of rows that ANALYZE has found.
    pub fn rows(&self) -> f64 {
        match self.0.split_first() {
            Some((&root, _)) if analyzed_rows(root) > 0.0 => analyzed_rows(root),
            Some((_, partitions)) => partitions.iter().map(|&partition| analyzed_rows(partition).max(0.0)).sum(),
            None => 0.0,
        }
    }

    /// Whether each partition computes a column as a block of its fingerprint. `block` holds the block's number and the
    /// number of blocks; columns are numbered as in the root table.
    pub fn compute(&self, column: i16, fingerprint: i16, block: (i32, i32), functions: &Functions) -> bool {
        let Some((&root, partitions)) = self.0.split_first() else { return false };
        // A foreign table may return anything for a generated column.
        // SAFETY: get_rel_relkind looks up a system cache.
        let kind = |partition: &Oid| unsafe { pg_sys::get_rel_relkind(*partition) } as u8;
        let is_local = |kind| [pg_sys::RELKIND_RELATION, pg_sys::RELKIND_PARTITIONED_TABLE].contains(&kind);
        if !partitions.iter().map(kind).all(is_local) {
            return false;
        }
        // Before PostgreSQL 16, a partition's generated column has its parent's expression.
        if pg_sys::PG_VERSION_NUM < 160_000 {
            return true;
        }
        let computes = |&partition: &Oid| {
            let number = |of_root: i16| column_number(partition, &column_name(root, of_root)?);
            let call = BlockCall::read(stored_generation(partition, number(column)?)?, functions.simhash_block)?;
            let fingerprint = number(fingerprint)?;
            let is_of_fingerprint = call.fingerprint.as_own_column() == Some(fingerprint)
                || stored_generation(partition, fingerprint)?.equals(call.fingerprint);
            Some((call.block, call.blocks) == block && is_of_fingerprint)
        };
        partitions.iter().all(|partition| computes(partition) == Some(true))
    }
}
