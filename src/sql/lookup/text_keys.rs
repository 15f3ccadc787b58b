//! What a search for near texts looks up: the bands of a text, and the sizes and fingerprints that near texts may have.

use std::ops::RangeInclusive;
use std::rc::Rc;

use postgres::error::Result;
use postgres::text::{TextArgument, decode};
use simhash::criterion::TextCriterion;
use simhash::fingerprint::options::Options;
use simhash::fingerprint::size::{are_sizes_exact, similar_sizes};
use simhash::fingerprint::{Fingerprinter, Summary};

use crate::sql::fingerprint::fingerprint_cache;

/// The keys of a text that has a feature: its bands, by the criterion, and the sizes and fingerprints of texts that may
/// be near it.
#[derive(Clone)]
pub struct TextKeys {
    summary: Rc<Summary>,
    criterion: TextCriterion,
    pub sizes: RangeInclusive<i32>,
}

impl TextKeys {
    /// The keys of a text; None if it has no feature, so that no text is near it.
    pub fn of(text: TextArgument<'_>, criterion: TextCriterion, options: &Options) -> Result<Option<Self>> {
        let summary = fingerprint_cache::summary(text, options, criterion.bands)?;
        Ok(summary.map(|summary| Self::new(summary, criterion, options)))
    }

    /// The keys of a text that will not be needed again. The cache is not used, and still has its last text.
    pub fn uncached(text: TextArgument<'_>, criterion: TextCriterion, options: &Options) -> Result<Option<Self>> {
        let text = decode(text.detoast())?.as_str();
        let summarise = |fingerprinter: &mut Fingerprinter| fingerprinter.summary(text, criterion.bands);
        let summary = fingerprint_cache::with_fingerprinter(options, summarise)?;
        Ok(summary.map(|summary| Self::new(Rc::new(summary), criterion, options)))
    }

    fn new(summary: Rc<Summary>, criterion: TextCriterion, options: &Options) -> Self {
        let sizes = similar_sizes(summary.size, criterion.resemblance, are_sizes_exact(options));
        Self { summary, criterion, sizes }
    }

    pub fn least_resemblance(&self) -> f64 {
        self.criterion.resemblance
    }

    /// Whether the texts of both keys are near if they resemble each other.
    pub fn are_candidates(&self, other: &Self) -> bool {
        self.criterion.are_candidates(&self.summary, &other.summary)
    }

    pub fn fingerprint(&self) -> u64 {
        self.summary.fingerprint
    }

    /// Whether a text with this fingerprint may be near.
    pub fn allows(&self, fingerprint: i64) -> bool {
        self.criterion.allows_distance(fingerprint.cast_unsigned(), self.summary.fingerprint)
    }

    /// One of the criterion's bands as an index has it: with the option `same` or without. Panics if there is none.
    pub fn band(&self, band: usize, has_same: bool) -> i32 {
        if has_same { self.summary.bands[band] } else { self.summary.plain_band(band) }
    }

    /// The bands of the text, in the order of their numbers. A near text has at least one of them.
    pub fn bands(&self) -> &[i32] {
        &self.summary.bands[..self.criterion.bands]
    }
}
