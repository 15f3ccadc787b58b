//! `simhash_matches`, `simhash_coverage` and `simhash_headline`: where a text and a clue have the same words.

use pgrx::AnyElement;
use pgrx::prelude::*;
use postgres::encoding::database_encoding;
use postgres::error::{Explain, Result, invalid_parameter};
use postgres::json::RawJsonb;
use postgres::parameters::read_parameters;
use postgres::text::{RawText, TextArgument, decode, text_from_utf8};
use simhash::within::headline::{Style, headline};
use simhash::within::matches::{MAX_CHANGED, Match, Unit, coverage, matches};

use super::fingerprint_cache::with_fingerprinter;
use super::options::{JsonDocument, read_options};

#[pg_extern(sql = false)]
fn simhash_matches(
    content: RawText<'_>,
    clue: RawText<'_>,
    options: RawJsonb<'_>,
) -> Result<
    TableIterator<
        'static,
        (
            name!(content_position, i32),
            name!(content_length, i32),
            name!(clue_position, i32),
            name!(clue_length, i32),
            name!(words, i32),
            name!(changed, i32),
        ),
    >,
> {
    let options = read_options(JsonDocument::Jsonb(options))?;
    let (content, clue) = (decode(content)?.as_str(), decode(clue)?.as_str());
    // In SQL_ASCII, PostgreSQL takes each byte for a character.
    let unit = if database_encoding() == pg_sys::pg_enc::PG_SQL_ASCII { Unit::Bytes } else { Unit::Characters };
    let matches =
        with_fingerprinter(&options, |fingerprinter| matches(fingerprinter, content, clue, MAX_CHANGED, unit))?;
    Ok(TableIterator::new(matches.into_iter().map(|Match { content, clue, words, changed }| {
        // SQL counts positions from 1. A text has less than 2^30 characters.
        let [(content_start, content_length), (clue_start, clue_length)] =
            [content, clue].map(|range| (range.start as i32 + 1, range.len() as i32));
        (content_start, content_length, clue_start, clue_length, words as i32, changed as i32)
    })))
}

#[pg_extern(sql = false)]
fn simhash_coverage(content: RawText<'_>, clue: RawText<'_>, options: RawJsonb<'_>) -> Result<Option<f64>> {
    let options = read_options(JsonDocument::Jsonb(options))?;
    let (content, clue) = (decode(content)?.as_str(), decode(clue)?.as_str());
    with_fingerprinter(&options, |fingerprinter| coverage(fingerprinter, content, clue))
}

#[pg_extern(sql = false)]
fn simhash_headline(
    content: RawText<'_>,
    clue: RawText<'_>,
    style: TextArgument<'_>,
    options: RawJsonb<'_>,
) -> Result<AnyElement> {
    let (style, options) = (read_style(style)?, read_options(JsonDocument::Jsonb(options))?);
    let (content, clue) = (decode(content)?.as_str(), decode(clue)?.as_str());
    let marked = with_fingerprinter(&options, |fingerprinter| headline(fingerprinter, content, clue, &style))?;
    Ok(text_from_utf8(&marked))
}

/// Reads five of the parameters of `ts_headline`, in its syntax; an error for any other.
fn read_style(text: TextArgument<'_>) -> Result<Style> {
    let mut style = Style::default();
    for (name, value) in read_parameters(text, "headline")? {
        let read_number = |least: usize| {
            value.parse().ok().filter(|number| *number >= least).ok_or_else(|| {
                invalid_parameter(format!("invalid value for headline parameter \"{name}\": \"{value}\""))
                    .with_detail(format!("It must be an integer of at least {least}."))
            })
        };
        match name.to_ascii_lowercase().as_str() {
            "startsel" => style.start_sel = value,
            "stopsel" => style.stop_sel = value,
            "fragmentdelimiter" => style.fragment_delimiter = value,
            "maxfragments" => style.max_fragments = read_number(0)?,
            "maxwords" => style.max_words = read_number(1)?,
            _ => {
                return Err(invalid_parameter(format!("unrecognized headline parameter: \"{name}\""))
                    .with_hint("The parameters are StartSel, StopSel, MaxFragments, MaxWords and FragmentDelimiter."));
            }
        }
    }
    Ok(style)
}
