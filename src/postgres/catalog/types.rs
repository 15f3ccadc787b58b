//! Data types, and their operators in btrees.

use pgrx::pg_sys::{self, Oid};

use crate::error::Result;
use crate::server_string::server_string_from_c;

/// The name of a type in SQL, without a modifier.
pub fn type_name(data_type: Oid) -> Result<String> {
    // SAFETY: format_type_be accepts any OID, and returns a NUL-terminated name.
    unsafe { server_string_from_c(pg_sys::format_type_be(data_type)) }
}

/// The operator family of a type's default btree operator class; None if it has no equality for the type. PostgreSQL
/// raises an error if the type does not exist.
pub fn btree_operator_family(data_type: Oid) -> Option<Oid> {
    let flags = pg_sys::TYPECACHE_BTREE_OPFAMILY | pg_sys::TYPECACHE_EQ_OPR;
    // SAFETY: lookup_type_cache accepts any OID, and its entries are permanent.
    let type_entry = unsafe { &*pg_sys::lookup_type_cache(data_type, flags as i32) };
    (type_entry.btree_opf != Oid::INVALID && type_entry.eq_opr != Oid::INVALID).then_some(type_entry.btree_opf)
}

/// The strategy of an operator in a btree operator family, such as `BTLessStrategyNumber`; None if it is not in it.
pub fn btree_strategy(operator: Oid, family: Oid) -> Option<u32> {
    // SAFETY: a look-up in a system cache.
    let strategy = unsafe { pg_sys::get_op_opfamily_strategy(operator, family) };
    (strategy > 0).then_some(strategy as u32)
}

/// Raises PostgreSQL's error if a type does not exist, or is a domain that refuses NULL.
pub fn check_type_takes_null(data_type: Oid) {
    // SAFETY: both functions accept any OID.
    unsafe {
        let (memory, no_cache) = (pg_sys::CurrentMemoryContext, std::ptr::null_mut());
        if pg_sys::getBaseType(data_type) != data_type {
            pg_sys::domain_check(pg_sys::Datum::null(), true, data_type, no_cache, memory);
        }
    }
}

/// An integer datum as `i64`; None if `data_type` is not one of PostgreSQL's integer types.
pub fn integer_value(data_type: Oid, value: pg_sys::Datum) -> Option<i64> {
    match data_type {
        pg_sys::INT2OID => Some(i64::from(value.value() as i16)),
        pg_sys::INT4OID => Some(i64::from(value.value() as i32)),
        pg_sys::INT8OID => Some(value.value() as i64),
        _ => None,
    }
}
