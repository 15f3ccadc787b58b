//! The difference of two texts, and the share of one text that the other has too.

use super::feature_list::FeatureList;
use super::fingerprinter::Fingerprinter;
use super::resemblance::total_and_common;
use crate::error::Result;
use crate::ticking::ticking;

/// The features that weigh more in one of two texts than in the other, each with the difference of its weights: a list
/// for each text, in the order of [`Fingerprinter::features`]. If all weights are 1, these are the features that only
/// one of the texts has.
///
/// The lists have no pairs of neighbouring features, which a [`resemblance`](super::resemblance::resemblance) has too:
/// the difference of two texts with the same words in another order is empty. The option `same` has no effect.
pub fn difference(fingerprinter: &mut Fingerprinter, a: &str, b: &str) -> Result<[FeatureList; 2]> {
    let tick = fingerprinter.tick;
    let mut more_than = |text: &str, other: &str| -> Result<FeatureList> {
        let mut list = fingerprinter.features(text)?;
        let other = fingerprinter.weighted_features(other)?;
        for (weight, hash) in ticking(list.weights.iter_mut().zip(&list.hashes), tick) {
            *weight = weight.saturating_sub(other.weight(*hash));
        }
        Ok(list)
    };
    Ok([more_than(a, b)?, more_than(b, a)?])
}

/// The share of the weight of `a`'s features and pairs of neighbouring features that `b` has too, 0 to 1: 1 if `a` is
/// an excerpt of `b`. None if `a` has no feature.
///
/// The smaller of the two weights of each counts. The option `same` has no effect. Costs as much as two
/// fingerprints, in time and in memory.
pub fn containment(fingerprinter: &mut Fingerprinter, a: &str, b: &str) -> Result<Option<f64>> {
    let [a, b] = [a, b].map(|text| fingerprinter.weighted_features_and_pairs(text));
    let (a, b) = (a?, b?);
    let (of_a, common) = total_and_common(&a, &b, fingerprinter.tick);
    // Exact integers, and one division of IEEE doubles: the same result on every CPU.
    Ok((of_a > 0).then(|| common as f64 / of_a as f64))
}
