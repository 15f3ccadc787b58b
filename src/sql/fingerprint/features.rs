//! `simhash_features`: the features that a text's fingerprint is made from.

use pgrx::AnyElement;
use pgrx::prelude::*;
use postgres::error::{ErrorReport, algorithm_error, tick};
use postgres::json::RawJsonb;
use postgres::text::{RawText, decode, to_datum};

use super::fingerprint_cache::with_fingerprinter;
use super::options::{OptionsDocument, read_options};
use super::simhash::to_bigint;

#[pg_extern(sql = false)]
fn simhash_features(
    content: RawText<'_>,
    options: RawJsonb<'_>,
) -> Result<
    TableIterator<'static, (name!(feature, Option<AnyElement>), name!(weight, f64), name!(hash, i64))>,
    ErrorReport,
> {
    let options = read_options(OptionsDocument::Jsonb(options))?;
    let content = decode(content)?.as_str();
    let features = with_fingerprinter(|fingerprinter| fingerprinter.features(content, &options, &tick))
        .map_err(algorithm_error)?;
    let one = features.one() as f64;
    // Each feature becomes a `text` only when its row is fetched, in that row's memory.
    Ok(TableIterator::new((0..features.positions()).filter_map(move |position| {
        // A feature may be as long as the text.
        tick();
        let feature = features.get(position)?;
        Some((to_datum(feature.text), feature.weight as f64 / one, to_bigint(feature.hash)))
    })))
}
