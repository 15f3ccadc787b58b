//! Recognises the Hamming distance of two fingerprints.
//!
//! `hamming(a, b)` and `a <~> b` are the extension's own. Applications that do not use the extension count the bits in
//! which two fingerprints differ: with `bit_count` or, before PostgreSQL 14, as characters of a text.

use pgrx::pg_sys::{self, Oid};
use postgres::expression::Expression;

use crate::sql::functions::ExtensionSchema;
use crate::sql::indexed::bits::{Bits, FINGERPRINT_BITS};

/// The two fingerprints of a distance, with or without casts between integer types; None if the expression is not a
/// distance.
pub fn fingerprints_of_distance(expression: Expression) -> Option<[Bits; 2]> {
    let (function, arguments) = expression.applied()?;
    match (function.to_u32(), &arguments[..]) {
        (pg_sys::F_INT2_INT8 | pg_sys::F_INT4_INT8 | pg_sys::F_INT8_INT4, &[count]) => fingerprints_of_distance(count),
        (pg_sys::F_BIT_COUNT_BIT, &[difference]) => fingerprints_of_difference(difference),
        (pg_sys::F_LENGTH_TEXT | pg_sys::F_CHAR_LENGTH_TEXT | pg_sys::F_CHARACTER_LENGTH_TEXT, &[digits]) => {
            fingerprints_of_difference(without_zeros(digits)?)
        }
        (_, &[a, b]) => {
            let arguments = &[pg_sys::INT8OID, pg_sys::INT8OID];
            ExtensionSchema::of(function, c"hamming", arguments, c"simhash_near_support")?;
            Some([a, b].map(Bits::of_bigint))
        }
        _ => None,
    }
}

/// The two fingerprints of the bits in which they differ: `(a # b)::bit(64)`, or `a # b` for bit strings.
fn fingerprints_of_difference(difference: Expression) -> Option<[Bits; 2]> {
    let (function, arguments) = difference.applied()?;
    match (function.to_u32(), &arguments[..]) {
        (pg_sys::F_BIT_INT8_INT4, &[number, length]) if length.value() == Some(FINGERPRINT_BITS) => {
            let (function, operands) = number.applied()?;
            let &[a, b] = &operands[..] else { return None };
            (function == pg_sys::F_INT8XOR.into()).then(|| [a, b].map(Bits::of_bigint))
        }
        (pg_sys::F_BIT_BIT_INT4_BOOL, &[bits, length, _]) if length.value() == Some(FINGERPRINT_BITS) => {
            fingerprints_of_difference(bits)
        }
        // PostgreSQL raises an error for operands of different lengths.
        (pg_sys::F_BITXOR, &[a, b]) => match (Bits::of_bit_string(a), Bits::of_bit_string(b)) {
            (Some(a), Some(b)) => Some([a, b]),
            (Some(a), None) => Some([a, Bits::of_checked_bit_string(b)?]),
            (None, Some(b)) => Some([Bits::of_checked_bit_string(a)?, b]),
            (None, None) => None,
        },
        _ => None,
    }
}

/// The bits in `replace(bits::text, '0', '')` or `translate(bits::text, '0', '')`.
fn without_zeros(digits: Expression) -> Option<Expression> {
    let (function, arguments) = digits.applied()?;
    let removes_zeros_alone = match function.to_u32() {
        pg_sys::F_REPLACE => is_deterministic(digits.input_collation()),
        pg_sys::F_TRANSLATE => true,
        _ => false,
    };
    match &arguments[..] {
        &[digits, from, to] if removes_zeros_alone && from.text() == Some(b"0") && to.text() == Some(b"") => {
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
