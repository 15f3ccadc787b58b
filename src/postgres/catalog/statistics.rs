//! Reads the statistics of ANALYZE about columns.

use pgrx::pg_sys::{self, FormData_pg_statistic, Oid};

use super::cache::read_cached;
use super::relation::Relation;

/// The planner's estimate of the number of distinct values of a column in a table of `rows` rows, at least 1.
pub fn distinct_values(table: &Relation, attnum: i16, rows: f64) -> f64 {
    const DEFAULT: f64 = 200.0; // DEFAULT_NUM_DISTINCT of utils/selfuncs.h
    let read_distinct = |row: &FormData_pg_statistic| f64::from(row.stadistinct);
    // A negative `stadistinct` is a share of the rows, and 0 means unknown.
    let count = match read_statistics(table.oid(), attnum, read_distinct) {
        Some(count) if count > 0.0 => count,
        Some(share) if share < 0.0 => -share * rows,
        _ => DEFAULT,
    };
    count.min(rows).max(1.0)
}

/// Calls `read` with the statistics of a column of a table, without its inheritors, or of a key of an index; None
/// without statistics.
pub fn read_statistics<T>(relation: Oid, attnum: i16, read: impl FnOnce(&FormData_pg_statistic) -> T) -> Option<T> {
    let keys = [relation.into(), attnum.into(), false.into()];
    // SAFETY: the keys of this cache are a relation, a column and whether inheritors count; its rows are of this form.
    unsafe { read_cached(pg_sys::SysCacheIdentifier::STATRELATTINH, &keys, read) }
}

/// Whether ANALYZE computes no statistics of a column or of a key of an index, because its statistics target is 0.
pub fn has_zero_target(relation: Oid, attnum: i16) -> bool {
    let (cache, target) = (pg_sys::SysCacheIdentifier::ATTNUM as i32, pg_sys::Anum_pg_attribute_attstattarget as i16);
    let mut is_null = true;
    // SAFETY: the column exists. Its target is a number or NULL.
    unsafe {
        let row = pg_sys::SearchSysCache2(cache, relation.into(), attnum.into());
        let value = pg_sys::SysCacheGetAttr(cache, row, target, &mut is_null);
        pg_sys::ReleaseSysCache(row);
        !is_null && value.value() == 0
    }
}
