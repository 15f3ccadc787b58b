//! What ANALYZE has found out about a block.

use pgrx::pg_sys::{self, Oid};

use crate::simhash::blocks::Block;
use crate::simhash::layout::Distribution;

/// Where the statistics of a block are: with a table's column, or with an index's.
#[derive(Clone, Copy)]
pub struct Statistics {
    pub relation: Oid,
    pub column: i16,
    /// Whether they are those of a table with all that inherit from it.
    pub with_inheritors: bool,
}

/// Common values that are taken into account. PostgreSQL keeps 100 by default.
const MOST_VALUES: usize = 100;

impl Statistics {
    /// The distribution of the block's values; uniform where nothing else is known.
    pub fn distribution(self, block: Block, rows: f64) -> Distribution {
        self.read(block, rows).unwrap_or_else(|| Distribution::uniform(block))
    }

    fn read(self, block: Block, rows: f64) -> Option<Distribution> {
        // SAFETY: the keys are those of this cache: table, column, inheritance. The row is held until it is released,
        // and what is read of it, of type integer, is copied.
        unsafe {
            let row = pg_sys::SearchSysCache3(
                pg_sys::SysCacheIdentifier::STATRELATTINH as i32,
                pg_sys::Datum::from(self.relation),
                pg_sys::Datum::from(self.column),
                pg_sys::Datum::from(self.with_inheritors),
            );
            if row.is_null() {
                return None;
            }
            let found = &*pg_sys::heap_tuple_get_struct::<pg_sys::FormData_pg_statistic>(row);
            let distinct = f64::from(found.stadistinct);
            let distinct = if distinct < 0.0 { -distinct * rows } else { distinct };
            let nulls = f64::from(found.stanullfrac);
            let commonest = commonest_values(row);
            pg_sys::ReleaseSysCache(row);

            let common: f64 = commonest.iter().map(|(_, share)| share).sum();
            let values = f64::from(block.width()).exp2();
            Some(Distribution {
                rest: (1.0 - nulls - common).max(0.0),
                rest_values: if distinct == 0.0 { values } else { (distinct - commonest.len() as f64).max(1.0) },
                commonest,
            })
        }
    }
}

/// # Safety
/// `row` is one of pg_statistic's, of an integer column.
unsafe fn commonest_values(row: pg_sys::HeapTuple) -> Vec<(i32, f64)> {
    let mut slot = pg_sys::AttStatsSlot::default();
    // SAFETY: by the contract. The slot has as many values as it says, and is freed after they are copied.
    unsafe {
        let flags = pg_sys::ATTSTATSSLOT_VALUES | pg_sys::ATTSTATSSLOT_NUMBERS;
        let kind = pg_sys::STATISTIC_KIND_MCV as i32;
        if !pg_sys::get_attstatsslot(&mut slot, row, kind, Oid::INVALID, flags as i32) {
            return Vec::new();
        }
        let count = slot.nvalues.min(slot.nnumbers).max(0) as usize;
        let pairs = (0..count.min(MOST_VALUES)).map(|i| (*slot.values.add(i), *slot.numbers.add(i)));
        let pairs = pairs.map(|(value, share)| (value.value() as i32, f64::from(share))).collect();
        let is_integer = slot.valuetype == pg_sys::INT4OID;
        pg_sys::free_attstatsslot(&mut slot);
        if is_integer { pairs } else { Vec::new() }
    }
}
