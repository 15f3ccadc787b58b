//! The order of a type's values, by its default btree operator class.

use std::cmp::Ordering;
use std::ffi::c_int;

use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;

use super::catalog::types::type_name;
use super::error::{Explain, Result, user_error};
use super::ffi::{guarded, ssup_datum_int32_cmp, ssup_datum_signed_cmp, ssup_datum_unsigned_cmp};

type Comparator = unsafe extern "C-unwind" fn(Datum, Datum, pg_sys::SortSupport) -> c_int;
type Converter = unsafe extern "C-unwind" fn(Datum, pg_sys::SortSupport) -> Datum;

/// The order in which ORDER BY sorts values of one type. Valid as long as the memory context in which it was created.
pub struct TypeOrder {
    /// PostgreSQL's state of the comparator, palloc'd.
    support: pg_sys::SortSupport,
    comparator: Comparator,
    keys: Keys,
}

/// How [`TypeOrder::key`] makes a number of a value.
enum Keys {
    /// The value is the number: a signed integer, whose sign fills the upper bits of the datum.
    Exact,
    /// PostgreSQL abbreviates the value, for example to its first bytes.
    Abbreviated(Converter),
    /// All values have the same number.
    Absent,
}

impl TypeOrder {
    /// The order of a type under a collation, which is the invalid OID if the type has none; an error if the type has
    /// no order. The error calls the values by `values_name`.
    pub fn new(value_type: Oid, collation: Oid, values_name: &str) -> Result<Self> {
        // SAFETY: any OID of a type may be looked up, and the entry is permanent. PrepareSortSupportFromOrderingOp gets
        // zeros, a collation, a context and the operator of a btree operator class.
        unsafe {
            let less = (*pg_sys::lookup_type_cache(value_type, pg_sys::TYPECACHE_LT_OPR as i32)).lt_opr;
            if less == Oid::INVALID {
                let message = format!("could not identify an ordering operator for type {}", type_name(value_type)?);
                return Err(user_error(PgSqlErrorCode::ERRCODE_UNDEFINED_FUNCTION, message)
                    .with_hint(format!("Cast {values_name} to a type that can be sorted, such as text.")));
            }
            let support: pg_sys::SortSupport = pg_sys::palloc0(size_of::<pg_sys::SortSupportData>()).cast();
            (*support).ssup_cxt = pg_sys::CurrentMemoryContext;
            (*support).ssup_collation = collation;
            (*support).abbreviate = true;
            pg_sys::PrepareSortSupportFromOrderingOp(less, support);
            let uses = |known: Comparator| (*support).comparator.is_some_and(|own| std::ptr::fn_addr_eq(own, known));
            let keys = match (*support).abbrev_converter {
                Some(converter) if uses(ssup_datum_unsigned_cmp) => Keys::Abbreviated(converter),
                None if uses(ssup_datum_signed_cmp) || uses(ssup_datum_int32_cmp) => Keys::Exact,
                _ => Keys::Absent,
            };
            let comparator = (*support).abbrev_full_comparator.or((*support).comparator);
            Ok(Self { support, comparator: comparator.expect("a type's order has a comparator"), keys })
        }
    }

    /// # Safety
    /// The values are of the type, and not NULL.
    pub unsafe fn compare(&self, a: Datum, b: Datum) -> Ordering {
        // SAFETY: the state belongs to the comparator, and the caller passes values of its type.
        unsafe { guarded(|| (self.comparator)(a, b, self.support)) }.cmp(&0)
    }

    /// A number for a value, to compare first: a smaller value never has a larger number.
    ///
    /// # Safety
    /// The value is of the type, and not NULL.
    pub unsafe fn key(&self, value: Datum) -> u64 {
        match self.keys {
            // Flips the sign bit, so that the unsigned numbers have the order of the signed ones.
            Keys::Exact => value.value() as u64 ^ 1 << 63,
            // SAFETY: the state belongs to the converter, and the caller passes a value of its type.
            Keys::Abbreviated(converter) => unsafe { guarded(|| converter(value, self.support)) }.value() as u64,
            Keys::Absent => 0,
        }
    }

    /// Whether values with the same [`Self::key`] are equal.
    pub fn has_exact_keys(&self) -> bool {
        matches!(self.keys, Keys::Exact)
    }
}
