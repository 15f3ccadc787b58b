//! `simhash_resemblance`: whether two texts are as near as their fingerprints are.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use super::error::tick;
use super::last::with_fingerprinter;
use super::options::{Document, RawJsonb, read};
use super::text::{RawText, decode};
use crate::simhash::resemblance::resemblance;

#[pg_extern(sql = false)]
fn simhash_resemblance(a: RawText<'_>, b: RawText<'_>, options: RawJsonb<'_>) -> Result<Option<f64>, ErrorReport> {
    let options = read(Document::Jsonb(options))?;
    let (a, b) = (decode(a)?, decode(b)?);
    Ok(with_fingerprinter(|fingerprinter| resemblance(fingerprinter, &a, &b, &options, &tick))?)
}
