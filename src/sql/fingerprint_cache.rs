//! The fingerprint of the last text, so that the next call with the same text costs a comparison.
//!
//! A table's generated columns cannot refer to one another: a row with a fingerprint and four block columns asks for
//! the same fingerprint five times, and a search asks for the query's once a block and once a candidate. Texts are
//! compared as they are passed: a compressed one is not decompressed, a stored one not even read, for with
//! `INSERT .. SELECT` of long texts that costs as much as the fingerprint (`benches/run insert` has the figures).

use std::cell::RefCell;

use pgrx::pg_sys::panic::ErrorReport;
use simhash::fingerprint::Fingerprinter;
use simhash::fingerprint::options::Options;

use crate::postgres::error::{algorithm_error, tick};
use crate::postgres::text::{Command, TextArgument, TextIdentity, decode};

/// Longest text, in bytes as it is passed, that is remembered: the bound on what one backend spends on it.
const MAX_REMEMBERED: usize = 8 << 20;
/// What stays allocated after a shorter text.
const KEPT: usize = 64 << 10;

#[derive(Default)]
struct Backend {
    fingerprinter: Fingerprinter,
    last: Option<Last>,
    /// The identity of the last text. Its memory is used again for the next.
    varlena: Vec<u8>,
}

struct Last {
    command: Option<Command>,
    options: Options,
    fingerprint: Option<u64>,
}

#[cfg(any(test, feature = "pg_test"))]
thread_local! {
    /// How many fingerprints were computed, for `pg_test/fingerprint_cache.rs`.
    pub(crate) static COMPUTED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

thread_local! {
    static BACKEND: RefCell<Backend> = RefCell::default();
}

/// The fingerprint of a text.
pub fn fingerprint(content: TextArgument<'_>, options: &Options) -> Result<Option<u64>, ErrorReport> {
    BACKEND.with_borrow_mut(|backend| {
        let identity = content.identity();
        if let (Some(last), Some(TextIdentity { varlena, command })) = (&backend.last, identity)
            && backend.varlena == varlena
            && last.command == command
            && last.options == *options
        {
            return Ok(last.fingerprint);
        }
        // Forget first: an error or a cancelled query must not leave this text with that fingerprint.
        backend.last = None;
        #[cfg(any(test, feature = "pg_test"))]
        COMPUTED.set(COMPUTED.get() + 1);
        let text = decode(content.detoast())?;
        let fingerprint = backend
            .with_fingerprinter(|fingerprinter| fingerprinter.fingerprint(&text, options, &tick))
            .map_err(algorithm_error)?;
        if let Some(TextIdentity { varlena, command }) = identity
            && varlena.len() <= MAX_REMEMBERED
        {
            backend.varlena.clear();
            backend.varlena.shrink_to(KEPT.max(varlena.len()));
            if backend.varlena.try_reserve_exact(varlena.len()).is_ok() {
                backend.varlena.extend_from_slice(varlena);
                backend.last = Some(Last { command, options: options.clone(), fingerprint });
            }
        }
        Ok(fingerprint)
    })
}

/// Runs `f` with the backend's fingerprinter, for its scratch memory.
pub fn with_fingerprinter<T>(f: impl FnOnce(&mut Fingerprinter) -> T) -> T {
    BACKEND.with_borrow_mut(|backend| backend.with_fingerprinter(f))
}

impl Backend {
    /// Runs `f` with the fingerprinter, whose memory is freed if `f` unwinds: the query was cancelled.
    fn with_fingerprinter<T>(&mut self, f: impl FnOnce(&mut Fingerprinter) -> T) -> T {
        let mut fingerprinter = std::mem::take(&mut self.fingerprinter);
        let result = f(&mut fingerprinter);
        self.fingerprinter = fingerprinter;
        result
    }
}
