//! Weights: the integer logarithm, and the scale of callers' weights.

use simhash::error::Error;
use simhash::fingerprint::tally::Tally;
use simhash::fingerprint::weights::{MAX_WEIGHT, billionths_from_float, log_weight};

/// round(256 * (1 + ln count)); None if the rounding errors of a double could change the result.
fn log_of(count: u32) -> Option<u32> {
    let exact = 256.0 * (1.0 + f64::from(count).ln());
    let to_half = (exact - exact.floor() - 0.5).abs();
    (to_half > 1e-9).then(|| exact.round() as u32)
}

/// Between two steps of the rounded logarithm the result is constant, so it is enough to test both sides of each step.
#[test]
fn log_steps_match_logarithm() {
    assert_eq!(log_weight(0), 0);
    assert_eq!(log_weight(1), 256);
    assert_eq!(log_weight(u32::MAX), 5934);
    for weight in 257..=5934 {
        let step = ((f64::from(weight) - 0.5) / 256.0 - 1.0).exp();
        let (below, above) = (step.floor() as u32, step.ceil() as u32);
        for count in [below.saturating_sub(1), below, above, above.saturating_add(1)] {
            if let Some(weight) = log_of(count.max(1)) {
                assert_eq!(log_weight(count.max(1)), weight, "of {count}");
            }
        }
    }
}

#[test]
fn weights_count_in_billionths() {
    assert_eq!(billionths_from_float(0.0), Some(0));
    assert_eq!(billionths_from_float(-0.0), Some(0));
    assert_eq!(billionths_from_float(1.0), Some(1_000_000_000));
    assert_eq!(billionths_from_float(0.1), Some(100_000_000));
    assert_eq!(billionths_from_float(0.7), Some(700_000_000));
    assert_eq!(billionths_from_float(4.9e-10), Some(0));
    assert_eq!(billionths_from_float(5.1e-10), Some(1));
    assert_eq!(billionths_from_float(f64::MIN_POSITIVE), Some(0));
    assert_eq!(billionths_from_float(MAX_WEIGHT), Some(1_000_000_000_000_000_000));
    for refused in [-1e-300, -1.0, MAX_WEIGHT * 1.000_001, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        assert_eq!(billionths_from_float(refused), None, "{refused}");
    }
}

#[test]
fn refuses_large_sums() {
    let mut tally = Tally::default();
    tally.add(1, u64::MAX).expect("one fits");
    for _ in 0..40 {
        let half = tally.clone();
        if let Err(error) = tally.merge(&half) {
            assert_eq!(error, Error::WeightOverflow);
            return;
        }
    }
    panic!("2^96 was reached without an error");
}
