//! The share of the copies that searches find, if candidates are confirmed by their texts.
//!
//! Measured on news, licences, laws, manual pages and copyright files, among the pairs of texts that share .9 of their
//! 5-character shingles: the share that is found and has a resemblance of .89 (`docs/accuracy.md`).

use super::nearness::Nearness;

/// The distance of the searches by radii. A larger one finds no more copies.
const DISTANCE_BY_RADII: i32 = 10;

/// Searches: number of blocks, largest distance, radii (empty if the distance alone decides), and the measured share.
const MEASURED: [(i32, i32, &[i32], f64); 10] = [
    (4, 3, &[], 0.62),
    (4, 6, &[], 0.92),
    (4, 8, &[], 0.98),
    (3, DISTANCE_BY_RADII, &[0, 0, 0], 0.72),
    (3, DISTANCE_BY_RADII, &[1, 1, 1], 0.95),
    (4, DISTANCE_BY_RADII, &[0, 0, 0, 0], 0.88),
    (4, DISTANCE_BY_RADII, &[1, 0, 0, 0], 0.94),
    (4, DISTANCE_BY_RADII, &[1, 1, 0, 0], 0.98),
    (4, DISTANCE_BY_RADII, &[1, 1, 1, 1], 0.99),
    (5, DISTANCE_BY_RADII, &[0, 0, 0, 0, 0], 0.95),
];

/// The share of the copies that searches find; None if it was not measured.
pub fn recall(near: Nearness) -> Option<f64> {
    measured().find(|(_, measured, _)| *measured == near).map(|(.., share)| share)
}

/// The searches whose recall is known, each with a number of blocks. Within a distance, all layouts find the same, so
/// these searches are listed with four blocks only.
pub fn searches() -> impl Iterator<Item = (i32, Nearness)> {
    measured().map(|(blocks, near, _)| (blocks, near))
}

fn measured() -> impl Iterator<Item = (i32, Nearness, f64)> {
    let read = |(blocks, distance, radii, share)| Some((blocks, Nearness::by_radii(distance, radii)?, share));
    MEASURED.into_iter().filter_map(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_radii_find_more() {
        let searches: Vec<_> = searches().collect();
        assert_eq!(searches.len(), MEASURED.len());
        for (&(blocks, a), &(_, b)) in searches.iter().flat_map(|a| searches.iter().map(move |b| (a, b))) {
            assert!(a.blocks().is_none_or(|of_radii| of_radii == blocks), "{a:?}");
            if a.blocks() == b.blocks() && a.max_distance() <= b.max_distance() && a.radii().le(b.radii()) {
                assert!(recall(a) <= recall(b), "{a:?} {b:?}");
            }
        }
        assert_eq!(recall(Nearness::within(6)), Some(0.92));
        assert_eq!(recall(Nearness::within(7)), None);
    }
}
