//! `simhash_from_hex`.

use pgrx::pg_extern;
use postgres::text::RawText;

/// The bits that `('x' || digits)::bit(64)` has: a missing digit is 0, and digits after the 16th do not matter. NULL
/// where that cast is an error.
#[pg_extern(sql = false)]
fn simhash_from_hex(digits: RawText<'_>) -> Option<i64> {
    let mut bits = 0u64;
    for (number, &byte) in digits.iter().enumerate() {
        let digit = char::from(byte).to_digit(16)?;
        if number < 16 {
            bits |= u64::from(digit) << (60 - 4 * number);
        }
    }
    Some(bits.cast_signed())
}
