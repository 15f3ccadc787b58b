//! Resemblance: how many features two texts have in common. It confirms the candidates that bands find.

use super::agreement::Agreement;
use super::fingerprinter::Fingerprinter;
use super::weighted::WeightedFeatures;
use crate::error::{Error, Result};
use crate::ticking::ticking;

/// The least resemblance of near-duplicates by default, chosen by measurements of news, licences, laws and manual pages
/// (`docs/accuracy.md`).
pub const DEFAULT_RESEMBLANCE: f64 = 0.84;

/// The Jaccard resemblance of two texts, 0 to 1, over the features that their fingerprints are made of and the pairs of
/// neighbouring features, as one set: the sum of the smaller of the two weights of each, divided by the sum of the
/// larger ones; an absent one has weight 0. If all weights are 1, this is the share of common features and pairs. None
/// if a text has no feature. 0 if the texts do not agree in what the option `same` names.
///
/// A pair weighs by its number of occurrences as a feature does, and by the option `weights` as the lighter of its two
/// features. With `"tokens": "chars"`, there are no pairs: sequences of characters contain their order.
///
/// Features are told apart by their hashes, as in the fingerprint. That needs no memory for their bytes; among pairs of
/// texts with a million features each, one in ten million has a collision. Costs as much as two to three fingerprints
/// of each text, in time and in memory.
pub fn resemblance(fingerprinter: &mut Fingerprinter, a: &str, b: &str) -> Result<Option<f64>> {
    Prepared::new(fingerprinter, a)?.resemblance_from(0.0, fingerprinter, b)
}

/// The features of a text, to be compared with the features of other texts. All texts are read by the same options.
#[derive(Debug)]
pub struct Prepared {
    agreement: Agreement,
    features: WeightedFeatures,
}

impl Prepared {
    /// Reads the features of a text. Costs as much as its fingerprint, in time and in memory.
    pub fn new(fingerprinter: &mut Fingerprinter, text: &str) -> Result<Self> {
        let features = fingerprinter.weighted_features_and_pairs(text)?;
        let agreement = fingerprinter.agreement(text)?;
        Ok(Self { agreement, features })
    }

    /// The [`resemblance`] of the text and another one; None if it is less than `least`, or if a text has no feature.
    /// Costs as much as the other text's fingerprint. If all weights are 1, the other text is read only until its own
    /// features are too many for a resemblance of `least`.
    pub fn resemblance_from(&self, least: f64, fingerprinter: &mut Fingerprinter, other: &str) -> Result<Option<f64>> {
        Ok(self.compare(least, fingerprinter, other)?.filter(|found| *found >= least))
    }

    /// Whether the [`resemblance`] of the text and another one is at least `least`; None if a text has no feature.
    /// Costs as much as [`Self::resemblance_from`].
    pub fn resembles(&self, least: f64, fingerprinter: &mut Fingerprinter, other: &str) -> Result<Option<bool>> {
        Ok(self.compare(least, fingerprinter, other)?.map(|found| found >= least))
    }

    /// The resemblance, or 0 if it is seen to be less than `least`; None if a text has no feature.
    fn compare(&self, least: f64, fingerprinter: &mut Fingerprinter, other: &str) -> Result<Option<f64>> {
        let agrees = fingerprinter.agreement(other)? == self.agreement;
        // For texts that do not agree, it only matters whether they have a feature.
        let reached = if agrees { least } else { f64::INFINITY };
        let found = if fingerprinter.options.is_plain_set() {
            self.compare_sets(reached, fingerprinter, other)?
        } else {
            let other = fingerprinter.weighted_features_and_pairs(other)?;
            let (other_total, common) = total_and_common(&other, &self.features, fingerprinter.tick);
            share(common, self.features.total(fingerprinter.tick), other_total)
        };
        Ok(if agrees { found } else { found.map(|_| 0.0) })
    }

    /// Does what [`Self::compare`] does for options by which all features weigh the same, whatever the texts agree in.
    fn compare_sets(&self, least: f64, fingerprinter: &mut Fingerprinter, other: &str) -> Result<Option<f64>> {
        let features = &self.features.table;
        let own = features.distinct() as u128;
        let (mut common, mut only_in_other, mut is_out_of_reach) = (0u128, 0u128, false);
        // Features are looked up as they are read. A scan of the slots of a finished table would take longer: most are
        // free, and branches on free slots are mispredicted.
        let count_batch = |hashes: &[u64]| {
            let common_in_batch = hashes.iter().filter(|hash| features.contains(**hash)).count();
            common += common_in_batch as u128;
            only_in_other += (hashes.len() - common_in_batch) as u128;
            // At best, the other text has all features of this one.
            let most = share(own, own, own + only_in_other);
            is_out_of_reach = least > 0.0 && !hashes.is_empty() && most.is_none_or(|most| most < least);
            // Any error ends the reading. This error is not reported.
            if is_out_of_reach { Err(Error::TooManyFeatures) } else { Ok(()) }
        };
        let distinct = fingerprinter.count_compared(other, count_batch);
        if is_out_of_reach {
            return Ok((own > 0).then_some(0.0));
        }
        Ok(share(common, own, distinct? as u128))
    }

    pub fn memory(&self) -> usize {
        self.features.memory()
    }
}

/// The sum of the weights of a text's features, and the sum of the smaller of their weights in this and another text.
pub(super) fn total_and_common(text: &WeightedFeatures, other: &WeightedFeatures, tick: &dyn Fn()) -> (u128, u128) {
    let (mut total, mut common) = (0, 0);
    for (hash, weight) in ticking(text.iter(), tick) {
        total += u128::from(weight);
        common += u128::from(weight.min(other.weight(hash)));
    }
    (total, common)
}

/// The resemblance from the sums of weights; None if a text has none. The sums are exact integers, of at most 2^26
/// weights of 62 bits each. Each is rounded to an IEEE double, and these are divided once: so the result is the same on
/// every CPU.
pub(super) fn share(common: u128, of_a: u128, of_b: u128) -> Option<f64> {
    (of_a > 0 && of_b > 0).then(|| common as f64 / (of_a + of_b - common) as f64)
}
