//! Why two texts are near-duplicates or are not: all that a criterion looks at, even if the first check refutes them.

use crate::check::Check;
use crate::criterion::{CriterionDocument, TextCriterion};
use crate::distance::hamming;
use crate::error::Result;
use crate::fingerprint::Fingerprinter;
use crate::fingerprint::options::{InvalidOptions, Options};
use crate::fingerprint::resemblance::resemblance;
use crate::fingerprint::size::{is_exact, similar_sizes};
use crate::fingerprint::weighted::WeightedFeatures;
use crate::ticking::ticking;

impl CriterionDocument {
    /// What decides whether two texts are near-duplicates, and at last whether they are: they are if all checks hold.
    /// With a `max_distance`, the fingerprints of the texts decide. Costs about ten fingerprints of each text.
    pub fn explain(&self, fingerprinter: &mut Fingerprinter, texts: [&str; 2]) -> Result<Vec<Check>, InvalidOptions> {
        let criterion = if self.is_by_distance() { None } else { Some(self.for_texts()?) };
        let options = &self.options;
        let bands = criterion.map_or(0, |criterion| criterion.bands);
        let mut fingerprinter = fingerprinter.with_options(options);
        let [a, b] = texts.map(|text| fingerprinter.summary(text, bands));
        let summaries = [a?, b?];
        let both = summaries[0].as_ref().zip(summaries[1].as_ref());
        let mut checks = vec![features(&mut fingerprinter, texts)?];
        if let Some(TextCriterion { resemblance: least, .. }) = criterion {
            let sizes = both.map(|(a, b)| (b.size, similar_sizes(a.size, least, is_exact(options))));
            checks.push(Check {
                what: "size",
                of_texts: summaries.each_ref().map(|text| text.as_ref().map(|text| text.size.to_string())),
                required: sizes.as_ref().map(|(_, similar)| format!("{} to {}", similar.start(), similar.end())),
                holds: sizes.map(|(size, similar)| similar.contains(&size)),
                ..Check::default()
            });
        }
        // Fingerprints do not have what must be the same, so it is not required of them.
        checks.extend(fingerprinter.agreement_checks(texts)?.into_iter().map(|check| Check {
            required: check.required.filter(|_| criterion.is_some()),
            holds: check.holds.filter(|_| criterion.and(both).is_some()),
            ..check
        }));
        let without_same = Options { same: Default::default(), ..options.clone() };
        let resembling = resemblance(&mut fingerprinter.with_options(&without_same), texts[0], texts[1])?;
        let least = criterion.map(|criterion| criterion.resemblance);
        checks.push(Check {
            what: "resemblance",
            found: resembling.map(|found| found.to_string()),
            required: least.map(|least| format!("at least {least}")),
            holds: resembling.zip(least).map(|(found, least)| found >= least),
            ..Check::default()
        });
        if criterion.is_some() {
            let shared = both.map(|(a, b)| (0..bands).filter(|band| a.plain_band(*band) == b.plain_band(*band)));
            let shared = shared.map(|shared| shared.map(|band| band.to_string()).collect::<Vec<_>>());
            checks.push(Check {
                what: "bands",
                found: shared
                    .as_ref()
                    .map(|shared| if shared.is_empty() { "none".to_owned() } else { shared.join(", ") }),
                required: Some(format!("one of {bands}")),
                holds: shared.map(|shared| !shared.is_empty()),
                ..Check::default()
            });
        }
        let most = criterion.is_none().then(|| self.max_distance());
        let distance = both.map(|(a, b)| hamming(a.fingerprint, b.fingerprint).cast_signed());
        let is_near = distance.zip(most).map(|(distance, most)| distance <= most);
        checks.push(Check {
            what: "distance",
            found: distance.map(|distance| distance.to_string()),
            required: most.map(|most| format!("at most {most}")),
            holds: is_near,
            ..Check::default()
        });
        let holds = if criterion.is_none() { is_near } else { self.near(&mut fingerprinter, texts[0], texts[1])? };
        checks.push(Check { what: "near", holds, ..Check::default() });
        Ok(checks)
    }
}

/// The number of features of each text, and of those that both have.
fn features(fingerprinter: &mut Fingerprinter, texts: [&str; 2]) -> Result<Check> {
    let [a, b] = texts.map(|text| fingerprinter.weighted_features(text));
    let (a, b) = (a?, b?);
    let count = |of: &WeightedFeatures, other: &WeightedFeatures| {
        let is_common = |&(hash, weight): &(u64, u64)| weight > 0 && other.weight(hash) > 0;
        Some(ticking(of.iter(), fingerprinter.tick).filter(is_common).count().to_string())
    };
    let (of_texts, found) = ([count(&a, &a), count(&b, &b)], count(&a, &b));
    Ok(Check { what: "features", of_texts, found, ..Check::default() })
}
