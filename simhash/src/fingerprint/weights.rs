//! Weights as integers, as [`super::tally::Tally`] adds them, so that neither the order of features nor the CPU changes
//! a bit.

/// Largest weight that a caller may give a feature.
pub const MAX_WEIGHT: f64 = 1e9;
/// A caller's weight of 1. The unit is decimal, so that decimal fractions, as people write them, keep their exact
/// ratios.
pub(super) const ONE_IN_BILLIONTHS: u32 = 1_000_000_000;

/// A caller's weight in billionths, rounded to the nearest (half away from zero); None unless the weight is from 0 to
/// [`MAX_WEIGHT`].
///
/// A weight below half a billionth becomes 0. Negative weights are refused: a vote against every bit of a feature's
/// hash would make a text similar to unrelated ones.
pub fn billionths_from_float(weight: f64) -> Option<u64> {
    (0.0..=MAX_WEIGHT).contains(&weight).then(|| (weight * f64::from(ONE_IN_BILLIONTHS)).round() as u64)
}

/// The weight of a feature that occurs `count` times under `"weight": "log"`: round(256 * (1 + ln count)).
pub fn log_weight(count: u32) -> u32 {
    match LOG.get(count as usize) {
        Some(weight) => u32::from(*weight),
        None => compute_log(count),
    }
}

const LOG: [u16; 256] = {
    let mut table = [0; 256];
    let mut count = 1;
    while count < table.len() {
        table[count] = compute_log(count as u32) as u16;
        count += 1;
    }
    table
};

/// Computes [`log_weight`] in integers: the binary logarithm to 40 fraction bits by repeated squaring (Knuth, TAOCP 1,
/// section 1.2.2, the method of exercise 25), times ln 2. Exact for every `u32`: `tests/weights.rs` checks each count
/// at which the result steps.
const fn compute_log(count: u32) -> u32 {
    const FRACTION_BITS: u32 = 40;
    const LN_2: u128 = 0xB172_17F7_D1CF_79AB; // ln 2 in 64 fraction bits
    if count == 0 {
        return 0;
    }
    let whole = count.ilog2();
    let mut log2 = (whole as u64) << FRACTION_BITS;
    // The mantissa, from 1 to 2, in 63 fraction bits.
    let mut mantissa = (count as u64) << (63 - whole);
    let mut bit = FRACTION_BITS;
    while bit > 0 {
        bit -= 1;
        let square = (mantissa as u128 * mantissa as u128) >> 63;
        // Whether the square is 2 or more is unpredictable, so nothing branches on it.
        let carry = (square >> 64) as u64;
        log2 |= carry << bit;
        mantissa = (square >> carry) as u64;
    }
    // 256 * (1 + ln count), rounded. `ln` has FRACTION_BITS + 64 fraction bits, of which the factor 256 takes 8.
    const SHIFT: u32 = FRACTION_BITS + 64 - 8;
    let ln = log2 as u128 * LN_2;
    256 + ((ln + (1 << (SHIFT - 1))) >> SHIFT) as u32
}
