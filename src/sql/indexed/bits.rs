//! The 64 bits of a fingerprint, in the SQL types that can store them.

use pgrx::pg_sys;
use postgres::expression::Expression;

use super::recognise::FingerprintCall;
use crate::sql::functions::ExtensionSchema;

pub const FINGERPRINT_BITS: i32 = 64;

/// An expression whose value is the 64 bits of a fingerprint.
#[derive(Clone, Copy, Debug)]
pub enum Bits {
    Bigint(Expression),
    BitString(Expression),
    /// Hexadecimal digits, of type `text`, as `('x' || digits)::bit(64)` or `simhash_from_hex(digits)` reads them; and
    /// the expression that reads them, as a `bigint`.
    Hex {
        digits: Expression,
        bigint: Expression,
    },
}

impl Bits {
    /// Reads an expression of type `bigint`.
    pub fn of_bigint(expression: Expression) -> Self {
        let bigint = Self::Bigint(expression);
        let Some((function, arguments)) = expression.without_relabelling().applied() else { return bigint };
        let &[argument] = &arguments[..] else { return bigint };
        if function == pg_sys::F_INT8_BIT.into() {
            return Self::of_bit_string(argument).unwrap_or(bigint);
        }
        let types = &[pg_sys::TEXTOID];
        match ExtensionSchema::of_own_function(function, c"simhash_from_hex", types, c"simhash_block_support") {
            Some(_) => Self::Hex { digits: argument, bigint: expression },
            None => bigint,
        }
    }

    /// Reads an expression of type `bit`; None unless its length is known to be 64.
    pub fn of_bit_string(expression: Expression) -> Option<Self> {
        if let Some((function, arguments)) = expression.applied() {
            let fits = |length: Expression| length.value() == Some(FINGERPRINT_BITS);
            match (function.to_u32(), &arguments[..]) {
                (pg_sys::F_BIT_INT8_INT4, &[number, length]) if fits(length) => return Some(Self::of_bigint(number)),
                (pg_sys::F_BIT_BIT_INT4_BOOL, &[inner, length, is_explicit]) if fits(length) => {
                    // An explicit cast pads or cuts the digits. An implicit one raises an error.
                    if let Some(digits) = hex_digits(inner).filter(|_| is_explicit.value() == Some(true)) {
                        return Some(Self::Hex { digits, bigint: expression.coerced_to(pg_sys::INT8OID)? });
                    }
                    if inner.bit_length() == Some(FINGERPRINT_BITS) {
                        return Self::of_bit_string(inner);
                    }
                }
                _ => {}
            }
        }
        (expression.bit_length() == Some(FINGERPRINT_BITS)).then_some(Self::BitString(expression.without_relabelling()))
    }

    /// Reads an operand of the operator `#` for bit strings, whose other operand has length 64; None for another known
    /// length. If the length is unknown, the query checks it by a cast, which fails with the SQLSTATE of `#`.
    pub fn of_checked_bit_string(expression: Expression) -> Option<Self> {
        match expression.bit_length() {
            Some(_) => Self::of_bit_string(expression),
            None => expression.assigned_to(pg_sys::BITOID, FINGERPRINT_BITS).map(Self::BitString),
        }
    }

    /// The bits as an expression of type `bigint`; None if they cannot be cast to it.
    pub fn bigint(self) -> Option<Expression> {
        match self {
            Self::Bigint(bigint) | Self::Hex { bigint, .. } => Some(bigint),
            Self::BitString(bits) => bits.coerced_to(pg_sys::INT8OID).map(Expression::with_folded_constants),
        }
    }

    /// Whether both expressions give the same bits.
    pub fn equals(self, other: Self) -> bool {
        match (self, other) {
            (Self::Bigint(own), Self::Bigint(other)) => own.equals(other) || FingerprintCall::are_equal(own, other),
            (Self::BitString(own), Self::BitString(other))
            | (Self::Hex { digits: own, .. }, Self::Hex { digits: other, .. }) => own.equals(other),
            _ => false,
        }
    }
}

/// The digits in `('x' || digits)::bit`.
fn hex_digits(bits: Expression) -> Option<Expression> {
    let (function, operands) = bits.argument_of_io_cast()?.applied()?;
    match operands[..] {
        [prefix, digits] if function == pg_sys::F_TEXTCAT.into() && prefix.text() == Some(b"x") => Some(digits),
        _ => None,
    }
}
