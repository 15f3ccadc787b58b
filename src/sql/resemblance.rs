//! `simhash_resemblance`: the resemblance of two texts' features, which confirms or refutes what their fingerprints
//! suggest.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use simhash::fingerprint::resemblance::resemblance;

use super::fingerprint_cache::with_fingerprinter;
use super::options::{Document, RawJsonb, read};
use crate::postgres::error::{algorithm_error, tick};
use crate::postgres::text::{RawText, decode};

#[pg_extern(sql = false)]
fn simhash_resemblance(a: RawText<'_>, b: RawText<'_>, options: RawJsonb<'_>) -> Result<Option<f64>, ErrorReport> {
    let options = read(Document::Jsonb(options))?;
    let (a, b) = (decode(a)?, decode(b)?);
    with_fingerprinter(|fingerprinter| resemblance(fingerprinter, &a, &b, &options, &tick)).map_err(algorithm_error)
}
