//! The fingerprint of the last text, so that the next call with the same text costs a comparison.
//!
//! The generated columns of a table cannot refer to one another, so a row with a fingerprint and four block columns
//! asks for the same fingerprint five times; a search asks for the query's fingerprint once per block and once per
//! candidate. Texts are compared in the form in which they are passed: a compressed text is not decompressed, and a
//! text that is stored out of line is not fetched, because in an `INSERT .. SELECT` of long texts that costs as much as
//! the fingerprint (`benches/run insert` has the figures).

use std::cell::RefCell;

use pgrx::pg_sys::panic::ErrorReport;
use postgres::error::{algorithm_error, tick};
use postgres::text::{CachedText, TextArgument, decode};
use simhash::fingerprint::Fingerprinter;
use simhash::fingerprint::options::Options;

/// The longest text to cache, in bytes as it is passed: the limit on the memory that one backend spends on it.
const MAX_CACHED_TEXT_BYTES: usize = 8 << 20;

#[derive(Default)]
struct FingerprintCache {
    fingerprinter: Fingerprinter,
    /// The last text, and its options and fingerprint.
    text: CachedText,
    last: Option<LastFingerprint>,
}

struct LastFingerprint {
    options: Options,
    fingerprint: Option<u64>,
}

#[cfg(feature = "pg_test")]
thread_local! {
    /// The number of fingerprints that were computed, for `pg_test/fingerprint_cache.rs`.
    pub(crate) static COMPUTED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

thread_local! {
    static CACHE: RefCell<FingerprintCache> = RefCell::default();
}

/// The fingerprint of a text; None if it has no feature. Costs a comparison if text and options are the last ones.
pub fn fingerprint(content: TextArgument<'_>, options: &Options) -> Result<Option<u64>, ErrorReport> {
    CACHE.with_borrow_mut(|cache| {
        let identity = content.identity();
        if let Some(last) = &cache.last
            && last.options == *options
            && cache.text.is(identity)
        {
            return Ok(last.fingerprint);
        }
        // Clear the cache first: after an error or a cancelled query it must not pair this text with the last
        // fingerprint.
        cache.last = None;
        #[cfg(feature = "pg_test")]
        COMPUTED.set(COMPUTED.get() + 1);
        let text = decode(content.detoast())?.as_str();
        let fingerprint = cache
            .with_fingerprinter(|fingerprinter| fingerprinter.fingerprint(text, options, &tick))
            .map_err(algorithm_error)?;
        if cache.text.remember(identity, MAX_CACHED_TEXT_BYTES) {
            cache.last = Some(LastFingerprint { options: options.clone(), fingerprint });
        }
        Ok(fingerprint)
    })
}

/// Runs `f` with the backend's fingerprinter, to reuse its scratch memory.
pub fn with_fingerprinter<T>(f: impl FnOnce(&mut Fingerprinter) -> T) -> T {
    CACHE.with_borrow_mut(|cache| cache.with_fingerprinter(f))
}

impl FingerprintCache {
    /// Runs `f` with the fingerprinter. If `f` unwinds because the query was cancelled, the fingerprinter's memory is
    /// freed.
    fn with_fingerprinter<T>(&mut self, f: impl FnOnce(&mut Fingerprinter) -> T) -> T {
        f(FreedOnUnwind(&mut self.fingerprinter).0)
    }
}

struct FreedOnUnwind<'a>(&'a mut Fingerprinter);

impl Drop for FreedOnUnwind<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            *self.0 = Fingerprinter::default();
        }
    }
}
