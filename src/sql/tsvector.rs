//! `simhash` of a `tsvector`: PostgreSQL's text search as the feature extractor.

use pgrx::pg_extern;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use super::error::{tick, user_error};
use super::fingerprint::{hash_of, to_bigint};
use super::lexemes::Lexemes;
use crate::simhash::tally::Tally;

/// Lexemes handled between two checks for interrupts.
const STRIDE: usize = 4096;

#[pg_extern(sql = false)]
pub fn simhash_tsvector(document: &[u8]) -> Result<Option<i64>, ErrorReport> {
    let mut tally = Tally::default();
    let lexemes = Lexemes::new(document).ok_or_else(corrupted)?;
    for (i, lexeme) in lexemes.enumerate() {
        if i % STRIDE == 0 {
            tick();
        }
        let (lexeme, weight) = lexeme.ok_or_else(corrupted)?;
        tally.add(hash_of(lexeme)?, weight)?;
    }
    Ok(tally.fingerprint().map(to_bigint))
}

fn corrupted() -> ErrorReport {
    user_error(PgSqlErrorCode::ERRCODE_DATA_CORRUPTED, "tsvector is corrupted")
}
