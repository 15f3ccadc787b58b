//! The functions for callers who need no cancelling: each is one call of a module, without a tick.

use crate::error::Error;
use crate::fingerprint::Fingerprinter;
use crate::fingerprint::options::Options;
use crate::fingerprint::resemblance::resemblance as resemblance_of;
use crate::pairs::{self, Pair, Pairs, Rows};
use crate::search::nearness::Nearness;

/// The fingerprint of a text with the default [`Options`]; None if the text has no feature, for example because it is
/// empty.
///
/// About 2 ns for each byte of English. To make many fingerprints, use one [`Fingerprinter`], which reuses its memory.
///
/// ```
/// let fingerprint = simhash::simhash("The quick brown fox jumps over the lazy dog")?;
/// // PostgreSQL's bigint has the same bits.
/// assert_eq!(fingerprint.map(|bits| bits as i64), Some(-9079108955735420317));
/// assert_eq!(simhash::simhash("the QUICK brown fox... jumps over the lazy dog!")?, fingerprint);
/// assert_eq!(simhash::simhash("?!")?, None);
/// # Ok::<(), simhash::Error>(())
/// ```
///
/// # Errors
///
/// Memory is refused, or the text exceeds one of the limits in [`crate::error`].
pub fn simhash(text: &str) -> Result<Option<u64>, Error> {
    Fingerprinter::default().fingerprint(text, &Options::default(), &|| ())
}

/// The Jaccard resemblance of two texts, 0 to 1: the share of their features, and of pairs of neighbouring ones, that
/// they have in common. None if one of them has no feature. See [`crate::fingerprint::resemblance::resemblance`].
///
/// ```
/// let options = simhash::Options::default();
/// let resemblance = simhash::resemblance("red green", "Red, green, blue", &options)?;
/// assert_eq!(resemblance, Some(0.6));
/// # Ok::<(), simhash::Error>(())
/// ```
///
/// # Errors
///
/// As for [`simhash`].
pub fn resemblance(a: &str, b: &str, options: &Options) -> Result<Option<f64>, Error> {
    resemblance_of(&mut Fingerprinter::default(), a, b, options, &|| ())
}

/// Every pair of fingerprints at a distance of at most `max_distance`, each once, in an order without meaning. Exact.
///
/// Ten million fingerprints at distance 3 take seconds. Needs 24 bytes for each fingerprint, and 12 for each pair that
/// is found. [`Pairs`] returns one pair after the other.
///
/// ```
/// use simhash::{Pair, near_pairs};
///
/// let found = near_pairs([0b0000, 0b0111, u64::MAX], 3)?;
/// assert_eq!(found, [Pair { a: 0, b: 1, distance: 3 }]);
/// # Ok::<(), simhash::Error>(())
/// ```
///
/// # Errors
///
/// Memory is refused, or there are more than [`crate::error::MAX_ROWS`] fingerprints.
pub fn near_pairs(fingerprints: impl IntoIterator<Item = u64>, max_distance: u32) -> Result<Vec<Pair>, Error> {
    let mut pairs = Pairs::new(rows(fingerprints)?, within(max_distance), &|_| ())?;
    let mut found = Vec::new();
    while let Some(pair) = pairs.next(&|_| ())? {
        found.try_reserve(1)?;
        found.push(pair);
    }
    Ok(found)
}

/// For each fingerprint, the position of the first one in its cluster: of all fingerprints that are connected with it
/// by pairs at a distance of at most `max_distance`.
///
/// ```
/// assert_eq!(simhash::clusters([0b0000, u64::MAX, 0b0111, 0b0111_1111], 4)?, [0, 1, 0, 0]);
/// # Ok::<(), simhash::Error>(())
/// ```
///
/// # Errors
///
/// As for [`near_pairs`].
pub fn clusters(fingerprints: impl IntoIterator<Item = u64>, max_distance: u32) -> Result<Vec<u32>, Error> {
    pairs::clusters(rows(fingerprints)?, within(max_distance), &|_| ())
}

fn within(max_distance: u32) -> Nearness {
    Nearness::within(max_distance.min(64).cast_signed())
}

fn rows(fingerprints: impl IntoIterator<Item = u64>) -> Result<Rows, Error> {
    let fingerprints = fingerprints.into_iter();
    let mut rows = Rows::with_capacity(fingerprints.size_hint().0)?;
    for fingerprint in fingerprints {
        rows.push(Some(fingerprint))?;
    }
    Ok(rows)
}
