//! The functions for callers who need no cancelling: each is one call of a module, without a tick.

use crate::criterion::CriterionDocument;
use crate::error::Error;
use crate::fingerprint::Fingerprinter;
use crate::fingerprint::difference;
use crate::fingerprint::feature_list::FeatureList;
use crate::fingerprint::options::Options;
use crate::fingerprint::passages;
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
    simhash_with(text, &Options::default())
}

/// The fingerprint of a text with other options.
///
/// ```
/// use simhash::{Options, simhash_with};
///
/// let pairs_of_words = Options { ngram: Some(2), ..Options::default() };
/// let fingerprint = simhash_with("the quick brown fox", &pairs_of_words)?;
/// assert_ne!(fingerprint, simhash_with("the brown quick fox", &pairs_of_words)?);
///
/// let read = Options::from_json(r#"{"ngram": 2}"#).expect("this is a document of options");
/// assert_eq!(simhash_with("the quick brown fox", &read)?, fingerprint);
/// # Ok::<(), simhash::Error>(())
/// ```
///
/// # Errors
///
/// As for [`simhash`].
pub fn simhash_with(text: &str, options: &Options) -> Result<Option<u64>, Error> {
    Fingerprinter::default().fingerprint(text, options, &|| ())
}

/// The features that the fingerprint of a text is made of, with their weights.
///
/// ```
/// let features = simhash::features("To be, or not to be", &simhash::Options::default())?;
/// let names: Vec<_> = features.iter().map(|feature| feature.text).collect();
/// assert_eq!(names, ["to", "be", "or", "not"]);
/// # Ok::<(), simhash::Error>(())
/// ```
///
/// # Errors
///
/// As for [`simhash`].
pub fn features(text: &str, options: &Options) -> Result<FeatureList, Error> {
    Fingerprinter::default().features(text, options, &|| ())
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
    crate::fingerprint::resemblance::resemblance(&mut Fingerprinter::default(), a, b, options, &|| ())
}

/// Whether text `a` is a near-duplicate of text `b`, which is searched for; None if one of them has no feature. See
/// [`crate::criterion`].
///
/// ```
/// let (a, b) = ("to be or not to be, that is the question", "To be, or not to be: that is the question!");
/// let criterion = simhash::CriterionDocument::from_json(r#"{"resemblance": 0.9}"#).expect("this is a criterion");
/// assert_eq!(simhash::near(a, b, &criterion)?, Some(true));
/// # Ok::<(), simhash::Error>(())
/// ```
///
/// # Errors
///
/// As for [`simhash`].
pub fn near(a: &str, b: &str, criterion: &CriterionDocument) -> Result<Option<bool>, Error> {
    criterion.near(&mut Fingerprinter::default(), a, b, &|| ())
}

/// The share of the features of `a`, and of its pairs of neighbouring features, that `b` has too, 0 to 1. None if `a`
/// has no feature. See [`crate::fingerprint::difference::containment`].
///
/// ```
/// let options = simhash::Options::default();
/// let share = simhash::containment("to be", "To be, or not to be", &options)?;
/// assert_eq!(share, Some(1.0));
/// # Ok::<(), simhash::Error>(())
/// ```
///
/// # Errors
///
/// As for [`simhash`].
pub fn containment(a: &str, b: &str, options: &Options) -> Result<Option<f64>, Error> {
    difference::containment(&mut Fingerprinter::default(), a, b, options, &|| ())
}

/// The passages of a text, to be stored and looked up: texts that have 11 words in a row in common, or 13 letters of a
/// script without spaces, have a passage in common. See [`crate::fingerprint::passages`].
///
/// # Errors
///
/// As for [`simhash`].
pub fn passages(text: &str, options: &Options) -> Result<Vec<u64>, Error> {
    passages::passages(&mut Fingerprinter::default(), text, options, &|| ())
}

/// Whether at least a share of a clue's words stand in a text as they do in the clue. False if the clue has no word.
/// See [`crate::fingerprint::passages::coverage`].
///
/// ```
/// let options = simhash::Options::default();
/// let text = "The quick brown fox jumps over the lazy dog.";
/// assert!(simhash::contains(text, "brown fox jumps over", 0.8, &options)?);
/// assert!(!simhash::contains(text, "over jumps fox brown", 0.8, &options)?);
/// # Ok::<(), simhash::Error>(())
/// ```
///
/// # Errors
///
/// As for [`simhash`].
pub fn contains(text: &str, clue: &str, share: f64, options: &Options) -> Result<bool, Error> {
    let found = passages::coverage(&mut Fingerprinter::default(), clue, text, options, &|| ())?;
    Ok(found.is_some_and(|found| found >= share))
}

/// The features that weigh more in one of two texts than in the other: a list for each. See
/// [`crate::fingerprint::difference::difference`].
///
/// ```
/// let options = simhash::Options::default();
/// let [of_a, of_b] = simhash::difference("4,000 tonnes", "5,000 tonnes", &options)?;
/// assert_eq!(of_a.iter().map(|feature| feature.text).collect::<Vec<_>>(), ["4"]);
/// assert_eq!(of_b.iter().map(|feature| feature.text).collect::<Vec<_>>(), ["5"]);
/// # Ok::<(), simhash::Error>(())
/// ```
///
/// # Errors
///
/// As for [`simhash`].
pub fn difference(a: &str, b: &str, options: &Options) -> Result<[FeatureList; 2], Error> {
    difference::difference(&mut Fingerprinter::default(), a, b, options, &|| ())
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
