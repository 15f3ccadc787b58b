//! Runs a [`Confirmation`] of texts that are all in memory, for the clients.

use super::confirmation::Confirmation;
use super::outcome::Outcome;
use super::sketches::TextSketches;
use crate::criterion::TextCriterion;
use crate::error::Result;
use crate::fingerprint::feature_set::FeatureSet;
use crate::fingerprint::options::Options;
use crate::fingerprint::{Fingerprinter, Scratch};
use crate::memory::{collect_exact, push};
use crate::ticking::ticking;

/// Bytes of features that are held at once.
const MEMORY_LIMIT: usize = 256 << 20;

/// The position of the text that represents each text; None for a text that is missing or has no feature.
///
/// Takes the memory of a [`Confirmation`] with features of up to 256 MB, and a byte for each text.
pub fn representatives<O: Outcome>(
    texts: &[Option<impl AsRef<str>>],
    criterion: TextCriterion,
    options: &Options,
    tick: &dyn Fn(),
) -> Result<Vec<Option<u32>>> {
    let mut scratch = Scratch::default();
    let mut fingerprinter = Fingerprinter::new(&mut scratch, options, tick);
    let mut sketches = TextSketches::with_capacity(texts.len(), criterion, options)?;
    let mut has_feature = Vec::new();
    for text in ticking(texts, tick) {
        let sketch = match text {
            Some(text) => fingerprinter.sketch(text.as_ref(), criterion.bands)?,
            None => None,
        };
        push(&mut has_feature, sketch.is_some())?;
        sketches.push(sketch.as_ref())?;
    }
    let mut confirmation = Confirmation::<O>::new(sketches, MEMORY_LIMIT, tick)?;
    while let Some(row) = confirmation.row_to_read(tick)? {
        let features = match &texts[row as usize] {
            Some(text) => FeatureSet::new(&mut fingerprinter, text.as_ref())?,
            None => None,
        };
        confirmation.push(features, tick)?;
    }
    let results = confirmation.into_results(tick)?.into_iter().zip(has_feature);
    collect_exact(texts.len(), results.map(|(row, has_feature)| has_feature.then_some(row)))
}
