//! Texts: fingerprint, features and resemblance are what the oracle says, whatever was fingerprinted before.
//!
//! An input is four digits (the first may be a later character), three for the options and one for the number of
//! repetitions, and two texts with a 0 byte between them.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroU32;
use std::sync::Arc;

use simhash::fingerprint::Fingerprinter;
use simhash::fingerprint::agreement::{Same, Words};
use simhash::fingerprint::options::{Options, Tokens, Weight};
use simhash::fingerprint::resemblance::resemblance;
use simhash::fingerprint::weight_map::WeightMap;
use simhash::random::GOLDEN_RATIO;
use simhash::text::ignore::Ignored;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::input::Input;
use super::oracle;

/// Longest repeated text in bytes: longer than the spans that normalisation cuts texts into.
const LONGEST: usize = 6_000;

pub fn check(input: &[u8]) {
    let mut input = Input(input);
    let (kinds, ngram, top, times) = (input.number(), input.number(), input.number(), input.number());
    let case_fold = kinds & 2 == 0;
    let seed = if kinds & 32 == 0 { 0 } else { (u64::from(top) + 1).wrapping_mul(GOLDEN_RATIO) };
    let mut options = Options {
        tokens: match (kinds & 16, kinds & 1) {
            (0, 0) => Tokens::Words,
            (0, _) => Tokens::Chars,
            _ => Tokens::Dictionary,
        },
        ngram: (1..=16).contains(&ngram).then_some(ngram),
        weight: [Weight::Set, Weight::Log, Weight::Tf, Weight::Log][usize::from(kinds >> 2 & 3)],
        case_fold,
        top: NonZeroU32::new(top.into()),
        seed,
        weights: None,
        markup: None,
        ignore: Ignored { numbers: top & 128 != 0, urls: top & 64 != 0, accents: ngram & 128 != 0 },
        same: Same { numbers: kinds & 128 != 0, words: Words::default() },
    };
    let mut texts = input.0.splitn(2, |byte| *byte == 0).map(|text| {
        let most = LONGEST / text.len().max(1);
        String::from_utf8_lossy(text).repeat(usize::from(times).clamp(1, most.max(1)))
    });
    let (a, b) = (texts.next().unwrap_or_default(), texts.next().unwrap_or_default());
    if kinds & 64 != 0 {
        // Every second feature of the first text has a weight, from none to almost 1.
        let features: HashSet<String> = oracle::features(&a, &options).into_iter().step_by(2).collect();
        let weights = features.iter().map(|feature| (feature, feature.len() as u32 % 10 * 100_000_000));
        let weights = WeightMap::new(weights, case_fold, seed).expect("memory suffices");
        options.weights = weights.ok().map(Arc::new);
    }

    let mut fingerprinter = Fingerprinter::default();
    let [of_a, _] = [&a, &b].map(|text| {
        let weighted = oracle::weighted_features(text, &options);
        let fingerprint = fingerprinter.fingerprint(text, &options, &|| ());
        assert_eq!(fingerprint, Ok(oracle::fingerprint_of(&weighted)), "fingerprint of {text:?}, {options:?}");
        check_features(&mut fingerprinter, text, &options, &weighted);
        weighted
    });
    // Another text was fingerprinted in between.
    let fingerprint = fingerprinter.fingerprint(&a, &options, &|| ());
    assert_eq!(fingerprint, Ok(oracle::fingerprint_of(&of_a)), "fingerprint of {a:?} after {b:?}, {options:?}");
    let words = [options.clone(), options.with_seed(seed ^ 1).expect("memory suffices")];
    let wide = fingerprinter.wide_fingerprint(&a, &words, &|| ());
    let single = words.iter().filter_map(|options| oracle::fingerprint(&a, options)).collect();
    assert_eq!(wide, Ok(single), "wide fingerprint of {a:?}, {options:?}");
    let found = resemblance(&mut fingerprinter, &a, &b, &options, &|| ());
    assert_eq!(found, Ok(oracle::resemblance(&a, &b, &options)), "resemblance of {a:?} and {b:?}, {options:?}");
}

/// Checks that the list has each feature where it first occurs, and no other.
fn check_features(fingerprinter: &mut Fingerprinter, text: &str, options: &Options, weighted: &[(u64, u64)]) {
    let weights: HashMap<u64, u64> = weighted.iter().copied().collect();
    let mut seen = HashSet::new();
    let expected: Vec<(String, u64, u64)> = oracle::features(text, options)
        .into_iter()
        .map(|feature| (xxh3_64_with_seed(feature.as_bytes(), options.seed), feature))
        .filter_map(|(hash, feature)| Some((feature, *weights.get(&hash).filter(|_| seen.insert(hash))?, hash)))
        .collect();
    let list = fingerprinter.features(text, options, &|| ()).expect("memory suffices");
    let unit = if options.weights.is_some() { 1_000_000_000 / list.one() } else { 1 };
    let list: Vec<(String, u64, u64)> =
        list.iter().map(|feature| (feature.text.to_owned(), feature.weight * unit, feature.hash)).collect();
    assert_eq!(list, expected, "features of {text:?}, {options:?}");
}
