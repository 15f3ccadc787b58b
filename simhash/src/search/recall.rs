//! The share of the copies that searches find, if candidates are confirmed by their texts.
//!
//! Measured on news, licences, laws, manual pages and copyright files, among the 991 pairs of texts that share .9 of
//! their 5-character shingles: the share that is found and has the default resemblance (`docs/accuracy.md`).

use super::nearness::Nearness;

/// The distance of the searches by radii. A larger one finds no more copies.
const DISTANCE_BY_RADII: i32 = 10;

/// Searches: number of blocks, largest distance, radii (empty if the distance alone decides), flips, and the measured
/// share.
type Measured = (i32, i32, &'static [i32], &'static [u32], f64);
const MEASURED: [Measured; 10] = [
    (4, 3, &[], &[], 0.63),
    (4, 6, &[], &[], 0.93),
    (4, 8, &[], &[], 0.98),
    (3, DISTANCE_BY_RADII, &[0, 0, 0], &[], 0.72),
    (3, DISTANCE_BY_RADII, &[1, 1, 1], &[8, 5], 0.989),
    (4, DISTANCE_BY_RADII, &[0, 0, 0, 0], &[], 0.89),
    (4, DISTANCE_BY_RADII, &[1, 1, 0, 0], &[5, 3], 0.987),
    (4, DISTANCE_BY_RADII, &[1, 1, 1, 1], &[5, 3], 0.994),
    (5, DISTANCE_BY_RADII, &[0, 0, 0, 0, 0], &[], 0.96),
    (5, DISTANCE_BY_RADII, &[1, 1, 1, 1, 1], &[3], 0.994),
];

/// The share of the copies that searches find; None if it was not measured. With flips, `near` is that of no particular
/// text.
pub fn recall(near: Nearness) -> Option<f64> {
    measured().find(|(_, measured, _)| *measured == near).map(|(.., share)| share)
}

/// The searches whose recall is known, each with a number of blocks. Within a distance, all layouts find the same, so
/// these searches are listed with four blocks only.
pub fn searches() -> impl Iterator<Item = (i32, Nearness)> {
    measured().map(|(blocks, near, _)| (blocks, near))
}

fn measured() -> impl Iterator<Item = (i32, Nearness, f64)> {
    let read = |(blocks, distance, radii, flips, share): Measured| {
        Some((blocks, Nearness::by_radii(distance, radii)?.with_flips(flips), share))
    };
    MEASURED.into_iter().filter_map(read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::criterion::CriterionDocument;

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
        assert_eq!(recall(Nearness::within(6)), Some(0.93));
        assert_eq!(recall(Nearness::within(7)), None);
        let default = CriterionDocument::default().of_texts().near;
        assert_eq!(recall(default), Some(0.994));
        assert_eq!(recall(default.by_radii_alone()), None);
    }
}
