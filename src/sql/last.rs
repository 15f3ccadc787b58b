//! The fingerprint of the last text, so that the next call with the same text costs a comparison.
//!
//! A table's generated columns cannot refer to one another: a row with a fingerprint and four block columns asks for
//! the same fingerprint five times, and a search asks for the query's once a block and once a candidate. Measured in
//! `benches/`: inserting a document with all five columns costs what the fingerprint alone costs, within 1.1 times.

use std::cell::RefCell;

use pgrx::pg_sys::panic::ErrorReport;

use super::error::tick;
use super::text::{RawText, decode};
use crate::simhash::fingerprint::Fingerprinter;
use crate::simhash::options::Options;

/// Longest text, in bytes, that is remembered: the bound on what one backend spends on it.
const MAX_REMEMBERED: usize = 8 << 20;
/// What stays allocated after a shorter text.
const KEPT: usize = 64 << 10;

#[derive(Default)]
struct Backend {
    fingerprinter: Fingerprinter,
    /// In the server's encoding.
    text: Vec<u8>,
    options: Options,
    /// None: no text is remembered.
    fingerprint: Option<Option<u64>>,
}

thread_local! {
    static BACKEND: RefCell<Backend> = RefCell::default();
}

/// The fingerprint of a text.
pub fn fingerprint(content: RawText<'_>, options: &Options) -> Result<Option<u64>, ErrorReport> {
    BACKEND.with_borrow_mut(|last| {
        if let Some(fingerprint) = last.fingerprint
            && last.options == *options
            && last.text == content
        {
            return Ok(fingerprint);
        }
        // Forget first: an error or a cancelled query must not leave this text with that fingerprint.
        last.fingerprint = None;
        let fingerprint = last.fingerprinter.fingerprint(&decode(content)?, options, &tick)?;
        last.text.clear();
        last.text.shrink_to(KEPT.max(content.len()));
        if content.len() <= MAX_REMEMBERED && last.text.try_reserve_exact(content.len()).is_ok() {
            last.text.extend_from_slice(content);
            last.options.clone_from(options);
            last.fingerprint = Some(fingerprint);
        }
        Ok(fingerprint)
    })
}

/// Runs `f` with the backend's fingerprinter, for its scratch memory.
pub fn with_fingerprinter<T>(f: impl FnOnce(&mut Fingerprinter) -> T) -> T {
    BACKEND.with_borrow_mut(|last| f(&mut last.fingerprinter))
}
