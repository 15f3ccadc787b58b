//! The cost of a text is bounded: there are limits, and ticks that can cancel the work.

mod shared;

use shared::ticks::Ticks;
use simhash::error::{Error, MAX_COMBINING_SEQUENCE, MAX_FEATURES, MAX_VALUE_BYTES};
use simhash::fingerprint::feature_table::FeatureTable;
use simhash::fingerprint::options::Options;
use simhash::fingerprint::resemblance::resemblance;
use simhash::fingerprint::{Fingerprinter, Scratch};
use simhash::random::GOLDEN_RATIO;
use simhash::text::markup::text_of_html;
use simhash::text::normalise::normalise;

/// The largest number of bytes of a text that one pass may process between two ticks.
const MAX_TICK_BYTES: usize = 256 * 1024;

/// The number of ticks while a text is fingerprinted, while its features are listed, and while it is compared with
/// another text.
fn count_ticks(text: &str, options: &str) -> (usize, usize, usize) {
    let options = Options::from_json(options).expect("valid options");
    let ticks = Ticks::default();
    let tick = || ticks.tick();
    let mut scratch = Scratch::default();
    let mut fingerprinter = Fingerprinter::new(&mut scratch, &options, &tick);
    fingerprinter.fingerprint(text).expect("within the limits");
    let fingerprint = ticks.take();
    fingerprinter.features(text).expect("within the limits");
    let features = ticks.take();
    resemblance(&mut fingerprinter, text, "a").expect("within the limits");
    (fingerprint, features, ticks.take())
}

#[test]
fn every_long_text_ticks() {
    const LENGTH: usize = 1 << 19;
    for piece in "a|A| |word |中|カ|中文，|É|Ж |ก\u{e48}|é\u{301}|ﷺ|\u{fb01}|1|a\u{301}|!|\u{ad}|\u{640}".split('|')
    {
        let text = piece.repeat(LENGTH / piece.len());
        for options in [
            r#"{}"#,
            r#"{"tokens": "chars"}"#,
            r#"{"ngram": 16}"#,
            r#"{"weight": "log"}"#,
            r#"{"weights": {"word": 0.5}, "seed": 1}"#,
        ] {
            let (fingerprint, features, resemblance) = count_ticks(&text, options);
            // The text is normalised in one pass, and cut into tokens in another.
            let least = 2 * text.len() / MAX_TICK_BYTES;
            assert!(fingerprint >= least, "{fingerprint} ticks for {piece:?}, {options}");
            assert!(features >= least, "{features} ticks for the features of {piece:?}, {options}");
            assert!(resemblance >= least, "{resemblance} ticks for the resemblance of {piece:?}, {options}");
        }
    }
}

/// Markup of every kind, most of it never closed. Reading any of it anew for each repetition would take a quarter of an
/// hour.
#[test]
fn every_long_document_ticks() {
    const LENGTH: usize = 1 << 20;
    const PIECES: &str = "<|<p>|<b><i>|</p|<p x|<p x='|<p x=\"'>|<p x=y |<a/=b>|<!--|<!-- <p>-->|<![CDATA[|<?|&|&amp|\
        &#|&#1|&CounterClockwiseContourIntegral|<script>|<script><!--<script>|<style></styl|\
        <title></title|<textarea></p>|<template>|</template>|<svg/>|<plaintext>|\0|\r|word |中";
    for piece in PIECES.split('|') {
        for start in ["", "<script>", "<title></"] {
            let html = format!("{start}{}", piece.repeat(LENGTH / piece.len()));
            let ticks = Ticks::default();
            let mut text = String::new();
            text_of_html(&html, &mut text, &|| ticks.tick()).expect("memory suffices");
            assert!(ticks.count() >= html.len() / MAX_TICK_BYTES, "{} ticks for {start:?}, {piece:?}", ticks.count());
            assert!(text.len() <= 3 * html.len(), "{} bytes for {start:?}, {piece:?}", text.len());
        }
    }
}

#[test]
fn refuses_long_combining_sequences() {
    let fingerprint = |mark: &str, marks: usize| {
        let text = format!("a{} b", mark.repeat(marks));
        Fingerprinter::new(&mut Scratch::default(), &Options::default(), &|| ()).fingerprint(&text)
    };
    assert!(fingerprint("\u{301}", 1000).is_ok());
    assert_eq!(fingerprint("\u{301}", MAX_COMBINING_SEQUENCE), Err(Error::CombiningSequenceTooLong));
    assert_eq!(fingerprint("\u{640}", MAX_COMBINING_SEQUENCE), fingerprint("", 0));
}

#[test]
fn refuses_long_normal_forms() {
    let mut normal = "x".repeat(MAX_VALUE_BYTES - 3);
    assert_eq!(normalise("abc", true, &mut normal, &|| ()), Ok(()));
    assert_eq!(normalise("d", true, &mut normal, &|| ()), Err(Error::NormalFormTooLong));
    normal.truncate(MAX_VALUE_BYTES - 30);
    assert_eq!(normalise("ﷺ", true, &mut normal, &|| ()), Err(Error::NormalFormTooLong));
    assert_eq!(normal.len(), MAX_VALUE_BYTES - 30);
}

#[test]
fn refuses_too_many_features() {
    let mut features = FeatureTable::default();
    features.reset(1 << 30, false, &|| ()).expect("memory suffices");
    // Multiplying by an odd number spreads the numbers and keeps them distinct.
    let insert = |features: &mut FeatureTable, i: u64| features.insert(i.wrapping_mul(GOLDEN_RATIO), &|| ());
    for i in 1..=MAX_FEATURES as u64 {
        assert_eq!(insert(&mut features, i), Ok(true), "feature {i}");
    }
    assert_eq!(insert(&mut features, 1), Ok(false));
    assert_eq!(features.distinct(), MAX_FEATURES);
    assert_eq!(insert(&mut features, MAX_FEATURES as u64 + 1), Err(Error::TooManyFeatures));
}
