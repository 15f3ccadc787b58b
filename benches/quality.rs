//! How well distances tell near-duplicates: precision and recall at distance 1 to 8, for the default and for options.
//!
//! `cargo bench --bench quality -- FOLDER [--seeds N]`, or the folder in `QUALITY_DATA`. The folder holds sets of real
//! documents with their true near-duplicates:
//!
//! - `NAME.jsonl.gz`: one `{"id": .., "text": ..}` a line;
//! - `NAME.pairs.tsv.gz`: `id`, `id`, J, every pair whose resemblance J is at least 0.5. J is the Jaccard resemblance of
//!   the sets of 5-character shingles after NFKC, case folding and turning each run of non-word characters to a space.
//!
//! Precision is the share of the pairs found that have J >= .8, recall the share of the pairs with J >= .9 that are
//! found. A pair is found at k if both documents have a fingerprint and these differ in at most k bits; all pairs are
//! compared.
//!
//! With `--seeds`, also the mean and the standard deviation over N re-hashings of the features: a set has few
//! near-duplicates, often of one family, and a difference that another hash function would turn round is none. AP is the average precision of all pairs ranked by
//! distance, the true ones being those with J >= .8: one number that does not depend on any k.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use pg_simhash::simhash::distance::hamming;
use pg_simhash::simhash::fingerprint::Fingerprinter;
use pg_simhash::simhash::options::Options;
use pg_simhash::simhash::tally::Tally;
use serde_json::json;

mod documents;

const DISTANCES: usize = 65;
const SHOWN: std::ops::RangeInclusive<usize> = 1..=8;
/// A found pair counts as right from this resemblance on.
const SIMILAR: f64 = 0.8;
/// A pair of this resemblance should be found.
const NEAR: f64 = 0.9;

/// What a set must reach at k = 5: precision, recall.
const BARS_AT_5: [(&str, f64, f64); 3] = [("reuters", 0.92, 0.85), ("licences", 0.85, 0.68), ("laws", 0.85, 0.85)];
/// What every set must reach at k = 3.
const PRECISION_AT_3: f64 = 0.95;

fn variants() -> Vec<(&'static str, Options)> {
    let variants = [
        ("default", json!({})),
        ("ngram 2", json!({"ngram": 2})),
        ("ngram 3", json!({"ngram": 3})),
        ("chars 3", json!({"tokens": "chars", "ngram": 3})),
        ("chars 4", json!({"tokens": "chars", "ngram": 4})),
        ("chars 5", json!({"tokens": "chars", "ngram": 5})),
        ("weight log", json!({"weight": "log"})),
        ("weight tf", json!({"weight": "tf"})),
        ("no case_fold", json!({"case_fold": false})),
        ("top 64", json!({"top": 64})),
        ("top 256", json!({"top": 256})),
        ("log, top 64", json!({"weight": "log", "top": 64})),
        ("log, top 256", json!({"weight": "log", "top": 256})),
    ];
    variants.map(|(name, options)| (name, Options::from_json(&options).expect("valid options"))).into()
}

struct Set {
    name: String,
    texts: Vec<String>,
    /// Pairs of documents with their resemblance.
    resembling: Vec<(usize, usize, f64)>,
}

fn main() -> ExitCode {
    let (folder, seeds) = arguments();
    let sets = folder.as_deref().map(read_sets).transpose();
    let sets = match sets {
        Ok(sets) => sets.unwrap_or_default(),
        Err(error) => {
            eprintln!("cannot read {}: {error}", folder.unwrap_or_default().display());
            return ExitCode::FAILURE;
        }
    };
    if sets.is_empty() {
        println!(
            "skipped: no folder with NAME.jsonl.gz and NAME.pairs.tsv.gz (give it as argument or in QUALITY_DATA)"
        );
        return ExitCode::SUCCESS;
    }
    let mut missed = 0;
    for set in &sets {
        missed += report(set, seeds);
    }
    println!("bars missed: {missed}");
    ExitCode::SUCCESS
}

fn arguments() -> (Option<PathBuf>, u64) {
    let mut folder = std::env::var_os("QUALITY_DATA").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let mut seeds = 0;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--bench" => (),
            "--seeds" => seeds = arguments.next().and_then(|seeds| seeds.parse().ok()).expect("--seeds NUMBER"),
            _ => folder = Some(argument.into()),
        }
    }
    (folder, seeds)
}

fn read_sets(folder: &Path) -> io::Result<Vec<Set>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut names: Vec<String> = std::fs::read_dir(folder)?
        .filter_map(|entry| Some(entry.ok()?.file_name().to_str()?.strip_suffix(".jsonl.gz")?.to_owned()))
        .filter(|name| folder.join(format!("{name}.pairs.tsv.gz")).is_file())
        .collect();
    names.sort();
    names.into_iter().map(|name| read_set(folder, name)).collect()
}

fn read_set(folder: &Path, name: String) -> io::Result<Set> {
    let documents = documents::read(&folder.join(format!("{name}.jsonl.gz")))?;
    let pairs = documents::read_text(&folder.join(format!("{name}.pairs.tsv.gz")))?;
    let number: HashMap<&str, usize> = documents.iter().enumerate().map(|(i, d)| (d.id.as_str(), i)).collect();
    let pair = |line: &str| {
        let mut fields = line.split('\t');
        let a = *number.get(fields.next()?)?;
        let b = *number.get(fields.next()?)?;
        Some((a, b, fields.next()?.parse().ok()?))
    };
    let resembling: Option<Vec<_>> = pairs.lines().map(pair).collect();
    let resembling =
        resembling.ok_or_else(|| io::Error::other(format!("{name}: pairs that do not fit the documents")))?;
    Ok(Set { name, texts: documents.into_iter().map(|d| d.text).collect(), resembling })
}

/// Prints the table of a set; how many bars the default missed.
fn report(set: &Set, seeds: u64) -> usize {
    let similar = set.resembling.iter().filter(|pair| pair.2 >= SIMILAR).count();
    let near = set.resembling.iter().filter(|pair| pair.2 >= NEAR).count();
    let bytes: usize = set.texts.iter().map(String::len).sum();
    println!(
        "{}: {} documents, {:.1} MB, pairs with J >= {SIMILAR}: {similar}, >= {NEAR}: {near}",
        set.name,
        set.texts.len(),
        bytes as f64 / 1e6
    );
    print!("{:<14}", "P / R at k =");
    SHOWN.for_each(|k| print!(" {k:^11}"));
    println!("  {:>6}", "AP");

    let variants = variants();
    for (name, options) in &variants {
        Outcome::new(set, &fingerprints(set, options)).print(name);
    }
    if seeds > 0 {
        println!("mean of {seeds} re-hashings (and standard deviation, in hundredths)");
        for (name, options) in &variants {
            print_summary(name, &rehashed(set, options, seeds));
        }
    }
    let missed = check_bars(set, seeds);
    println!();
    missed
}

/// A figure that a set must reach.
type Bar = (&'static str, fn(&Outcome) -> f64, f64);

fn bars(set: &Set) -> Vec<Bar> {
    let mut bars: Vec<Bar> = vec![("k = 3 precision", |outcome| outcome.precision(3), PRECISION_AT_3)];
    if let Some((_, precision, recall)) = BARS_AT_5.iter().find(|bar| set.name.starts_with(bar.0)) {
        bars.push(("k = 5 precision", |outcome| outcome.precision(5), *precision));
        bars.push(("k = 5 recall", |outcome| outcome.recall(5), *recall));
    }
    bars
}

/// Prints whether the default reaches its bars; how many it misses.
fn check_bars(set: &Set, seeds: u64) -> usize {
    let options = Options::default();
    let default = Outcome::new(set, &fingerprints(set, &options));
    let rehashed = rehashed(set, &options, seeds);
    let mut missed = 0;
    for (what, value, bar) in bars(set) {
        let verdict = |value: f64| if value >= bar { "reached" } else { "MISSED" };
        let as_shipped = value(&default);
        missed += usize::from(as_shipped < bar);
        print!("default, {what}: {as_shipped:.3}, bar {bar}: {}", verdict(as_shipped));
        if !rehashed.is_empty() {
            let (mean, _) = summary(&rehashed, value);
            let reached = rehashed.iter().filter(|outcome| value(outcome) >= bar).count();
            print!("; mean of re-hashings {mean:.3}: {}, by {reached} of {seeds}", verdict(mean));
        }
        println!();
    }
    missed
}

fn fingerprints(set: &Set, options: &Options) -> Vec<Option<u64>> {
    let mut fingerprinter = Fingerprinter::default();
    set.texts.iter().map(|text| fingerprinter.fingerprint(text, options, &|| ()).expect("a fingerprint")).collect()
}

/// What a search finds at each distance.
struct Outcome {
    /// Pairs at each distance: all, those with J >= [`SIMILAR`], those with J >= [`NEAR`].
    all: [usize; DISTANCES],
    similar: [usize; DISTANCES],
    near: [usize; DISTANCES],
    /// Pairs with these resemblances, fingerprints or not.
    similar_pairs: usize,
    near_pairs: usize,
}

impl Outcome {
    fn new(set: &Set, fingerprints: &[Option<u64>]) -> Self {
        let mut all = [0; DISTANCES];
        let known: Vec<u64> = fingerprints.iter().flatten().copied().collect();
        for (i, a) in known.iter().enumerate() {
            for b in &known[..i] {
                all[hamming(*a, *b) as usize] += 1;
            }
        }
        let mut outcome = Self { all, similar: [0; DISTANCES], near: [0; DISTANCES], similar_pairs: 0, near_pairs: 0 };
        for (a, b, resemblance) in &set.resembling {
            let distance = fingerprints[*a].zip(fingerprints[*b]).map(|(a, b)| hamming(a, b) as usize);
            if *resemblance >= SIMILAR {
                outcome.similar_pairs += 1;
                distance.into_iter().for_each(|d| outcome.similar[d] += 1);
            }
            if *resemblance >= NEAR {
                outcome.near_pairs += 1;
                distance.into_iter().for_each(|d| outcome.near[d] += 1);
            }
        }
        outcome
    }

    fn precision(&self, k: usize) -> f64 {
        share(self.similar[..=k].iter().sum(), self.all[..=k].iter().sum())
    }

    fn recall(&self, k: usize) -> f64 {
        share(self.near[..=k].iter().sum(), self.near_pairs)
    }

    fn average_precision(&self) -> f64 {
        let steps = (0..DISTANCES).filter(|k| self.similar[*k] > 0);
        steps.map(|k| self.precision(k) * share(self.similar[k], self.similar_pairs)).sum()
    }

    fn print(&self, name: &str) {
        print!("{name:<14}");
        for k in SHOWN {
            print!("  {:.3}/{:.3}", self.precision(k), self.recall(k));
        }
        println!("  {:.4}", self.average_precision());
    }
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

/// What searches find with the same features and `seeds` other hash functions.
fn rehashed(set: &Set, options: &Options, seeds: u64) -> Vec<Outcome> {
    let mut fingerprinter = Fingerprinter::default();
    let mut features = |text| {
        let features = fingerprinter.features(text, options, &|| ()).expect("the features");
        features.iter().map(|feature| (feature.hash, feature.weight)).collect()
    };
    let features: Vec<Vec<(u64, u32)>> = set.texts.iter().map(|text| features(text)).collect();
    let rehash = |seed| -> Vec<Option<u64>> { features.iter().map(|features| rehash(features, seed)).collect() };
    (1..=seeds).map(|seed| Outcome::new(set, &rehash(seed))).collect()
}

/// Mean and standard deviation.
fn summary(outcomes: &[Outcome], value: impl Fn(&Outcome) -> f64) -> (f64, f64) {
    let values: Vec<f64> = outcomes.iter().map(value).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
    (mean, variance.sqrt())
}

fn print_summary(name: &str, outcomes: &[Outcome]) {
    print!("{name:<14}");
    for k in [3, 4, 5, 6, 8] {
        let precision = summary(outcomes, |outcome| outcome.precision(k));
        let recall = summary(outcomes, |outcome| outcome.recall(k));
        print!("  {k}: {:.2}({:.0})/{:.2}({:.0})", precision.0, precision.1 * 100.0, recall.0, recall.1 * 100.0);
    }
    let (mean, deviation) = summary(outcomes, Outcome::average_precision);
    println!("  AP {mean:.4}({:.2})", deviation * 100.0);
}

/// The fingerprint of features whose hashes are stirred with a seed (the finalizer of SplitMix64).
fn rehash(features: &[(u64, u32)], seed: u64) -> Option<u64> {
    let mut tally = Tally::default();
    for (hash, weight) in features {
        let mut hash = hash.wrapping_add(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        hash = (hash ^ (hash >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        hash ^= hash >> 31;
        tally.add(hash, u64::from(*weight)).expect("a sum in range");
    }
    tally.fingerprint()
}
