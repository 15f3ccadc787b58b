//! The scope of a guard: columns within whose equal values it looks for near-duplicates.

use std::marker::PhantomData;

use pgrx::pg_sys::{self, Datum, Oid, ScanKeyData};
use pgrx::prelude::*;
use postgres::built_in::is_allowed_type;
use postgres::catalog::column::Column;
use postgres::catalog::relation::Relation;
use postgres::error::{Explain, Result, not_supported, user_error};
use postgres::heap::entry_scan::equality_key;
use postgres::heap::row::Row;
use simhash::random::GOLDEN_RATIO;

use super::guard_expression::refused_type;

/// The scope columns of a table, in the order of the guard's arguments. Partitions have the same columns, of the same
/// types.
pub struct GuardScope(Vec<ScopeColumn>);

struct ScopeColumn {
    column: Column,
    /// The equality function of the column's type.
    equality: Oid,
    /// The hash function of the column's type; None if it has none.
    hash_function: Option<Oid>,
}

/// The values that a row has in the scope columns of a guard.
pub struct GuardScopeValues<'a> {
    values: Vec<Option<Datum>>,
    row: PhantomData<Row<'a>>,
}

impl GuardScope {
    /// Reads the columns. An error if one does not exist, is generated, or has a type without equality, or one
    /// that code of others handles.
    pub fn new(table: &Relation, names: &[String]) -> Result<Self> {
        names.iter().map(|name| ScopeColumn::new(table, name)).collect::<Result<_, _>>().map(Self)
    }

    pub fn attnums(&self) -> impl Iterator<Item = i16> {
        self.0.iter().map(|scope| scope.column.attnum)
    }

    /// The positions of these columns in the scope; None if the scope lacks a column.
    pub fn positions(&self, attnums: &[i16]) -> Option<Vec<usize>> {
        attnums.iter().map(|attnum| self.attnums().position(|own| own == *attnum)).collect()
    }

    /// Scan keys that find the rows with these values, in an index whose first keys are the scope columns at these
    /// positions. NULL equals NULL. The keys live as long as the values.
    ///
    /// # Safety
    /// The index compares these columns as their types and collations do.
    pub unsafe fn scan_keys(&self, positions: &[usize], values: &GuardScopeValues<'_>) -> Vec<ScanKeyData> {
        let scan_key = |(attnum, &position): (i16, &usize)| {
            let ScopeColumn { column, equality, .. } = &self.0[position];
            // SAFETY: the function is the equality of the column's type, as in the index.
            unsafe { equality_key(attnum, *equality, column.collation, values.values[position]) }
        };
        (1..).zip(positions).map(scan_key).collect()
    }

    /// The scope values of a row, which live as long as the row.
    pub fn of_row<'a>(&self, row: Row<'a>) -> GuardScopeValues<'a> {
        GuardScopeValues { values: self.attnums().map(|attnum| row.value(attnum)).collect(), row: PhantomData }
    }

    /// Whether a row has these scope values. NULL equals NULL.
    pub fn has_values(&self, row: Row<'_>, values: &GuardScopeValues<'_>) -> bool {
        self.0.iter().zip(&values.values).all(|(scope, value)| match (row.value(scope.column.attnum), *value) {
            (None, None) => true,
            (Some(own), Some(other)) => {
                let ScopeColumn { column, equality, .. } = scope;
                // SAFETY: a guard's tables have columns of the same types. The function is the equality of this type.
                let result = unsafe { pg_sys::OidFunctionCall2Coll(*equality, column.collation, own, other) };
                result != Datum::from(false)
            }
            _ => false,
        })
    }

    /// A hash of scope values; equal values have the same hash. Of a type without hash functions, it distinguishes only
    /// NULL from other values.
    pub fn hash(&self, values: &GuardScopeValues<'_>) -> u64 {
        let hash_value = |(scope, value): (&ScopeColumn, &Option<Datum>)| match (scope.hash_function, value) {
            // SAFETY: the value is of the column's type, and the function is the hash function of this type.
            (Some(function), Some(value)) => unsafe {
                pg_sys::OidFunctionCall1Coll(function, scope.column.collation, *value).value() as u32
            },
            (_, value) => u32::from(value.is_some()),
        };
        let hashes = self.0.iter().zip(&values.values).map(hash_value);
        hashes.fold(0, |all: u64, hash| (all ^ u64::from(hash)).wrapping_mul(GOLDEN_RATIO).rotate_left(32))
    }
}

impl ScopeColumn {
    fn new(table: &Relation, name: &str) -> Result<Self> {
        let column = Column::named(table, name)?;
        if column.is_generated {
            return Err(not_supported(format!("scope column \"{name}\" of table \"{}\" is generated", table.name()?))
                .with_detail("Generated columns are computed after BEFORE triggers.")
                .with_hint("Name the columns that it is computed from."));
        }
        let flags = pg_sys::TYPECACHE_EQ_OPR | pg_sys::TYPECACHE_HASH_PROC;
        // SAFETY: the type of an existing column exists.
        let entry = unsafe { &*pg_sys::lookup_type_cache(column.data_type, flags as i32) };
        if entry.eq_opr == Oid::INVALID {
            let message = format!("column \"{name}\" of table \"{}\" has a type without equality", table.name()?);
            return Err(user_error(PgSqlErrorCode::ERRCODE_UNDEFINED_FUNCTION, message));
        }
        // SAFETY: the type exists, and the type cache returned this operator, so it exists too.
        let (base, equality) = unsafe { (pg_sys::getBaseType(column.data_type), pg_sys::get_opcode(entry.eq_opr)) };
        if !is_allowed_type(base) {
            return Err(refused_type(&column.type_name()?, "scope"));
        }
        // The type cache returns a hash function only if it agrees with the equality.
        let hash_function = Some(entry.hash_proc).filter(|function| *function != Oid::INVALID);
        Ok(Self { column, equality, hash_function })
    }
}
