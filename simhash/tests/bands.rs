//! Bands follow the resemblance, and a summary has what is computed one by one.

mod shared;

use std::collections::{HashMap, HashSet};

use shared::calls::{resemblance_of, summary};
use simhash::Options;
use simhash::fingerprint::bands::MAX_BANDS;
use simhash::fingerprint::{Fingerprinter, Scratch};
use simhash::random::Random;

const OPTIONS: [&str; 9] = [
    "{}",
    r#"{"tokens": "chars"}"#,
    r#"{"ngram": 3}"#,
    r#"{"weight": "tf"}"#,
    r#"{"weight": "log"}"#,
    r#"{"weights": {"a": 0, "b": 0.1, "c": 0.5, "d": 0.9}}"#,
    r#"{"weight": "tf", "weights": {"a": 0.3, "b": 0}}"#,
    r#"{"seed": 7, "case_fold": false}"#,
    r#"{"markup": "html", "ignore": ["numbers"]}"#,
];

fn options() -> impl Iterator<Item = (&'static str, Options)> {
    OPTIONS.into_iter().map(|document| (document, Options::from_json(document).unwrap()))
}

fn words(random: &mut Random, count: usize, vocabulary: u64) -> Vec<String> {
    let word = |number: u64| match number {
        0..8 => char::from(b'a' + number as u8).to_string(),
        8 => "法".to_owned(),
        9 => "Überlänge-und-mehr".to_owned(),
        _ => number.to_string().bytes().map(|digit| char::from(digit + b'q' - b'0')).collect(),
    };
    (0..count).map(|_| word(random.below(vocabulary))).collect()
}

#[test]
fn summaries_match_single_functions() {
    let (mut random, mut scratch) = (Random(1), Scratch::default());
    for round in 0..400 {
        let count = *random.one_of(&[0, 1, 2, 3, 10, 40, 200, 3000]);
        let text = words(&mut random, count, 1 + round % 60).join(" ");
        for (document, options) in options() {
            let mut fingerprinter = Fingerprinter::new(&mut scratch, &options, &|| ());
            let found = fingerprinter.summary(&text, 12).unwrap();
            let fingerprint = fingerprinter.fingerprint(&text).unwrap();
            assert_eq!(found.as_ref().map(|found| found.fingerprint), fingerprint, "{document} {text}");
            // A band is the same however many are asked for.
            let more = fingerprinter.summary(&text, MAX_BANDS).unwrap();
            assert_eq!(found.map(|found| found.bands), more.map(|more| more.bands[..12].to_vec()), "{document}");
        }
    }
}

/// The share of equal bands is the fourth power of the resemblance, with weights and occurrences too.
#[test]
fn bands_follow_resemblance() {
    let mut random = Random(2);
    for (document, options) in options() {
        // The number of pairs and of equal bands by the resemblance in twentieths.
        let mut counts: HashMap<u64, (f64, f64, f64)> = HashMap::new();
        for round in 0..1500 {
            let mut text = words(&mut random, 30, 25);
            let a = text.join(" ");
            for _ in 0..round % 9 {
                let (position, other) = (random.below(30) as usize, words(&mut random, 1, 40));
                text[position] = other.into_iter().next().unwrap();
            }
            let b = text.join(" ");
            let Some(found) = resemblance_of(&a, &b, &options) else { continue };
            let [a, b] = [a, b].map(|text| summary(&text, &options, MAX_BANDS).unwrap().bands);
            let equal = a.iter().zip(&b).filter(|(a, b)| a == b).count() as f64 / MAX_BANDS as f64;
            let (pairs, shared, expected) = counts.entry((found * 20.0) as u64).or_default();
            *pairs += 1.0;
            *shared += equal;
            *expected += found.powi(4);
        }
        for (of, (pairs, shared, expected)) in counts {
            let (shared, expected) = (shared / pairs, expected / pairs);
            // The 64 bands of one pair of texts are not independent of each other: hence more than three errors.
            let error = (expected * (1.0 - expected) / pairs).sqrt();
            assert!((shared - expected).abs() <= 3.0 * error + 0.03, "{document} {of}: {shared} {expected} {pairs}");
        }
    }
}

/// Minima have 32 bits, so a million features do not share one by chance.
#[test]
fn unlike_texts_of_a_million_features_share_no_band() {
    let summaries = ['a', 'b'].map(|first| {
        let text: String = (0..500_000).map(|number| format!("{first}{number} ")).collect();
        summary(&text, &Options::default(), MAX_BANDS).unwrap()
    });
    assert!(summaries.iter().all(|summary| summary.size == 999_999));
    let [a, b] = summaries.map(|summary| summary.bands);
    assert!(a.iter().zip(&b).all(|(a, b)| a != b));
}

#[test]
fn unlike_texts_share_no_band() {
    let mut random = Random(3);
    for (document, options) in options() {
        let texts: HashSet<_> = (0..200).map(|_| words(&mut random, 3, 400).join(" ")).collect();
        let first_band = |text: &String| summary(text, &options, 1).map(|found| found.bands[0]);
        let bands: HashSet<_> = texts.iter().filter_map(first_band).collect();
        assert!(bands.len() > texts.len() * 3 / 4, "{document}: {} of {}", bands.len(), texts.len());
    }
}

#[test]
fn texts_that_weigh_nothing_have_no_band() {
    assert_eq!(summary("...", &Options::default(), 6), None);
    let nothing = Options::from_json(r#"{"weights": {"a": 0}}"#).unwrap();
    assert_eq!(summary("a a", &nothing, 6), None);
}
