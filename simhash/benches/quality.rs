//! How well fingerprints tell near-duplicates from other pairs: precision and recall by the distance, with several
//! options.
//!
//! `cargo bench -p simhash --bench quality -- FOLDER`. The folder holds sets of real documents with their
//! true near-duplicates:
//!
//! - `NAME.jsonl.gz`: one `{"id": .., "text": ..}` a line;
//! - `NAME.pairs.tsv.gz`: `id`, `id`, J, for every pair whose resemblance J is at least 0.5. J is the Jaccard
//!   resemblance of the sets of 5-character shingles, after NFKC, case folding, and replacing each run of non-word
//!   characters by a space.
//!
//! All pairs of documents are compared. Precision is the share of the found pairs whose J is .8 or more. Recall is the
//! share of the pairs whose J is .9 or more that are found.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use simhash::distance::hamming;
use simhash::fingerprint::options::Options;
use simhash::fingerprint::{Fingerprinter, Scratch};

mod documents;

/// A found pair counts as right if it has at least this J.
const MIN_RIGHT: f64 = 0.8;
/// A pair of at least this J should be found.
const MIN_EXPECTED: f64 = 0.9;
const SHOWN_DISTANCES: std::ops::RangeInclusive<i32> = 1..=8;
/// The options that are measured, the default first.
const OPTIONS: [&str; 6] = [
    "{}",
    r#"{"ngram": 2}"#,
    r#"{"ngram": 3}"#,
    r#"{"tokens": "chars", "ngram": 5}"#,
    r#"{"weight": "log"}"#,
    r#"{"markup": "html"}"#,
];

fn main() -> ExitCode {
    let Some(folder) = documents::arguments().into_iter().next() else {
        println!("skipped: no folder with NAME.jsonl.gz and NAME.pairs.tsv.gz");
        return ExitCode::SUCCESS;
    };
    match read_sets(Path::new(&folder)) {
        Ok(sets) => {
            sets.iter().for_each(report_set);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("cannot read {folder}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn report_set(set: &Set) {
    let megabytes = set.texts.iter().map(String::len).sum::<usize>() as f64 / 1e6;
    let (right, expected) = (set.pairs_from(MIN_RIGHT), set.pairs_from(MIN_EXPECTED));
    println!(
        "{}: {} documents, {megabytes:.1} MB, pairs with J >= {MIN_RIGHT}: {right}, >= {MIN_EXPECTED}: {expected}",
        set.name,
        set.texts.len()
    );
    println!("precision / recall within 1 to 8 bits");
    for options in OPTIONS {
        let pairs = near_pairs(set, &Options::from_json(options).expect("valid options"));
        let figures = SHOWN_DISTANCES.map(|distance| precision_and_recall(set, &pairs, distance));
        println!("{options:<32}{}", figures.collect::<Vec<_>>().join("  "));
    }
    println!();
}

/// A pair of documents whose fingerprints differ in at most as many bits as are shown.
struct Pair {
    distance: i32,
    /// 0 below the least J of the set.
    j: f64,
}

fn near_pairs(set: &Set, options: &Options) -> Vec<Pair> {
    let js: HashMap<_, _> = set.resembling.iter().map(|&(a, b, j)| ((a.min(b), a.max(b)), j)).collect();
    let mut scratch = Scratch::default();
    let mut fingerprint =
        |text: &String| Fingerprinter::new(&mut scratch, options, &|| ()).fingerprint(text).expect("a fingerprint");
    let all: Vec<(usize, u64)> =
        set.texts.iter().enumerate().filter_map(|(document, text)| Some((document, fingerprint(text)?))).collect();
    let mut pairs = Vec::new();
    for (i, &(b, of_b)) in all.iter().enumerate() {
        let others = all[..i].iter().map(|&(a, of_a)| (a, hamming(of_a, of_b).cast_signed()));
        let near = others.filter(|(_, distance)| distance <= SHOWN_DISTANCES.end());
        pairs.extend(near.map(|(a, distance)| Pair { distance, j: js.get(&(a, b)).copied().unwrap_or(0.0) }));
    }
    pairs
}

/// Precision and recall of the pairs within a distance.
fn precision_and_recall(set: &Set, pairs: &[Pair], distance: i32) -> String {
    let found: Vec<f64> = pairs.iter().filter(|pair| pair.distance <= distance).map(|pair| pair.j).collect();
    let count_from = |min_j: f64| found.iter().filter(|j| **j >= min_j).count();
    let precision = share(count_from(MIN_RIGHT), found.len());
    let recall = share(count_from(MIN_EXPECTED), set.pairs_from(MIN_EXPECTED));
    format!("{precision:.3}/{recall:.3}")
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

/// Documents with their true near-duplicates.
struct Set {
    name: String,
    texts: Vec<String>,
    /// Pairs of documents, with their resemblance J.
    resembling: Vec<(usize, usize, f64)>,
}

impl Set {
    /// The number of pairs with at least this J.
    fn pairs_from(&self, min_j: f64) -> usize {
        self.resembling.iter().filter(|pair| pair.2 >= min_j).count()
    }
}

/// The sets in a folder, by name.
fn read_sets(folder: &Path) -> io::Result<Vec<Set>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let file = entry?.file_name();
        let name = file.to_str().and_then(|file| file.strip_suffix(".jsonl.gz"));
        names.extend(name.filter(|name| folder.join(format!("{name}.pairs.tsv.gz")).is_file()).map(str::to_owned));
    }
    names.sort();
    names.into_iter().map(|name| read_set(folder, name)).collect()
}

fn read_set(folder: &Path, name: String) -> io::Result<Set> {
    let documents = documents::read(&folder.join(format!("{name}.jsonl.gz")))?;
    let pairs = documents::read_text(&folder.join(format!("{name}.pairs.tsv.gz")))?;
    let numbers: HashMap<&str, usize> =
        documents.iter().enumerate().map(|(number, document)| (document.id.as_str(), number)).collect();
    let pair = |line: &str| {
        let mut fields = line.split('\t');
        let a = *numbers.get(fields.next()?)?;
        let b = *numbers.get(fields.next()?)?;
        Some((a, b, fields.next()?.parse().ok()?))
    };
    let resembling: Option<Vec<_>> = pairs.lines().map(pair).collect();
    let resembling =
        resembling.ok_or_else(|| io::Error::other(format!("{name}: pairs that do not fit the documents")))?;
    Ok(Set { name, texts: documents.into_iter().map(|document| document.text).collect(), resembling })
}
