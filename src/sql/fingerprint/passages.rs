//! `simhash_passages` and `simhash_clue`, of which the SQL function `simhash_contains` is made, with
//! `simhash_coverage`.

use std::cell::{Cell, RefCell};

use pgrx::prelude::*;
use postgres::error::{Explain, Result, invalid_parameter, out_of_memory, user_error};
use postgres::json::RawJsonb;
use postgres::text::{RawText, TextArgument, decode};
use postgres::text_identity::CachedText;
use simhash::fingerprint::options::Options;
use simhash::within::passages::{CERTAIN_LETTERS, CERTAIN_WORDS, Clue, Found, ShortClue, passages};

use super::fingerprint_cache::with_fingerprinter;
use super::options::{JsonDocument, read_options};

/// The longest clue that is cached, in bytes as it is passed. A run takes about as much memory as a word.
const MAX_CACHED_CLUE_BYTES: usize = 1 << 20;

thread_local! {
    /// The last clue: without an index, a search asks for its runs once for each row.
    static LAST_CLUE: RefCell<LastClue> = RefCell::default();
    /// The start time of the last statement that got the notice about its clue.
    static NOTICED: Cell<pg_sys::TimestampTz> = const { Cell::new(0) };
}

#[derive(Default)]
struct LastClue {
    text: CachedText,
    /// The options and the share by which the clue was made, and the clue.
    clue: Option<((Options, f64), Clue)>,
}

#[pg_extern(sql = false)]
fn simhash_passages(content: RawText<'_>, options: RawJsonb<'_>) -> Result<Vec<i64>> {
    let options = read_options(JsonDocument::Jsonb(options))?;
    let content = decode(content)?.as_str();
    with_fingerprinter(&options, |fingerprinter| passages(fingerprinter, content))
        .map(|hashes| hashes.into_iter().map(u64::cast_signed).collect())
}

/// The hashes of a clue's runs, which a search looks up. `share` is the part of the clue that a text must have. An
/// error unless it is from 0 to 1.
#[pg_extern(sql = false)]
fn simhash_clue(content: TextArgument<'_>, share: f64, options: RawJsonb<'_>) -> Result<Vec<i64>> {
    if !(0.0..=1.0).contains(&share) {
        return Err(invalid_parameter(format!("share {share} is out of range"))
            .with_hint("Give a number from 0 to 1: 0.6 for three words in five of the clue."));
    }
    let options = read_options(JsonDocument::Jsonb(options))?;
    LAST_CLUE.with_borrow_mut(|last| last.runs(content, share, options))
}

impl LastClue {
    /// The runs of a clue, which is cached afterwards. An error if it is too short.
    fn runs(&mut self, content: TextArgument<'_>, share: f64, options: Options) -> Result<Vec<i64>> {
        let (identity, key) = (content.identity(), (options, share));
        let cached = self.clue.take().filter(|(cached_key, _)| *cached_key == key && self.text.has_identity(identity));
        let is_cached = cached.is_some();
        let (key, clue) = match cached {
            Some(cached) => cached,
            None => {
                let text = decode(content.detoast())?.as_str();
                let clue = with_fingerprinter(&key.0, |fingerprinter| Clue::new(fingerprinter, text, share));
                (key, clue?)
            }
        };
        check_is_long_enough(&clue)?;
        notice_incomplete(&clue);
        let mut runs = Vec::new();
        runs.try_reserve_exact(clue.runs.len()).unwrap_or_else(|_| out_of_memory());
        runs.extend(clue.runs.iter().copied().map(u64::cast_signed));
        if is_cached || self.text.store(identity, MAX_CACHED_CLUE_BYTES) {
            self.clue = Some((key, clue));
        }
        Ok(runs)
    }
}

fn check_is_long_enough(clue: &Clue) -> Result<()> {
    let Some(short) = clue.too_short_error() else { return Ok(()) };
    Err(invalid_parameter(short.to_string())
        .with_detail(ShortClue::detail())
        .with_hint("Use LIKE or full text search for shorter clues."))
}

/// Sends a notice, once a statement, if a search may miss texts that have the clue.
fn notice_incomplete(clue: &Clue) {
    // SAFETY: a statement is running, and this only reads when it began.
    let statement = unsafe { pg_sys::GetCurrentStatementStartTimestamp() };
    if clue.found == Found::Most && !clue.is_empty() && NOTICED.replace(statement) != statement {
        let message = format!("some texts with this clue of {} may not be found", clue.length);
        user_error(PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION, message)
            .with_detail(format!(
                "Texts are certain to be found by {CERTAIN_WORDS} words in a row, or {CERTAIN_LETTERS} letters of a script \
                 without spaces."
            ))
            .report(PgLogLevel::NOTICE);
    }
}
