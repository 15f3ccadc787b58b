//! The size of a text: the number of features and pairs of neighbours by which it is compared, or the sum of their
//! weights, rounded up and at most `i32::MAX`. Texts of very different sizes cannot resemble each other, so an index on
//! sizes leaves out most texts before they are compared.

use std::ops::RangeInclusive;

use super::options::Options;

/// A number of features and pairs, or their weight, as a size.
pub(super) fn as_size(number: impl TryInto<i32>) -> i32 {
    number.try_into().unwrap_or(i32::MAX)
}

/// Whether sizes are not rounded: all weights are whole numbers.
pub fn are_sizes_exact(options: &Options) -> bool {
    options.weights.is_none()
}

/// The sizes of the texts whose resemblance to a text of this size may be at least `least`: from `least * size` to
/// `size / least`. All sizes if `least` is not more than 0.
///
/// The common weight of two texts is at most the smaller of their weights, and their joint weight at least the larger.
/// So their resemblance is at most the smaller weight divided by the larger. If sizes are rounded, the weight of the
/// text may be less than its size by almost 1.
pub fn similar_sizes(size: i32, least: f64, are_sizes_exact: bool) -> RangeInclusive<i32> {
    /// Allows for more than the rounding of a resemblance, which is compared with `least`, and of the products here.
    const MARGIN: f64 = 1.0 - 1e-12;
    if least.is_nan() || least <= 0.0 {
        return i32::MIN..=i32::MAX;
    }
    let (least, size) = (least * MARGIN, f64::from(size));
    let (least_weight, largest) =
        if are_sizes_exact { (size, (size / least).floor()) } else { (size - 1.0, (size / least).ceil()) };
    // A conversion to an integer saturates, as sizes do.
    (least_weight * least).ceil() as i32..=largest as i32
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
            assert_eq!(similar_sizes(size, least, true), exact, "{size} {least}");
            assert_eq!(similar_sizes(size, least, false), rounded, "{size} {least}");
        }
    }
}
