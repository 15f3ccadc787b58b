//! `simhash_resemblance`: the resemblance of two texts; and, for `simhash_near`, whether two texts are near-duplicates.
//!
//! Often one text is compared with many. So the features of one text are cached, for later calls with this text as
//! either argument: the text that was an argument of two consecutive calls or, without such a text, the first argument.
//! For example, `simhash_resemblance(body, 'a query')` computes the features of the query once, at the second row.

use std::cell::RefCell;
use std::rc::Rc;

use pgrx::prelude::*;
use postgres::error::Result;
use postgres::json::RawJsonb;
use postgres::text::{TextArgument, decode};
use postgres::text_identity::CachedText;
use simhash::Error;
use simhash::criterion::TextCriterion;
use simhash::fingerprint::options::Options;
use simhash::fingerprint::resemblance::Prepared;
use simhash::fingerprint::{Fingerprinter, Summary};

use super::fingerprint_cache::{self, with_fingerprinter};
use super::options::{JsonDocument, read_options, read_text_criterion};

/// The limit on the cached features, in bytes, and on each of the two texts as they are passed. By the default options,
/// half a million features and pairs of neighbours take 8 MB.
const MAX_CACHED_BYTES: usize = 8 << 20;

#[derive(Default)]
struct LastTexts {
    text: CachedText,
    /// The cached results for `text`.
    computed: Option<ComputedText>,
    /// The other text of the last call.
    other: CachedText,
}

#[derive(Default)]
struct ComputedText {
    options: Options,
    features: Option<Prepared>,
    /// The text's fingerprint, size and bands, if they were asked for.
    summary: Option<Rc<Summary>>,
}

#[cfg(feature = "pg_test")]
thread_local! {
    /// The number of texts whose features were prepared, for `pg_test/fingerprint_cache.rs`.
    pub(crate) static PREPARED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

thread_local! {
    static LAST_TEXTS: RefCell<LastTexts> = RefCell::default();
}

#[pg_extern(sql = false)]
fn simhash_resemblance(a: TextArgument<'_>, b: TextArgument<'_>, options: RawJsonb<'_>) -> Result<Option<f64>> {
    let options = read_options(JsonDocument::Jsonb(options))?;
    LAST_TEXTS.with_borrow_mut(|last| {
        last.with_computed([a, b], &options, |computed, texts| {
            computed.with_features(texts, |features, fingerprinter, other| {
                features.resemblance_from(0.0, fingerprinter, other)
            })
        })
    })
}

/// Whether two texts are near-duplicates; None if one of them has no feature.
///
/// The resemblance is compared first: most texts are refuted by the first of their features, and the bands of a text
/// take 1.5 times as long as its fingerprint.
pub fn are_near(texts: [TextArgument<'_>; 2], criterion: JsonDocument<'_>) -> Result<Option<bool>> {
    let (criterion, options) = read_text_criterion(criterion)?;
    let TextCriterion { resemblance, bands } = criterion;
    LAST_TEXTS.with_borrow_mut(|last| {
        last.with_computed(texts, &options, |computed, [text, other]| {
            let resembles = computed.with_features([text, other], |features, fingerprinter, other| {
                features.resembles(resemblance, fingerprinter, other)
            })?;
            if resembles != Some(true) {
                return Ok(resembles);
            }
            if computed.summary.as_ref().is_none_or(|summary| summary.bands.len() < bands) {
                computed.summary = fingerprint_cache::summary(text, &options, bands)?;
            }
            let other_summary = fingerprint_cache::summary(other, &options, bands)?;
            let summaries = computed.summary.as_ref().zip(other_summary);
            Ok(summaries.map(|(own, other)| criterion.are_candidates(own, &other)))
        })
    })
}

impl LastTexts {
    /// Calls `compare` with the results for one of two texts, cached or empty, and with the texts, that one first. Then
    /// caches the results; after an error, nothing is cached.
    fn with_computed<T>(
        &mut self,
        texts: [TextArgument<'_>; 2],
        options: &Options,
        compare: impl FnOnce(&mut ComputedText, [TextArgument<'_>; 2]) -> Result<T>,
    ) -> Result<T> {
        let identities = texts.map(TextArgument::identity);
        let side_of = |text: &CachedText| identities.iter().position(|identity| text.has_identity(*identity));
        let computed = self.computed.take().filter(|computed| computed.options == *options);
        let (side, mut computed) = match computed.zip(side_of(&self.text)) {
            Some((computed, side)) => (side, computed),
            None => {
                (side_of(&self.other).unwrap_or(0), ComputedText { options: options.clone(), ..Default::default() })
            }
        };
        let result = compare(&mut computed, [texts[side], texts[1 - side]])?;
        if computed.features.as_ref().map_or(0, Prepared::memory) <= MAX_CACHED_BYTES
            && self.text.store(identities[side], MAX_CACHED_BYTES)
        {
            self.computed = Some(computed);
            self.other.store(identities[1 - side], MAX_CACHED_BYTES);
        }
        Ok(result)
    }
}

impl ComputedText {
    /// Calls `compare` with the features of `text`, to which `self` belongs, and with the other text.
    fn with_features<T>(
        &mut self,
        [text, other]: [TextArgument<'_>; 2],
        compare: impl FnOnce(&Prepared, &mut Fingerprinter, &str) -> Result<T, Error>,
    ) -> Result<T> {
        let features = match &mut self.features {
            Some(features) => features,
            missing => {
                #[cfg(feature = "pg_test")]
                PREPARED.set(PREPARED.get() + 1);
                let text = decode(text.detoast())?.as_str();
                missing.insert(with_fingerprinter(&self.options, |fingerprinter| Prepared::new(fingerprinter, text))?)
            }
        };
        let other = decode(other.detoast())?.as_str();
        with_fingerprinter(&self.options, |fingerprinter| compare(features, fingerprinter, other))
    }
}
