//! The size of a text: by how many features it is compared. Texts of very different sizes cannot resemble each other,
//! so an index on sizes leaves out most texts before they are compared.

use std::ops::RangeInclusive;

use super::fingerprinter::{Fingerprinter, as_size};
use super::options::Options;
use crate::error::Result;

/// The number of features and pairs of neighbouring features, as one set, by which
/// [`resemblance`](super::resemblance::resemblance) compares a text: the sum of their weights, rounded up and at most
/// `i32::MAX`. None if nothing weighs anything, so that the text resembles none.
///
/// Costs as much as two fingerprints, in time and in memory.
pub fn size(fingerprinter: &mut Fingerprinter, text: &str, options: &Options, tick: &dyn Fn()) -> Result<Option<i32>> {
    let (total, one) = if options.is_plain_set() {
        (fingerprinter.count_compared(text, options, tick, |_| Ok(()))? as u128, 1)
    } else {
        (fingerprinter.weighted_and_compared(text, options, tick)?.total(tick), u128::from(options.one()))
    };
    Ok((total > 0).then(|| as_size(total.div_ceil(one))))
}

/// Whether sizes are not rounded: all weights are whole numbers.
pub fn is_exact(options: &Options) -> bool {
    options.weights.is_none()
}

/// The sizes of the texts that may resemble a text.
#[derive(Clone, Debug, PartialEq)]
pub struct SimilarSizes {
    pub range: RangeInclusive<i32>,
    /// The share of all texts that are expected to have them.
    pub expected_share: f64,
}

impl SimilarSizes {
    /// The sizes of the texts whose resemblance to a text of this [`size`] may be at least `least`: from `least * size`
    /// to `size / least`. All sizes if `least` is not more than 0.
    ///
    /// What two texts have in common is at most the smaller of them, and what they have together at least the larger.
    /// So their resemblance is at most the smaller weight divided by the larger. If sizes are rounded, the weight of
    /// the text may be less than its size by almost 1.
    pub fn new(size: i32, least: f64, is_exact: bool) -> Self {
        /// Comparing a resemblance, which is rounded to a double, with `least`, and the products here err by less.
        const ROUNDING: f64 = 1.0 - 1e-12;
        let expected_share = expected_share(least);
        if least.is_nan() || least <= 0.0 {
            return Self { range: i32::MIN..=i32::MAX, expected_share };
        }
        let (least, size) = (least * ROUNDING, f64::from(size));
        let (fewest, most) =
            if is_exact { (size, (size / least).floor()) } else { (size - 1.0, (size / least).ceil()) };
        // A conversion to an integer saturates, as sizes do.
        Self { range: (fewest * least).ceil() as i32..=most as i32, expected_share }
    }
}

/// The share of all texts that are expected to have [`SimilarSizes`].
///
/// Sizes are spread over orders of magnitude, so the share grows with the logarithm of the largest divided by the
/// smallest.
pub fn expected_share(least: f64) -> f64 {
    /// Counted for a resemblance of .7 to .95: .44 among news, .45 among laws, .26 among licences (the sets of
    /// `docs/accuracy.md`).
    const SHARE_OF_E: f64 = 0.45;
    if least > 0.0 { (-2.0 * SHARE_OF_E * least.ln()).clamp(0.0, 1.0) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_sizes() {
        for (size, least, exact, rounded) in [
            (70, 0.84, 59..=83, 58..=84),
            (10, 0.5, 5..=20, 5..=21),
            (10, 1.0, 10..=10, 9..=11),
            (1, 0.84, 1..=1, 0..=2),
            (i32::MAX, 1.0, i32::MAX..=i32::MAX, i32::MAX - 1..=i32::MAX),
            (7, 1e-300, 1..=i32::MAX, 1..=i32::MAX),
            (7, 0.0, i32::MIN..=i32::MAX, i32::MIN..=i32::MAX),
            (7, f64::NAN, i32::MIN..=i32::MAX, i32::MIN..=i32::MAX),
        ] {
            assert_eq!(SimilarSizes::new(size, least, true).range, exact, "{size} {least}");
            assert_eq!(SimilarSizes::new(size, least, false).range, rounded, "{size} {least}");
        }
    }
}
