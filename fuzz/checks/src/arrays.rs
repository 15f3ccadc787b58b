//! Arrays of features and weights, and the state of the aggregate: weights are counted in billionths, the fingerprint
//! is the majority vote, whether features are added at once or in parts, and no bytes are accepted as a state that
//! could not have been reached.
//!
//! An input begins with a digit: 0 for the bytes of a state, 1 for features, 2 for features and weights.

use simhash::fingerprint::hash::hash;
use simhash::fingerprint::tally::Tally;
use simhash::fingerprint::weights::from_float;

use super::input::Input;
use super::oracle;

pub fn check(input: &[u8]) {
    let mut input = Input(input);
    match input.number() % 3 {
        0 => check_state(input.0),
        kind => check_features(input, kind == 2),
    }
}

/// Checks the fingerprint of features. The input has each feature, preceded by its weight (if `weighted`) and its
/// length.
fn check_features(mut input: Input, weighted: bool) {
    let parts = usize::from(input.number() % 4) + 1;
    let mut features = Vec::new();
    while !input.is_empty() {
        let weight = if weighted { weight(&mut input) } else { Some(1) };
        let length = input.number().into();
        let feature = input.take(length);
        features.extend(weight.map(|weight| (hash(feature), weight)));
    }
    let mut whole = Tally::default();
    for part in features.chunks(features.len().div_ceil(parts).max(1)) {
        let mut tally = Tally::default();
        for &(hash, weight) in part {
            if weighted {
                tally.add(hash, weight).expect("the sum is in range");
            } else {
                tally.vote(hash, true);
            }
        }
        assert_eq!(tally.clone().fingerprint(), oracle::fingerprint_of(part), "{part:x?}");
        let travelled = Tally::from_bytes(&tally.to_bytes()).expect("the bytes of a tally");
        whole.merge(&travelled).expect("the sum is in range");
    }
    assert_eq!(whole.fingerprint(), oracle::fingerprint_of(&features), "{features:x?} in {parts} parts");
}

/// Reads a weight in one of several forms. Returns it in billionths, or None if it is refused, and checks both.
fn weight(input: &mut Input) -> Option<u64> {
    let weight = match input.number() % 4 {
        0 => f64::from_bits(input.u64()),
        1 => f64::from(input.u16()) / 1000.0,
        2 => f64::from(input.byte()),
        _ => 1e9 - f64::from(input.byte()) / 256.0,
    };
    let billionths = from_float(weight);
    let refused = !(0.0..=1e9).contains(&weight);
    assert_eq!(billionths.is_none(), refused, "{weight:e}");
    if let Some(billionths) = billionths {
        let (units, scale) = exact_billionths(weight);
        let counted = u128::from(billionths) * scale;
        // The tolerance is half a billionth, plus the precision of a double.
        assert!(counted.abs_diff(units) <= scale / 2 + (units >> 53) + 1, "{billionths} for {weight:e}");
    }
    billionths
}

/// A weight from 0 to 1e9 in billionths, exactly: the first number divided by the second.
fn exact_billionths(weight: f64) -> (u128, u128) {
    let bits = weight.abs().to_bits();
    let (exponent, fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
    let mantissa = if exponent == 0 { fraction } else { fraction | 1 << 52 };
    // The weight is the mantissa times 2 to this power, which is at most -23 for weights up to 1e9.
    let power = exponent.max(1) - 1075;
    let scale = 1u128 << power.unsigned_abs().min(100);
    // A mantissa times less than 2^-100 is 0 billionths.
    let mantissa = if power < -100 { 0 } else { u128::from(mantissa) };
    (mantissa * 1_000_000_000, scale)
}

fn check_state(bytes: &[u8]) {
    let Some(mut tally) = Tally::from_bytes(bytes) else { return };
    assert_eq!(tally.to_bytes(), bytes);
    let (total, counters) = counters(bytes);
    assert!(counters.iter().all(|counter| *counter <= total), "{counters:?} of {total}");
    assert_eq!(tally.fingerprint(), vote(total, &counters));
    // Whatever is added next gives a sum in range or an error.
    let mut doubled = tally.clone();
    if doubled.merge(&tally).is_ok() {
        assert_eq!(doubled.fingerprint(), tally.fingerprint());
    }
    (0..20).for_each(|hash| tally.vote(!hash, true));
    let expected = vote(total + 20, &std::array::from_fn(|bit| counters[bit] + if bit >= 5 { 20 } else { votes(bit) }));
    assert_eq!(tally.fingerprint(), expected);
    let _ = tally.add(u64::MAX, u64::MAX);
    tally.fingerprint();
}

/// How many of the numbers from 0 to 19 do not have the bit set.
fn votes(bit: usize) -> u128 {
    (0u128..20).map(|number| !number >> bit & 1).sum()
}

/// Reads a state as `Tally::to_bytes` describes it: the total, then bit by bit of all 64 counters.
fn counters(bytes: &[u8]) -> (u128, [u128; 64]) {
    let mut input = Input(bytes);
    let total = u128::from(input.u64()) | u128::from(input.u64()) << 64;
    let mut counters = [0; 64];
    let mut plane = 0;
    while !input.is_empty() {
        let word = input.u64();
        for (bit, counter) in counters.iter_mut().enumerate() {
            *counter |= u128::from(word >> bit & 1) << plane;
        }
        plane += 1;
    }
    (total, counters)
}

fn vote(total: u128, counters: &[u128; 64]) -> Option<u64> {
    (total > 0).then(|| (0..64).map(|bit| u64::from(counters[bit] * 2 > total) << bit).sum())
}
