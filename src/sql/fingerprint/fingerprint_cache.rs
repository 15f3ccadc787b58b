//! The fingerprint, its votes and the size of the last text, so that the next call with the same text costs a
//! comparison.
//!
//! The generated columns of a table cannot refer to one another, so a row with a fingerprint and four block columns
//! asks for the same fingerprint five times; a row with four indexes on expressions asks four times for both. A search
//! asks for the query's fingerprint once per block and once per candidate. Texts are compared in the form in which they
//! are passed: a compressed text is not decompressed, and a text that is stored out of line is not fetched, because in
//! an `INSERT .. SELECT` of long texts that costs as much as the fingerprint.

use std::cell::RefCell;
use std::rc::Rc;

use postgres::error::{Result, algorithm_error, tick};
use postgres::text::{CachedText, TextArgument, decode};
use simhash::Error;
use simhash::fingerprint::bands::{DEFAULT_BANDS, MAX_BANDS};
use simhash::fingerprint::options::Options;
use simhash::fingerprint::tally::Tally;
use simhash::fingerprint::{Fingerprinter, Summary};
use simhash::search::flips::BitOrder;

/// The longest text to cache, in bytes as it is passed: the limit on the memory that one backend spends on it.
const MAX_CACHED_TEXT_BYTES: usize = 8 << 20;

#[derive(Default)]
struct FingerprintCache {
    fingerprinter: Fingerprinter,
    text: CachedText,
    last: Option<LastText>,
    /// The number of bands that were asked for with the options of the last text, so that those of the next text are
    /// computed at once.
    bands: usize,
}

#[derive(Default)]
struct LastText {
    options: Options,
    /// None if it was not computed. None in it for a text without a feature.
    fingerprint: Option<Option<u64>>,
    summary: Option<Option<Rc<Summary>>>,
    /// The votes, if the fingerprint was computed.
    votes: Option<Tally>,
    closest_votes: Option<Option<BitOrder>>,
}

#[cfg(feature = "pg_test")]
thread_local! {
    /// The number of fingerprints and sizes that were computed, for `pg_test/fingerprint_cache.rs`.
    pub(crate) static COMPUTED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

thread_local! {
    static CACHE: RefCell<FingerprintCache> = RefCell::default();
}

/// The fingerprint of a text; None if it has no feature. Costs a comparison if text and options are the last ones.
pub fn fingerprint(content: TextArgument<'_>, options: &Options) -> Result<Option<u64>> {
    cached(
        content,
        options,
        |last| last.fingerprint.or_else(|| Some(last.summary.as_ref()?.as_ref().map(|summary| summary.fingerprint))),
        |fingerprinter, text| fingerprinter.fingerprint(text, options, &tick),
        |last, computed, fingerprinter| {
            last.fingerprint = Some(computed);
            last.votes = computed.map(|_| fingerprinter.last_votes().clone());
        },
    )
}

/// The options of the last fingerprint of a text; None if it is another one than this.
pub fn options_of_last(fingerprint: u64) -> Option<Options> {
    CACHE.with_borrow(|cache| {
        let is_of = |last: &&LastText| last.fingerprint == Some(Some(fingerprint));
        let last = cache.last.as_ref().filter(is_of);
        last.map(|last| last.options.clone())
    })
}

/// What indexes have of a text, with at least so many bands, up to [`MAX_BANDS`]; None if it has no feature. Costs a
/// comparison if text and options are the last ones.
pub fn summary(content: TextArgument<'_>, options: &Options, bands: usize) -> Result<Option<Rc<Summary>>> {
    let bands = CACHE.with_borrow_mut(|cache| {
        if cache.last.as_ref().is_some_and(|last| last.options != *options) {
            cache.bands = 0;
        }
        cache.bands = cache.bands.max(bands).clamp(DEFAULT_BANDS, MAX_BANDS);
        cache.bands
    });
    let has_bands = |summary: &Rc<Summary>| summary.bands.len() >= bands;
    cached(
        content,
        options,
        |last| last.summary.clone().filter(|summary| summary.as_ref().is_none_or(has_bands)),
        |fingerprinter, text| Ok(fingerprinter.summary(text, options, bands, &tick)?.map(Rc::new)),
        |last, computed, _| last.summary = Some(computed),
    )
}

/// The size of a text; None if it has no feature. Costs a comparison if text and options are the last ones.
pub fn size(content: TextArgument<'_>, options: &Options) -> Result<Option<i32>> {
    Ok(summary(content, options, 0)?.map(|summary| summary.size))
}

/// The bits of a text's fingerprint, from the one on which the vote was closest; None if it has no feature. Costs a
/// microsecond if the fingerprint of the text is the last one.
pub fn closest_votes(content: TextArgument<'_>, options: &Options) -> Result<Option<BitOrder>> {
    cached(
        content,
        options,
        |last| {
            let of_votes = |last: &mut LastText| Some(last.votes.as_mut()?.closest());
            last.closest_votes = last.closest_votes.or_else(|| of_votes(last).map(Some));
            last.closest_votes
        },
        |fingerprinter, text| fingerprinter.closest_votes(text, options, &tick),
        |last, computed, _| last.closest_votes = Some(computed),
    )
}

/// What is `known` of the last text, if that is this text, or what `compute` makes and `keep` keeps.
fn cached<T: Clone>(
    content: TextArgument<'_>,
    options: &Options,
    known: impl FnOnce(&mut LastText) -> Option<T>,
    compute: impl FnOnce(&mut Fingerprinter, &str) -> Result<T, Error>,
    keep: impl FnOnce(&mut LastText, T, &Fingerprinter),
) -> Result<T> {
    CACHE.with_borrow_mut(|cache| {
        let identity = content.identity();
        let FingerprintCache { text, last, .. } = cache;
        let same = last.as_mut().filter(|last| last.options == *options && text.is(identity));
        let is_last = same.is_some();
        if let Some(known) = same.and_then(known) {
            return Ok(known);
        }
        // Clear the cache first: after an error or a cancelled query it must not pair this text with what is known of
        // the last one.
        let last = last.take().filter(|_| is_last);
        #[cfg(feature = "pg_test")]
        COMPUTED.set(COMPUTED.get() + 1);
        let text = decode(content.detoast())?.as_str();
        let computed = compute(FreedOnUnwind(&mut cache.fingerprinter).0, text).map_err(algorithm_error)?;
        let is_cached = is_last || cache.text.remember(identity, MAX_CACHED_TEXT_BYTES);
        let new = || LastText { options: options.clone(), ..Default::default() };
        cache.last = is_cached.then(|| last.unwrap_or_else(new)).map(|mut last| {
            keep(&mut last, computed.clone(), &cache.fingerprinter);
            last
        });
        Ok(computed)
    })
}

/// Runs `f` with the backend's fingerprinter, to reuse its scratch memory.
pub fn with_fingerprinter<T>(f: impl FnOnce(&mut Fingerprinter) -> Result<T, Error>) -> Result<T> {
    CACHE.with_borrow_mut(|cache| f(FreedOnUnwind(&mut cache.fingerprinter).0)).map_err(algorithm_error)
}

/// Frees the fingerprinter's memory if its use unwinds, because the query was cancelled.
struct FreedOnUnwind<'a>(&'a mut Fingerprinter);

impl Drop for FreedOnUnwind<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            *self.0 = Fingerprinter::default();
        }
    }
}
