//! `simhash_features`: the features that a text's fingerprint is made from. `simhash_difference` and
//! `simhash_containment`: the features that only one of two texts has, and the share of one text's features that the
//! other has.

use pgrx::AnyElement;
use pgrx::prelude::*;
use postgres::error::Result;
use postgres::interrupts::tick;
use postgres::json::RawJsonb;
use postgres::text::{RawText, decode, text_from_utf8};
use simhash::fingerprint::difference::{containment, difference};
use simhash::fingerprint::feature_list::FeatureList;

use super::fingerprint_cache::with_fingerprinter;
use super::options::{JsonDocument, read_options};

#[pg_extern(sql = false)]
fn simhash_features(
    content: RawText<'_>,
    options: RawJsonb<'_>,
) -> Result<TableIterator<'static, (name!(feature, AnyElement), name!(weight, f64), name!(hash, i64))>> {
    let options = read_options(JsonDocument::Jsonb(options))?;
    let content = decode(content)?.as_str();
    let features = with_fingerprinter(&options, |fingerprinter| fingerprinter.features(content))?;
    Ok(TableIterator::new(feature_rows(features)))
}

#[pg_extern(sql = false)]
fn simhash_difference(
    a: RawText<'_>,
    b: RawText<'_>,
    options: RawJsonb<'_>,
) -> Result<TableIterator<'static, (name!(side, &'static str), name!(feature, AnyElement), name!(weight, f64))>> {
    let options = read_options(JsonDocument::Jsonb(options))?;
    let (a, b) = (decode(a)?.as_str(), decode(b)?.as_str());
    let lists = with_fingerprinter(&options, |fingerprinter| difference(fingerprinter, a, b))?;
    let sides = ["a", "b"].into_iter().zip(lists);
    let side_rows = |(side, list)| feature_rows(list).map(move |(feature, weight, _)| (side, feature, weight));
    Ok(TableIterator::new(sides.flat_map(side_rows)))
}

#[pg_extern(sql = false)]
fn simhash_containment(a: RawText<'_>, b: RawText<'_>, options: RawJsonb<'_>) -> Result<Option<f64>> {
    let options = read_options(JsonDocument::Jsonb(options))?;
    let (a, b) = (decode(a)?.as_str(), decode(b)?.as_str());
    with_fingerprinter(&options, |fingerprinter| containment(fingerprinter, a, b))
}

/// The texts, weights and hashes of features. Each text is made when its row is fetched, in memory of that row.
fn feature_rows(features: FeatureList) -> impl Iterator<Item = (AnyElement, f64, i64)> {
    let one = features.unit_weight() as f64;
    (0..features.position_count()).filter_map(move |position| {
        // A feature may be as long as the text.
        tick();
        let feature = features.get(position)?;
        Some((text_from_utf8(feature.text), feature.weight as f64 / one, feature.hash.cast_signed()))
    })
}
