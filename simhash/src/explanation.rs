//! Why two texts are near-duplicates or are not: all checks of a criterion, even if the first one refutes them.

use crate::check::Check;
use crate::criterion::{CriterionDocument, TextCriterion};
use crate::distance::hamming;
use crate::error::Result;
use crate::fingerprint::invalid_options::InvalidOptions;
use crate::fingerprint::options::Options;
use crate::fingerprint::resemblance::resemblance;
use crate::fingerprint::size::{are_sizes_exact, similar_sizes};
use crate::fingerprint::weighted::WeightedFeatures;
use crate::fingerprint::{Fingerprinter, Summary};
use crate::ticking::ticking;

impl CriterionDocument {
    /// All checks that the criterion makes of two texts. The last one, `near`, is the result. With `"resemblance":
    /// null`, or with a `max_distance` and no resemblance, the fingerprints decide. An error if the document has a
    /// `max_distance` and a resemblance. Costs about ten fingerprints of each text.
    pub fn explain(&self, fingerprinter: &mut Fingerprinter, texts: [&str; 2]) -> Result<Vec<Check>, InvalidOptions> {
        let criterion = if self.is_by_distance() { None } else { Some(self.for_texts()?) };
        let mut fingerprinter = fingerprinter.with_options(&self.options);
        let bands = criterion.map_or(0, |criterion| criterion.bands);
        let [a, b] = texts.map(|text| fingerprinter.summary(text, bands));
        let summaries = [a?, b?];
        let both = summaries[0].as_ref().zip(summaries[1].as_ref());
        let features = check_features(&mut fingerprinter, texts)?;
        let agreement = fingerprinter.agreement_checks(texts)?;
        let least = criterion.map(|criterion| criterion.resemblance);
        let resemblance = check_resemblance(&mut fingerprinter, texts, least)?;
        let mut checks = vec![features];
        if let Some(criterion @ TextCriterion { resemblance: least, bands }) = criterion {
            checks.push(check_sizes(&summaries, least, &self.options));
            let holds = |check: &Check| check.holds.filter(|_| both.is_some());
            checks.extend(agreement.into_iter().map(|check| Check { holds: holds(&check), ..check }));
            checks.extend([resemblance, check_bands(both, bands), check_distance(both, criterion.max_distance())]);
            checks.push(check_near(self.near(&mut fingerprinter, texts[0], texts[1])?));
        } else {
            // The option `same` has no effect on fingerprints: it requires nothing of them.
            checks.extend(agreement.into_iter().map(|check| Check { required: None, holds: None, ..check }));
            let distance = check_distance(both, self.max_distance().cast_unsigned());
            let near = check_near(distance.holds);
            checks.extend([resemblance, distance, near]);
        }
        Ok(checks)
    }
}

fn check_near(holds: Option<bool>) -> Check {
    Check { what: "near", holds, ..Check::default() }
}

/// Counts the features of each text, and the features that both texts have.
fn check_features(fingerprinter: &mut Fingerprinter, texts: [&str; 2]) -> Result<Check> {
    let [a, b] = texts.map(|text| fingerprinter.weighted_features(text));
    let (a, b) = (a?, b?);
    let count_common = |text: &WeightedFeatures, other: &WeightedFeatures| {
        let is_common = |&(hash, weight): &(u64, u64)| weight > 0 && other.weight(hash) > 0;
        Some(ticking(text.iter(), fingerprinter.tick).filter(is_common).count().to_string())
    };
    let (of_texts, found) = ([count_common(&a, &a), count_common(&b, &b)], count_common(&a, &b));
    Ok(Check { what: "features", of_texts, found, ..Check::default() })
}

/// Checks that the sizes of the two texts are similar.
fn check_sizes(summaries: &[Option<Summary>; 2], least: f64, options: &Options) -> Check {
    let [a, b] = summaries.each_ref().map(|summary| summary.as_ref().map(|summary| summary.size));
    let similar = a.zip(b).map(|(a, _)| similar_sizes(a, least, are_sizes_exact(options)));
    Check {
        what: "size",
        of_texts: [a, b].map(|size| size.map(|size| size.to_string())),
        required: similar.as_ref().map(|similar| format!("{} to {}", similar.start(), similar.end())),
        holds: similar.zip(b).map(|(similar, b)| similar.contains(&b)),
        ..Check::default()
    }
}

/// Checks the resemblance without the option `same`.
fn check_resemblance(fingerprinter: &mut Fingerprinter, texts: [&str; 2], least: Option<f64>) -> Result<Check> {
    let without_same = Options { same: Default::default(), ..fingerprinter.options.clone() };
    let found = resemblance(&mut fingerprinter.with_options(&without_same), texts[0], texts[1])?;
    Ok(Check {
        what: "resemblance",
        found: found.map(|found| found.to_string()),
        required: least.map(|least| format!("at least {least}")),
        holds: found.zip(least).map(|(found, least)| found >= least),
        ..Check::default()
    })
}

/// Checks that the texts share one of their first bands, without the option `same`.
fn check_bands(both: Option<(&Summary, &Summary)>, bands: usize) -> Check {
    let shared = both.map(|(a, b)| (0..bands).filter(|band| a.plain_band(*band) == b.plain_band(*band)));
    let shared = shared.map(|shared| shared.map(|band| band.to_string()).collect::<Vec<_>>());
    Check {
        what: "bands",
        found: shared.as_ref().map(|shared| if shared.is_empty() { "none".to_owned() } else { shared.join(", ") }),
        required: Some(format!("one of {bands}")),
        holds: shared.map(|shared| !shared.is_empty()),
        ..Check::default()
    }
}

/// Checks that the distance of the fingerprints is at most `most`.
fn check_distance(both: Option<(&Summary, &Summary)>, most: u32) -> Check {
    let distance = both.map(|(a, b)| hamming(a.fingerprint, b.fingerprint));
    Check {
        what: "distance",
        found: distance.map(|distance| distance.to_string()),
        required: Some(format!("at most {most}")),
        holds: distance.map(|distance| distance <= most),
        ..Check::default()
    }
}
