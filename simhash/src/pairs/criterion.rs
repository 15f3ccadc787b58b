//! The criterion by which two rows are near-duplicates.

use crate::fingerprint::feature_set::FeatureSet;
use crate::search::nearness::Nearness;

/// When two rows are near-duplicates: their fingerprints are near and, if the criterion asks for it, their texts
/// resemble each other.
#[derive(Clone, Copy, Debug)]
pub struct Criterion {
    /// When two fingerprints are near.
    pub near: Nearness,
    /// The least [resemblance](crate::fingerprint::resemblance::resemblance) of the texts; None to leave texts out of
    /// account.
    pub resemblance: Option<f64>,
}

impl Criterion {
    /// Whether a row with these features may be a near-duplicate of any other: a text without a feature resembles none.
    pub fn applies(&self, features: Option<&FeatureSet>) -> bool {
        self.resemblance.is_none() || features.is_some()
    }

    /// Whether the features of two near rows confirm that they are near-duplicates.
    pub fn confirms(&self, a: Option<&FeatureSet>, b: Option<&FeatureSet>, tick: &dyn Fn()) -> bool {
        match (self.resemblance, a, b) {
            (None, _, _) => true,
            (Some(least), Some(a), Some(b)) => a.resembles(b, least, tick),
            (Some(_), _, _) => false,
        }
    }
}
