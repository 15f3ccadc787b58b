//! Numbers of JSON, of any length, as exact integers.

use super::weights::ONE_IN_BILLIONTHS;

/// A JSON number as a whole number; None if it is negative, a fraction, or beyond 64 bits.
pub fn integer(json: &str) -> Option<u64> {
    scaled_number(json, 0).filter(|number| number.is_whole).map(|number| number.whole)
}

/// A JSON number in billionths, rounded to the nearest (half up); None unless the number is from 0 to 1.
pub fn billionths(json: &str) -> Option<u32> {
    let ScaledNumber { whole, rounds_up, is_whole } = scaled_number(json, 9)?;
    let most = u64::from(ONE_IN_BILLIONTHS);
    (whole < most || whole == most && is_whole).then(|| whole as u32 + u32::from(rounds_up))
}

/// A number times a power of ten: what is before its point, whether its first decimal rounds it up, and whether it has
/// no decimals but zeros.
struct ScaledNumber {
    whole: u64,
    rounds_up: bool,
    is_whole: bool,
}

/// A JSON number times 10^`decimals`. It may have more digits, or a larger exponent, than any machine number. None if
/// the value is not a number, if it is negative, or beyond 64 bits.
fn scaled_number(json: &str, decimals: i64) -> Option<ScaledNumber> {
    let number = json.strip_prefix('-').unwrap_or(json);
    if !number.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let exponent: i64 = exponent.parse().unwrap_or(if exponent.starts_with('-') { i64::MIN } else { i64::MAX });
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let point = (before.len() as i64).saturating_add(exponent).saturating_add(decimals);
    let (mut whole, mut rounds_up, mut is_whole) = (0u64, false, true);
    for (position, digit) in (0..).zip(before.bytes().chain(after.bytes())) {
        let digit = u64::from(digit - b'0');
        if position < point {
            whole = whole.checked_mul(10)?.checked_add(digit)?;
        } else {
            rounds_up |= position == point && digit >= 5;
            is_whole &= digit == 0;
        }
    }
    let zeros = point.saturating_sub((before.len() + after.len()) as i64);
    if whole != 0 && zeros > 0 {
        whole = whole.checked_mul(10u64.checked_pow(u32::try_from(zeros).ok()?)?)?;
    }
    let is_zero = whole == 0 && is_whole;
    (is_zero || !json.starts_with('-')).then_some(ScaledNumber { whole, rounds_up, is_whole })
}
