//! `simhash_resemblance`: the resemblance of two texts, which confirms near fingerprints or refutes them.
//!
//! Often one text is compared with many. So the features of one text are cached: of the text that was an argument of
//! two consecutive calls or, without such a text, of the first argument. A later call with this text as either argument
//! uses them.

use std::cell::RefCell;

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use postgres::error::{algorithm_error, tick};
use postgres::json::RawJsonb;
use postgres::text::{CachedText, TextArgument, decode};
use simhash::fingerprint::options::Options;
use simhash::fingerprint::resemblance::Prepared;

use super::fingerprint_cache::with_fingerprinter;
use super::options::{OptionsDocument, read_options};

/// The most bytes of the features that are cached, and of each of the two texts, as they are passed.
const MAX_CACHED_FEATURE_BYTES: usize = 1 << 20;

#[derive(Default)]
struct LastTexts {
    /// The features of `text`.
    prepared: Option<Prepared>,
    text: CachedText,
    /// The other text of the last call.
    other: CachedText,
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
fn simhash_resemblance(
    a: TextArgument<'_>,
    b: TextArgument<'_>,
    options: RawJsonb<'_>,
) -> Result<Option<f64>, ErrorReport> {
    let options = read_options(OptionsDocument::Jsonb(options))?;
    LAST_TEXTS.with_borrow_mut(|last| last.resemblance([a, b], &options))
}

impl LastTexts {
    fn resemblance(&mut self, texts: [TextArgument<'_>; 2], options: &Options) -> Result<Option<f64>, ErrorReport> {
        let identities = texts.map(TextArgument::identity);
        let which = |known: &CachedText| identities.iter().position(|identity| known.is(*identity));
        // An error after this leaves the cache empty.
        let known = self.prepared.take().filter(|prepared| prepared.options() == options);
        let (side, prepared) = match known.zip(which(&self.text)) {
            Some((prepared, side)) => (side, prepared),
            None => {
                #[cfg(feature = "pg_test")]
                PREPARED.set(PREPARED.get() + 1);
                let side = which(&self.other).unwrap_or(0);
                let text = decode(texts[side].detoast())?;
                let prepare = with_fingerprinter(|fingerprinter| Prepared::new(fingerprinter, &text, options, &tick));
                (side, prepare.map_err(algorithm_error)?)
            }
        };
        let other = decode(texts[1 - side].detoast())?;
        let found = with_fingerprinter(|fingerprinter| prepared.resemblance(fingerprinter, &other, &tick));
        let found = found.map_err(algorithm_error)?;
        if prepared.memory() <= MAX_CACHED_FEATURE_BYTES
            && self.text.remember(identities[side], MAX_CACHED_FEATURE_BYTES)
        {
            self.prepared = Some(prepared);
            self.other.remember(identities[1 - side], MAX_CACHED_FEATURE_BYTES);
        }
        Ok(found)
    }
}
