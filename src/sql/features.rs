//! `simhash_features`: what a fingerprint was made of.

use pgrx::pg_extern;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use super::error::tick;
use super::fingerprint::to_bigint;
use super::last::with_fingerprinter;
use super::options::{Document, RawJsonb, read};
use super::text::{RawText, decode, encode};

#[allow(clippy::type_complexity)] // pgrx must see the columns here, not behind an alias.
#[pg_extern(sql = false)]
fn simhash_features(
    content: RawText<'_>,
    options: RawJsonb<'_>,
) -> Result<TableIterator<'static, (name!(feature, Vec<u8>), name!(weight, f64), name!(hash, i64))>, ErrorReport> {
    let options = read(Document::Jsonb(options))?;
    let content = decode(content)?;
    let features = with_fingerprinter(|fingerprinter| fingerprinter.features(&content, &options, &tick))?;
    Ok(TableIterator::new(
        features
            .into_iter()
            .map(|feature| (encode(&feature.text).to_vec(), feature.weight.into(), to_bigint(feature.hash))),
    ))
}
