//! `simhash_explain`: why two texts are near-duplicates or are not.

use pgrx::AnyElement;
use pgrx::prelude::*;
use postgres::error::Result;
use postgres::json::RawJsonb;
use postgres::text::{RawText, decode, text_from_utf8};
use simhash::check::Check;

use super::fingerprint_cache::with_fingerprinter;
use super::options::{JsonDocument, read_criterion, reject_weights_of_table, unfit_criterion};

#[pg_extern(sql = false)]
fn simhash_explain(
    a: Option<RawText<'_>>,
    b: Option<RawText<'_>>,
    criterion: Option<RawJsonb<'_>>,
) -> Result<
    TableIterator<
        'static,
        (
            name!(what, &'static str),
            name!(in_a, Option<AnyElement>),
            name!(in_b, Option<AnyElement>),
            name!(found, Option<AnyElement>),
            name!(required, Option<AnyElement>),
            name!(holds, Option<bool>),
        ),
    >,
> {
    let read = |criterion| read_criterion(JsonDocument::Jsonb(criterion)).and_then(reject_weights_of_table);
    let checks = match (a, b, criterion.map(read).transpose()?) {
        (Some(a), Some(b), Some(document)) => {
            let texts = [decode(a)?.as_str(), decode(b)?.as_str()];
            with_fingerprinter(&document.options, |fingerprinter| Ok(document.explain(fingerprinter, texts)))?
                .map_err(unfit_criterion)?
        }
        // For a NULL argument, one row with NULL in all other columns.
        _ => vec![Check { what: "near", ..Check::default() }],
    };
    let to_sql_text = |text: Option<String>| text.map(|text| text_from_utf8(&text));
    Ok(TableIterator::new(checks.into_iter().map(move |check| {
        let [in_a, in_b] = check.of_texts.map(to_sql_text);
        (check.what, in_a, in_b, to_sql_text(check.found), to_sql_text(check.required), check.holds)
    })))
}
