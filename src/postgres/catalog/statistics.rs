//! Statistics that ANALYZE has gathered on an integer column.

use pgrx::pg_sys::{self, Oid};

/// Where the statistics are stored: under a table's column or under an index's.
#[derive(Clone, Copy)]
pub struct Statistics {
    pub relation: Oid,
    pub column: i16,
    /// Whether the statistics cover the table and all its inheritors.
    pub with_inheritors: bool,
}

/// How many of the commonest values are used. PostgreSQL keeps 100 by default.
const MOST_VALUES: usize = 100;

/// The distribution of the values of an integer column.
pub struct Values {
    /// The share of rows in which the column is NULL.
    pub nulls: f64,
    /// The number of distinct values; 0 if it is not known.
    pub distinct: f64,
    /// The commonest values, each with its share of the rows.
    pub commonest: Vec<(i32, f64)>,
}

impl Statistics {
    /// Reads how the values are distributed among `rows` rows; None if the column has not been analyzed.
    pub fn read(self, rows: f64) -> Option<Values> {
        // SAFETY: this cache's keys are table, column and inheritance. The row is held until it is released, and what
        // is read of it is copied.
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

            Some(Values { nulls, distinct, commonest })
        }
    }
}

/// The commonest values of an integer column, each with its share of the rows.
///
/// # Safety
/// `row` is a row of pg_statistic, of an integer column.
unsafe fn commonest_values(row: pg_sys::HeapTuple) -> Vec<(i32, f64)> {
    let mut slot = pg_sys::AttStatsSlot::default();
    // SAFETY: `row` is a row of pg_statistic. The slot has `nvalues` values and `nnumbers` numbers, and is freed after
    // they are copied.
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
