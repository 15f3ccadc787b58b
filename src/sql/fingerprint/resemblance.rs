//! `simhash_resemblance`: the resemblance of two texts. And whether two texts are near-duplicates.
//!
//! Often one text is compared with many. So the features of one text are cached: of the text that was an argument of
//! two consecutive calls or, without such a text, of the first argument. A later call with this text as either argument
//! uses them.

use std::cell::RefCell;
use std::rc::Rc;

use pgrx::prelude::*;
use postgres::error::Result;
use postgres::json::RawJsonb;
use postgres::text::{CachedText, TextArgument, decode};
use simhash::Error;
use simhash::criterion::TextCriterion;
use simhash::fingerprint::options::Options;
use simhash::fingerprint::resemblance::Prepared;
use simhash::fingerprint::{Fingerprinter, Summary};

use super::fingerprint_cache::{self, with_fingerprinter};
use super::options::{JsonDocument, read_options};

/// The most bytes of the features that are cached, and of each of the two texts, as they are passed.
const MAX_CACHED_FEATURE_BYTES: usize = 1 << 20;

#[derive(Default)]
struct LastTexts {
    /// What has been computed of `text`.
    known: Option<KnownText>,
    text: CachedText,
    /// The other text of the last call.
    other: CachedText,
}

#[derive(Default)]
struct KnownText {
    options: Options,
    features: Option<Prepared>,
    /// Its bands, if they were asked for.
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
        last.compare([a, b], &options, |known, [text, other]| {
            known.compare(text, other, |features, fingerprinter, other| {
                features.resemblance_from(0.0, fingerprinter, other)
            })
        })
    })
}

/// Whether two texts share a band and resemble each other; None if one of them has no feature.
///
/// The resemblance is compared first: most texts are refuted by the first of their features, and the bands of a text
/// take 1.5 times as long as its fingerprint.
pub fn are_near(texts: [TextArgument<'_>; 2], criterion: TextCriterion, options: &Options) -> Result<Option<bool>> {
    let TextCriterion { resemblance, bands } = criterion;
    LAST_TEXTS.with_borrow_mut(|last| {
        last.compare(texts, options, |known, [text, other]| {
            let resembles = known.compare(text, other, |features, fingerprinter, other| {
                features.resembles(resemblance, fingerprinter, other)
            })?;
            if resembles != Some(true) {
                return Ok(resembles);
            }
            if known.summary.as_ref().is_none_or(|summary| summary.bands.len() < bands) {
                known.summary = fingerprint_cache::summary(text, options, bands)?;
            }
            let other = fingerprint_cache::summary(other, options, bands)?;
            Ok(known.summary.as_ref().zip(other).map(|(own, other)| own.shares_band(&other, bands)))
        })
    })
}

impl LastTexts {
    /// Calls `compare` with what is known of one of two texts, that text and the other one. What is known afterwards is
    /// cached.
    fn compare<T>(
        &mut self,
        texts: [TextArgument<'_>; 2],
        options: &Options,
        compare: impl FnOnce(&mut KnownText, [TextArgument<'_>; 2]) -> Result<T>,
    ) -> Result<T> {
        let identities = texts.map(TextArgument::identity);
        let which = |known: &CachedText| identities.iter().position(|identity| known.is(*identity));
        // An error after this leaves the cache empty.
        let known = self.known.take().filter(|known| known.options == *options);
        let (side, mut known) = match known.zip(which(&self.text)) {
            Some((known, side)) => (side, known),
            None => (which(&self.other).unwrap_or(0), KnownText { options: options.clone(), ..Default::default() }),
        };
        let found = compare(&mut known, [texts[side], texts[1 - side]])?;
        if known.features.as_ref().map_or(0, Prepared::memory) <= MAX_CACHED_FEATURE_BYTES
            && self.text.remember(identities[side], MAX_CACHED_FEATURE_BYTES)
        {
            self.known = Some(known);
            self.other.remember(identities[1 - side], MAX_CACHED_FEATURE_BYTES);
        }
        Ok(found)
    }
}

impl KnownText {
    /// Calls `compare` with the features of the text and with another text.
    fn compare<T>(
        &mut self,
        text: TextArgument<'_>,
        other: TextArgument<'_>,
        compare: impl FnOnce(&Prepared, &mut Fingerprinter, &str) -> Result<T, Error>,
    ) -> Result<T> {
        let features = match &mut self.features {
            Some(features) => features,
            unknown => {
                #[cfg(feature = "pg_test")]
                PREPARED.set(PREPARED.get() + 1);
                let text = decode(text.detoast())?.as_str();
                unknown.insert(with_fingerprinter(&self.options, |fingerprinter| Prepared::new(fingerprinter, text))?)
            }
        };
        let other = decode(other.detoast())?.as_str();
        with_fingerprinter(&self.options, |fingerprinter| compare(features, fingerprinter, other))
    }
}
