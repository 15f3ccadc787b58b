//! Reads the catalogs about tables that are not locked. The answers may change at any time, like everything that the
//! planner estimates.

use std::ffi::{CStr, CString};

use pgrx::pg_sys::{self, Oid};

use crate::postgres::nodes::expression::Expression;

/// The number of rows in pg_class; negative if the table has not been analyzed, 0 if it was dropped.
pub fn analyzed_rows(table: Oid) -> f64 {
    // SAFETY: the key of this cache is an OID. The row is held until it is released.
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

/// The name of the column with this number; None if it does not exist.
pub fn column_name(table: Oid, number: i16) -> Option<CString> {
    // SAFETY: get_attname looks up a system cache, and returns a copy of the name, or null.
    unsafe {
        let name = pg_sys::get_attname(table, number, true);
        (!name.is_null()).then(|| CStr::from_ptr(name).to_owned())
    }
}

/// The number of the column with this name; None if it does not exist or is a system column.
pub fn column_number(table: Oid, name: &CStr) -> Option<i16> {
    // SAFETY: get_attnum looks up a system cache; the name is NUL-terminated.
    let number = unsafe { pg_sys::get_attnum(table, name.as_ptr()) };
    (number > 0).then_some(number)
}

/// The expression of a stored generated column, from pg_attrdef; None if the column is not one.
pub fn stored_generation(table: Oid, column: i16) -> Option<Expression> {
    // SAFETY: get_attgenerated looks up a system cache.
    if unsafe { pg_sys::get_attgenerated(table, column) } as u8 != pg_sys::ATTRIBUTE_GENERATED_STORED {
        return None;
    }
    // From PostgreSQL's `catalog/pg_attrdef.h`, which pgrx leaves out. OIDs of catalogs and numbers of their columns do
    // not change.
    const CATALOG: u32 = 2604;
    const INDEX_ON_TABLE_AND_COLUMN: u32 = 2656;
    const TABLE: i16 = 2;
    const COLUMN: i16 = 3;
    const EXPRESSION: i16 = 4;
    const LOCK: pg_sys::LOCKMODE = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
    let key = |column: i16, function: u32, value: pg_sys::Datum| {
        let mut key = pg_sys::ScanKeyData::default();
        // SAFETY: `function` compares values of the column's type.
        unsafe { pg_sys::ScanKeyInit(&mut key, column, pg_sys::BTEqualStrategyNumber as u16, function.into(), value) };
        key
    };
    let mut keys = [key(TABLE, pg_sys::F_OIDEQ, table.into()), key(COLUMN, pg_sys::F_INT2EQ, column.into())];
    // SAFETY: the catalog and its scan are opened and closed here; the text is copied before the scan ends.
    unsafe {
        let catalog = pg_sys::table_open(CATALOG.into(), LOCK);
        let index = INDEX_ON_TABLE_AND_COLUMN.into();
        let scan = pg_sys::systable_beginscan(catalog, index, true, std::ptr::null_mut(), 2, keys.as_mut_ptr());
        let row = pg_sys::systable_getnext(scan);
        let mut text = None;
        if !row.is_null() {
            let mut is_null = false;
            let value = pgrx::pg_sys::htup::heap_getattr(row, EXPRESSION.into(), (*catalog).rd_att, &mut is_null);
            // This is a detoasted copy.
            text = (!is_null).then(|| pg_sys::text_to_cstring(value.cast_mut_ptr()));
        }
        pg_sys::systable_endscan(scan);
        pg_sys::table_close(catalog, LOCK);
        Expression::new(pg_sys::stringToNode(text?))
    }
}
