//! The Hamming distance of two fingerprints, and the share of all pairs that are within a distance.

/// The Hamming distance of two fingerprints: the number of bits in which they differ, 0 to 64.
#[inline]
pub fn hamming(a: u64, b: u64) -> u32 {
    (a ^ b).count_ones()
}

/// The share of all possible pairs of fingerprints whose distance is at most `max_distance`, 0 to 1.
pub fn share_within(max_distance: i32) -> f64 {
    let mut pairs = 2f64.powi(-64);
    let mut share = 0.0;
    for distance in 0..=max_distance.min(64) {
        share += pairs;
        pairs *= f64::from(64 - distance) / f64::from(distance + 1);
    }
    share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_within_matches_binomials() {
        let (mut binomial, mut pairs) = (1u128, 0u128);
        for distance in 0..=64 {
            pairs += binomial;
            binomial = binomial * (64 - distance) / (distance + 1);
            let exact = pairs as f64 / 2f64.powi(64);
            let share = share_within(distance as i32);
            assert!((share / exact - 1.0).abs() < 1e-14, "distance {distance}: {share}, not {exact}");
        }
        assert_eq!(pairs, 1 << 64);
        for (max_distance, expected) in [(-1, 0.0), (i32::MIN, 0.0), (0, 2f64.powi(-64))] {
            assert_eq!(share_within(max_distance), expected, "{max_distance}");
        }
        assert_eq!(share_within(65), share_within(64));
        assert_eq!(share_within(i32::MAX), share_within(64));
    }
}
