//! Stores the results for the last text, so that the next call with the same text only compares texts.
//!
//! Generated columns cannot refer to one another, so a row with a fingerprint and four block columns asks for the same
//! fingerprint five times. A row with six indexes on bands asks six times each for a band, the size and the
//! fingerprint. A search for `simhash($1)` asks for that fingerprint once, and again for each row that it fetches.
//! Texts are compared in the form in which they are passed: a compressed text is not decompressed, and a text that is
//! stored out of line is not fetched, because in an `INSERT .. SELECT` of long texts that costs as much as the
//! fingerprint.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use postgres::error::{Result, algorithm_error};
use postgres::interrupts::tick;
use postgres::text::{TextArgument, decode};
use postgres::text_identity::CachedText;
use simhash::Error;
use simhash::fingerprint::bands::{DEFAULT_BANDS, MAX_BANDS};
use simhash::fingerprint::options::Options;
use simhash::fingerprint::{Fingerprinter, Scratch, Summary};

/// The longest text to cache, in bytes as it is passed: the limit on the memory that one backend spends on it.
const MAX_CACHED_TEXT_BYTES: usize = 8 << 20;

#[derive(Default)]
struct FingerprintCache {
    text: CachedText,
    last: Option<LastText>,
    /// The most bands that were asked for with the last text's options. The next text gets as many at once.
    band_count: usize,
}

struct LastText {
    options: Options,
    computed: Computed,
}

/// The result for a text: None if the text has no feature.
enum Computed {
    Fingerprint(Option<u64>),
    Summary(Option<Rc<Summary>>),
}

#[cfg(feature = "pg_test")]
thread_local! {
    /// The number of fingerprints and sizes that were computed, for `pg_test/fingerprint_cache.rs`.
    pub(crate) static COMPUTED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

thread_local! {
    static CACHE: RefCell<FingerprintCache> = RefCell::default();
    /// Memory that is used again for the next text. It is taken out while it is in use, so unwinding frees it if the
    /// query is cancelled.
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

/// The fingerprint of a text; None if it has no feature. If the text and the options are the last ones, this only
/// compares the text.
pub fn fingerprint(content: TextArgument<'_>, options: &Options) -> Result<Option<u64>> {
    CACHE.with_borrow_mut(|cache| {
        match cache.find(content, options) {
            Some(Computed::Fingerprint(fingerprint)) => return Ok(*fingerprint),
            Some(Computed::Summary(summary)) => return Ok(summary.as_ref().map(|summary| summary.fingerprint)),
            None => {}
        }
        let fingerprint = cache.compute(content, options, |fingerprinter, text| fingerprinter.fingerprint(text))?;
        cache.remember(content, options, Computed::Fingerprint(fingerprint));
        Ok(fingerprint)
    })
}

/// The options of the last text, if this is its fingerprint and no bands of it were computed; otherwise None.
pub fn options_of_last(fingerprint: u64) -> Option<Options> {
    CACHE.with_borrow(|cache| {
        let LastText { options, computed } = cache.last.as_ref()?;
        matches!(computed, Computed::Fingerprint(Some(last)) if *last == fingerprint).then(|| options.clone())
    })
}

/// The fingerprint, the size and the first bands of a text, at least `band_count` up to [`MAX_BANDS`]; None if it has
/// no feature. Uses the cache as [`fingerprint`] does.
pub fn summary(content: TextArgument<'_>, options: &Options, band_count: usize) -> Result<Option<Rc<Summary>>> {
    CACHE.with_borrow_mut(|cache| {
        if cache.last.as_ref().is_some_and(|last| !last.options.makes_same_fingerprints(options)) {
            cache.band_count = 0;
        }
        cache.band_count = cache.band_count.max(band_count).clamp(DEFAULT_BANDS, MAX_BANDS);
        let band_count = cache.band_count;
        if let Some(Computed::Summary(summary)) = cache.find(content, options)
            && summary.as_ref().is_none_or(|summary| summary.bands.len() >= band_count)
        {
            // A guard may compare by the option `same`, and the indexes may have bands without it.
            let has_same = cache.last.as_ref().is_some_and(|last| last.options.same == options.same);
            let without_same = |summary: &Rc<Summary>| Rc::new(summary.plain());
            return Ok(if has_same { summary.clone() } else { summary.as_ref().map(without_same) });
        }
        let summary = cache.compute(content, options, |fingerprinter, text| fingerprinter.summary(text, band_count))?;
        let summary = summary.map(Rc::new);
        cache.remember(content, options, Computed::Summary(summary.clone()));
        Ok(summary)
    })
}

impl FingerprintCache {
    /// The cached result for a text; None unless it is the last text, and its options make the same fingerprints and
    /// bands. A summary with the option `same` also serves without it.
    fn find(&self, content: TextArgument<'_>, options: &Options) -> Option<&Computed> {
        let last = self.last.as_ref().filter(|last| options.has_bands_for(&last.options));
        last.filter(|_| self.text.has_identity(content.identity())).map(|last| &last.computed)
    }

    /// Calls `read` with a text. The cache is empty until [`Self::remember`]: after an error or a cancelled query, it
    /// must not pair this text with the result of the last one.
    fn compute<T>(
        &mut self,
        content: TextArgument<'_>,
        options: &Options,
        read: impl FnOnce(&mut Fingerprinter, &str) -> Result<T, Error>,
    ) -> Result<T> {
        self.last = None;
        #[cfg(feature = "pg_test")]
        COMPUTED.set(COMPUTED.get() + 1);
        let text = decode(content.detoast())?.as_str();
        with_fingerprinter(options, |fingerprinter| read(fingerprinter, text))
    }

    fn remember(&mut self, content: TextArgument<'_>, options: &Options, computed: Computed) {
        let is_cached = self.text.store(content.identity(), MAX_CACHED_TEXT_BYTES);
        self.last = is_cached.then(|| LastText { options: options.clone(), computed });
    }
}

/// Calls `run` with a fingerprinter that has these options, and stops when the query is cancelled.
pub fn with_fingerprinter<T>(options: &Options, run: impl FnOnce(&mut Fingerprinter) -> Result<T, Error>) -> Result<T> {
    let mut scratch = SCRATCH.take().unwrap_or_default();
    let result = run(&mut Fingerprinter::new(&mut scratch, options, &tick));
    SCRATCH.set(Some(scratch));
    result.map_err(algorithm_error)
}
