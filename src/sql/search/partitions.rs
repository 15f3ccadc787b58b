//! Partitions as the catalogue has them, without locks on them.
//!
//! What is read of them may change at once, as with everything that the planner estimates. Only the generation
//! expressions matter for what a search finds: those of a partition change by `ALTER TABLE .. SET EXPRESSION` on the
//! partition itself (from PostgreSQL 17 on).

use std::ffi::CStr;

use pgrx::pg_sys::{self, Oid};

use crate::sql::calls::BlockCall;
use crate::sql::expression::Expression;
use crate::sql::functions::Functions;
use crate::sql::tables::{column_name, with_inheritors};

/// The partitions of a table, at all levels, and the table itself, which comes first.
pub struct Partitions(Vec<Oid>);

impl Partitions {
    pub fn of(root: Oid) -> Self {
        Self(with_inheritors(root, pg_sys::NoLock as pg_sys::LOCKMODE))
    }

    /// The number of rows, as ANALYZE has found it.
    pub fn rows(&self) -> f64 {
        match self.0.split_first() {
            Some((&root, _)) if analyzed_rows(root) > 0.0 => analyzed_rows(root),
            Some((_, partitions)) => partitions.iter().map(|&partition| analyzed_rows(partition).max(0.0)).sum(),
            None => 0.0,
        }
    }

    /// Whether each partition computes the column of the table as that block of its fingerprint: `block` is the number
    /// of the block and that of all blocks.
    pub fn compute(&self, column: i16, fingerprint: i16, block: (i32, i32), functions: &Functions) -> bool {
        let Some((&root, partitions)) = self.0.split_first() else { return false };
        // What a foreign table gives for a generated column is its own affair.
        // SAFETY: a look-up in a system cache.
        let kind = |partition: &Oid| unsafe { pg_sys::get_rel_relkind(*partition) } as u8;
        let is_local = |kind| [pg_sys::RELKIND_RELATION, pg_sys::RELKIND_PARTITIONED_TABLE].contains(&kind);
        if !partitions.iter().map(kind).all(is_local) {
            return false;
        }
        // Before, a generated column of a partition has the expression of its parent.
        if pg_sys::PG_VERSION_NUM < 160_000 {
            return true;
        }
        let computes = |&partition: &Oid| {
            let number = |of_root: i16| column_number(partition, &column_name(root, of_root)?);
            let call = BlockCall::of(generation_expression(partition, number(column)?)?, functions.simhash_block)?;
            let fingerprint = number(fingerprint)?;
            let is_of_fingerprint = call.fingerprint.as_own_column() == Some(fingerprint)
                || generation_expression(partition, fingerprint)?.equals(call.fingerprint);
            Some((call.block, call.blocks) == block && is_of_fingerprint)
        };
        partitions.iter().all(|partition| computes(partition) == Some(true))
    }
}

/// The number of rows by pg_class; negative if the table has not been analyzed.
fn analyzed_rows(table: Oid) -> f64 {
    // SAFETY: a look-up in a system cache by the key that it has. The row is held until it is released.
    unsafe {
        let row = pg_sys::SearchSysCache1(pg_sys::SysCacheIdentifier::RELOID as i32, table.into());
        if row.is_null() {
            return 0.0;
        }
        let rows = (*pg_sys::heap_tuple_get_struct::<pg_sys::FormData_pg_class>(row)).reltuples;
        pg_sys::ReleaseSysCache(row);
        rows.into()
    }
}

pub fn column_number(table: Oid, name: &CStr) -> Option<i16> {
    // SAFETY: a look-up in a system cache by a NUL-terminated name.
    let number = unsafe { pg_sys::get_attnum(table, name.as_ptr()) };
    (number > 0).then_some(number)
}

/// The expression of a generated column that is stored, by pg_attrdef.
fn generation_expression(table: Oid, column: i16) -> Option<Expression> {
    // SAFETY: a look-up in a system cache.
    if unsafe { pg_sys::get_attgenerated(table, column) } as u8 != pg_sys::ATTRIBUTE_GENERATED_STORED {
        return None;
    }
    // PostgreSQL's `catalog/pg_attrdef.h`, which pgrx leaves out. Numbers of catalogues and their columns do not change.
    const CATALOGUE: u32 = 2604;
    const INDEX_ON_TABLE_AND_COLUMN: u32 = 2656;
    const TABLE: i16 = 2;
    const COLUMN: i16 = 3;
    const EXPRESSION: i16 = 4;
    const LOCK: pg_sys::LOCKMODE = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
    let key = |column: i16, function: u32, value: pg_sys::Datum| {
        let mut key = pg_sys::ScanKeyData::default();
        // SAFETY: a function that compares values of the column's type.
        unsafe { pg_sys::ScanKeyInit(&mut key, column, pg_sys::BTEqualStrategyNumber as u16, function.into(), value) };
        key
    };
    let mut keys = [key(TABLE, pg_sys::F_OIDEQ, table.into()), key(COLUMN, pg_sys::F_INT2EQ, column.into())];
    // SAFETY: the catalogue and its scan are opened and closed; the expression is read before, from a copy.
    unsafe {
        let catalogue = pg_sys::table_open(CATALOGUE.into(), LOCK);
        let index = INDEX_ON_TABLE_AND_COLUMN.into();
        let scan = pg_sys::systable_beginscan(catalogue, index, true, std::ptr::null_mut(), 2, keys.as_mut_ptr());
        let row = pg_sys::systable_getnext(scan);
        let mut text = None;
        if !row.is_null() {
            let mut is_null = false;
            let value = pgrx::pg_sys::htup::heap_getattr(row, EXPRESSION.into(), (*catalogue).rd_att, &mut is_null);
            // Detoasted, and a copy.
            text = (!is_null).then(|| pg_sys::text_to_cstring(value.cast_mut_ptr()));
        }
        pg_sys::systable_endscan(scan);
        pg_sys::table_close(catalogue, LOCK);
        Expression::new(pg_sys::stringToNode(text?))
    }
}
