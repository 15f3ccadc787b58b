//! What makes a copy: precision and recall of a guard that confirms its candidates by words, by words and pairs of
//! neighbouring words, or by pairs alone.
//!
//! `cargo bench -p simhash --bench criteria -- FOLDER...`: the folders hold sets of documents with their true
//! near-duplicates (see quality.rs).
//!
//! Candidates are those of a guard with the default arguments: the fingerprints differ in at most 10 bits, and some of
//! four blocks in at most one. They are confirmed by the Jaccard resemblance of two sets of shingles, for each of
//! several sets and least resemblances. Precision is the share of the confirmed pairs whose J is .8 or more, recall the
//! share of the pairs whose J is .9 or more that are confirmed.

use std::collections::HashMap;
use std::process::ExitCode;

use simhash::Options;
use simhash::fingerprint::Fingerprinter;
use simhash::fingerprint::feature_set::FeatureSet;
use simhash::fingerprint::learn::{TABLE_SAMPLE, TextSample};
use simhash::search::nearness::Nearness;
use simhash::text::classes::{SPACELESS, kind};

mod documents;
mod sets;

use sets::{NEAR, SIMILAR, Set, report_each};

/// Which shingles are compared: numbers of words, and numbers of letters of scripts without spaces.
const SHINGLES: [(&str, &[u8], &[u8]); 6] = [
    ("words; trigrams", &[1], &[3]),
    ("words and pairs; trigrams", &[1, 2], &[3]),
    ("words and pairs; 3, 4", &[1, 2], &[3, 4]),
    ("words and pairs; 2, 3", &[1, 2], &[2, 3]),
    ("pairs; 4", &[2], &[4]),
    ("words, pairs and triples; 3, 4, 5", &[1, 2, 3], &[3, 4, 5]),
];
const RESEMBLANCES: [f64; 10] = [0.78, 0.80, 0.81, 0.82, 0.83, 0.84, 0.85, 0.86, 0.87, 0.89];

fn main() -> ExitCode {
    report_each(report)
}

fn report(set: &Set) {
    let mut fingerprinter = Fingerprinter::default();
    let default = Options::default();
    let mut fingerprint = |text: &String| fingerprinter.fingerprint(text, &default, &|| ()).expect("a fingerprint");
    let fingerprints: Vec<Option<u64>> = set.texts.iter().map(&mut fingerprint).collect();
    let near = Nearness::by_radii(10, &[1, 1, 1, 1]).expect("a layout");
    let js: HashMap<(usize, usize), f64> = set.resembling.iter().map(|&(a, b, j)| ((a.min(b), a.max(b)), j)).collect();
    let known: Vec<(usize, u64)> =
        fingerprints.iter().enumerate().filter_map(|(i, fingerprint)| Some((i, (*fingerprint)?))).collect();
    let mut candidates = Vec::new();
    for (i, (b, of_b)) in known.iter().enumerate() {
        candidates.extend(known[..i].iter().filter(|(_, of_a)| near.contains(of_a ^ of_b)).map(|(a, _)| (*a, *b)));
    }
    let all_near = set.pairs_from(NEAR);
    println!(
        "{}: {} documents, {} candidates, {all_near} with J >= {NEAR}",
        set.name,
        set.texts.len(),
        candidates.len()
    );
    print!("{:<34}", "P / R, resemblance >=");
    RESEMBLANCES.iter().for_each(|least| print!(" {least:^11}"));
    println!();
    for (name, words, letters) in SHINGLES {
        let mut shingles = HashMap::new();
        let mut of = |number: usize| {
            shingles.entry(number).or_insert_with(|| distinct(&mut fingerprinter, &set.texts[number], words, letters));
        };
        candidates.iter().for_each(|(a, b)| [*a, *b].into_iter().for_each(&mut of));
        let found: Vec<(f64, f64)> = candidates
            .iter()
            .map(|pair| (resemblance(&shingles[&pair.0], &shingles[&pair.1]), js.get(pair).copied().unwrap_or(0.0)))
            .collect();
        print!("{name:<34}");
        for least in RESEMBLANCES {
            let count = |least_j: f64| found.iter().filter(|(r, j)| *r >= least && *j >= least_j).count() as f64;
            print!("  {:.3}/{:.3}", count(SIMILAR) / count(0.0), count(NEAR) / all_near as f64);
        }
        println!();
    }
    weighted(set, &candidates, &js, all_near);
    println!();
}

/// The same with the weights of the table.
fn weighted(set: &Set, candidates: &[(usize, usize)], js: &HashMap<(usize, usize), f64>, all_near: usize) {
    let mut sample = TextSample::new(TABLE_SAMPLE);
    set.texts.iter().for_each(|text| sample.add(text).expect("memory"));
    let weights = sample.learn_table(&Options::default(), &|| ()).expect("memory");
    let options = Options::from_json(&format!(r#"{{"weights": {weights}}}"#)).expect("weights");
    let mut fingerprinter = Fingerprinter::default();
    let mut compared = HashMap::new();
    for number in candidates.iter().flat_map(|(a, b)| [*a, *b]) {
        compared.entry(number).or_insert_with(|| {
            FeatureSet::new(&mut fingerprinter, &set.texts[number], &options, &|| ()).expect("memory")
        });
    }
    let learnt = options.weights.as_ref().map_or(0, |weights| weights.iter().count());
    print!("{:<34}", format!("{learnt} weights of the table"));
    for least in RESEMBLANCES {
        let resembles = |(a, b): &&(usize, usize)| match (&compared[a], &compared[b]) {
            (Some(a), Some(b)) => a.resembles(b, least, &|| ()),
            _ => false,
        };
        let found: Vec<f64> =
            candidates.iter().filter(resembles).map(|pair| js.get(pair).copied().unwrap_or(0.0)).collect();
        let count = |least_j: f64| found.iter().filter(|j| **j >= least_j).count() as f64;
        print!("  {:.3}/{:.3}", count(SIMILAR) / count(0.0), count(NEAR) / all_near as f64);
    }
    let mostly = sample.mostly_common(&Options::default(), &|| ()).expect("memory");
    println!("\ntexts that consist mostly of what a tenth of the texts have: {mostly:.3}");
}

/// The hashes of the distinct shingles of a text, in ascending order.
fn distinct(fingerprinter: &mut Fingerprinter, text: &str, words: &[u8], letters: &[u8]) -> Vec<u64> {
    let mut hashes = Vec::new();
    for ngram in 1..=5 {
        let options = Options { ngram: Some(ngram), ..Options::default() };
        let list = fingerprinter.features(text, &options, &|| ()).expect("the features");
        hashes.extend(list.iter().filter_map(|feature| {
            let is_spaceless = feature.text.chars().next().is_some_and(|c| kind(c.into()) == SPACELESS);
            let wanted = if is_spaceless { letters } else { words };
            wanted.contains(&ngram).then_some(feature.hash)
        }));
    }
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}

/// The Jaccard resemblance of two sets in ascending order.
fn resemblance(a: &[u64], b: &[u64]) -> f64 {
    let common = a.iter().filter(|hash| b.binary_search(hash).is_ok()).count();
    common as f64 / (a.len() + b.len() - common).max(1) as f64
}
