//! Recognises the Hamming distance of two fingerprints.
//!
//! `hamming(a, b)` and `a <~> b` are the extension's own. Applications that do not use the extension count the bits in
//! which two fingerprints differ: with `bit_count` or, before PostgreSQL 14, as characters of a text.

use pgrx::pg_sys::{self, Oid};
use postgres::expression::Expression;

use crate::sql::functions::ExtensionSchema;
use crate::sql::indexed::bits::{Bits, FINGERPRINT_BITS};

#[derive(Clone, Copy)]
pub struct Distance {
    pub fingerprints: [Bits; 2],
}

impl Distance {
    /// Reads an expression, with or without casts between integer types; None if it is not a distance.
    pub fn read(expression: Expression) -> Option<Self> {
        let (function, arguments) = expression.applied()?;
        match (function.to_u32(), &arguments[..]) {
            (pg_sys::F_INT2_INT8 | pg_sys::F_INT4_INT8 | pg_sys::F_INT8_INT4, &[count]) => Self::read(count),
            (pg_sys::F_BIT_COUNT_BIT, &[difference]) => Self::of_difference(difference),
            (pg_sys::F_LENGTH_TEXT | pg_sys::F_CHAR_LENGTH_TEXT | pg_sys::F_CHARACTER_LENGTH_TEXT, &[digits]) => {
                Self::of_difference(without_zeros(digits)?)
            }
            (_, &[a, b]) => {
                let arguments = &[pg_sys::INT8OID, pg_sys::INT8OID];
                ExtensionSchema::of(function, c"hamming", arguments, c"simhash_near_support")?;
                Some(Self { fingerprints: [a, b].map(Bits::of_bigint) })
            }
            _ => None,
        }
    }

    /// Reads the bits in which two fingerprints differ: `(a # b)::bit(64)`, or `a # b` for bit strings.
    fn of_difference(difference: Expression) -> Option<Self> {
        let (function, arguments) = difference.applied()?;
        match (function.to_u32(), &arguments[..]) {
            (pg_sys::F_BIT_INT8_INT4, &[number, length]) if length.value() == Some(FINGERPRINT_BITS) => {
                let (function, operands) = number.applied()?;
                let &[a, b] = &operands[..] else { return None };
                let is_difference = function == pg_sys::F_INT8XOR.into();
                is_difference.then(|| Self { fingerprints: [a, b].map(Bits::of_bigint) })
            }
            (pg_sys::F_BIT_BIT_INT4_BOOL, &[bits, length, _]) if length.value() == Some(FINGERPRINT_BITS) => {
                Self::of_difference(bits)
            }
            (pg_sys::F_BITXOR, &[a, b]) => {
                // PostgreSQL raises an error for operands of different lengths.
                let fingerprints = match (Bits::of_bit_string(a), Bits::of_bit_string(b)) {
                    (Some(a), Some(b)) => [a, b],
                    (Some(a), None) => [a, Bits::of_checked_bit_string(b)?],
                    (None, Some(b)) => [Bits::of_checked_bit_string(a)?, b],
                    (None, None) => return None,
                };
                Some(Self { fingerprints })
            }
            _ => None,
        }
    }
}

/// The bits in `replace(bits::text, '0', '')` or `translate(bits::text, '0', '')`.
fn without_zeros(digits: Expression) -> Option<Expression> {
    let (function, arguments) = digits.applied()?;
    let removes_zeros_alone = match function.to_u32() {
        pg_sys::F_REPLACE => is_deterministic(digits.input_collation()?),
        pg_sys::F_TRANSLATE => true,
        _ => false,
    };
    match &arguments[..] {
        &[digits, from, to] if removes_zeros_alone && from.is_text("0") && to.is_text("") => {
            digits.without_relabelling().cast_by_text()
        }
        _ => None,
    }
}

/// Whether only equal bytes are equal texts. By any other collation, `replace` raises an error, or from PostgreSQL 18
/// on may take another character for a zero.
fn is_deterministic(collation: Oid) -> bool {
    // SAFETY: the collation of an expression that is being planned exists, unless it is the invalid OID.
    collation != Oid::INVALID && unsafe { pg_sys::get_collation_isdeterministic(collation) }
}
