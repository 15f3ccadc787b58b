//! `simhash` of a `tsvector`: PostgreSQL's text search as the feature extractor.

use formats::tsvector::Lexemes;
use pgrx::pg_extern;
use pgrx::prelude::*;
use postgres::error::{ErrorReport, algorithm_error, tick, user_error};
use simhash::fingerprint::tally::Tally;
use simhash::ticking::ticking;

use super::simhash::{hash_of, to_bigint};

#[pg_extern(sql = false)]
pub fn simhash_tsvector(document: &[u8]) -> Result<Option<i64>, ErrorReport> {
    let mut tally = Tally::default();
    let lexemes = Lexemes::new(document).ok_or_else(corrupted)?;
    for lexeme in ticking(lexemes, tick) {
        let (lexeme, weight) = lexeme.ok_or_else(corrupted)?;
        tally.add(hash_of(lexeme)?, weight).map_err(algorithm_error)?;
    }
    Ok(tally.fingerprint().map(to_bigint))
}

fn corrupted() -> ErrorReport {
    user_error(PgSqlErrorCode::ERRCODE_DATA_CORRUPTED, "tsvector is corrupted")
}
