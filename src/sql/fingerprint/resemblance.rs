//! `simhash_resemblance`: the resemblance of two texts, which confirms near fingerprints or refutes them. And whether
//! two texts are near-duplicates, by both.
//!
//! Often one text is compared with many. So the features of one text are cached: of the text that was an argument of
//! two consecutive calls or, without such a text, of the first argument. A later call with this text as either argument
//! uses them.

use std::cell::RefCell;

use pgrx::prelude::*;
use postgres::error::{Result, tick};
use postgres::json::RawJsonb;
use postgres::text::{CachedText, TextArgument, decode};
use simhash::criterion::Criterion;
use simhash::fingerprint::options::Options;
use simhash::fingerprint::resemblance::Prepared;
use simhash::search::flips::BitOrder;

use super::fingerprint_cache::{self, closest_votes, with_fingerprinter};
use super::options::{OptionsDocument, read_options};

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
    /// Its fingerprint, if that was computed; None in it for a text without a feature.
    fingerprint: Option<Option<u64>>,
    /// The order of its votes, if that was asked for.
    closest_votes: Option<Option<BitOrder>>,
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
    let options = read_options(OptionsDocument::Jsonb(options))?;
    LAST_TEXTS.with_borrow_mut(|last| {
        last.compare([a, b], &options, |known, [text, other], _| known.resemblance(text, other, 0.0))
    })
}

/// Whether two texts are near-duplicates, by the votes of the second one; None if one of them has no feature.
pub fn are_near(texts: [TextArgument<'_>; 2], criterion: Criterion, options: &Options) -> Result<Option<bool>> {
    LAST_TEXTS.with_borrow_mut(|last| {
        last.compare(texts, options, |known, [text, other], is_second| {
            let own = known_or(&mut known.fingerprint, || fingerprint_cache::fingerprint(text, options))?;
            let fingerprints = (own, fingerprint_cache::fingerprint(other, options)?);
            let (Some(a), Some(b)) = fingerprints else { return Ok(None) };
            let mut near = criterion.near.by_any_votes();
            if near.contains(a ^ b) && near != criterion.near {
                let order = if is_second {
                    known_or(&mut known.closest_votes, || closest_votes(text, options))?
                } else {
                    closest_votes(other, options)?
                };
                near = order.map_or(near, |order| criterion.near.by_votes(&order));
            }
            match criterion.resemblance {
                _ if !near.contains(a ^ b) => Ok(Some(false)),
                None => Ok(Some(true)),
                Some(least) => Ok(Some(known.resemblance(text, other, least)?.is_some())),
            }
        })
    })
}

/// What is known, or what `compute` returns, which is known from then on.
fn known_or<T: Copy>(known: &mut Option<T>, compute: impl FnOnce() -> Result<T>) -> Result<T> {
    match *known {
        Some(known) => Ok(known),
        None => Ok(*known.insert(compute()?)),
    }
}

impl LastTexts {
    /// Calls `compare` with what is known of one of two texts, that text and the other one, and whether it is the
    /// second of them. What is known afterwards is cached.
    fn compare<T>(
        &mut self,
        texts: [TextArgument<'_>; 2],
        options: &Options,
        compare: impl FnOnce(&mut KnownText, [TextArgument<'_>; 2], bool) -> Result<T>,
    ) -> Result<T> {
        let identities = texts.map(TextArgument::identity);
        let which = |known: &CachedText| identities.iter().position(|identity| known.is(*identity));
        // An error after this leaves the cache empty.
        let known = self.known.take().filter(|known| known.options == *options);
        let (side, mut known) = match known.zip(which(&self.text)) {
            Some((known, side)) => (side, known),
            None => (which(&self.other).unwrap_or(0), KnownText { options: options.clone(), ..Default::default() }),
        };
        let found = compare(&mut known, [texts[side], texts[1 - side]], side == 1)?;
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
    /// The resemblance of the text and another one; None if it is less than `least`, or if one has no feature.
    fn resemblance(&mut self, text: TextArgument<'_>, other: TextArgument<'_>, least: f64) -> Result<Option<f64>> {
        let features = match &mut self.features {
            Some(features) => features,
            unknown => {
                #[cfg(feature = "pg_test")]
                PREPARED.set(PREPARED.get() + 1);
                let text = decode(text.detoast())?.as_str();
                let options = &self.options;
                unknown.insert(with_fingerprinter(|fingerprinter| Prepared::new(fingerprinter, text, options, &tick))?)
            }
        };
        let other = decode(other.detoast())?.as_str();
        with_fingerprinter(|fingerprinter| features.resemblance_from(least, fingerprinter, other, &tick))
    }
}
