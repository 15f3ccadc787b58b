//! How well fingerprints tell near-duplicates from other pairs: precision and recall by the distance, with several
//! options; and by the distances and radii that propose pairs which the texts then confirm.
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
use std::path::Path;
use std::process::ExitCode;
use std::{fmt, io};

use simhash::criterion::CriterionDocument;
use simhash::fingerprint::Fingerprinter;
use simhash::fingerprint::options::Options;
use simhash::fingerprint::resemblance::resemblance;
use simhash::search::blocks::DEFAULT_BLOCKS;
use simhash::search::cost::probes;
use simhash::search::flips::BitOrder;
use simhash::search::nearness::Nearness;

mod documents;

/// A found pair counts as right if it has at least this resemblance.
const SIMILAR: f64 = 0.8;
/// A pair of at least this resemblance should be found.
const NEAR: f64 = 0.9;
/// The distances that are shown without texts.
const SHOWN: std::ops::RangeInclusive<i32> = 1..=8;
/// The largest distance of any search.
const FARTHEST: i32 = 10;
/// Criteria of guards and searches for texts.
const CRITERIA: [&str; 16] = [
    r#"{"radii": [], "max_distance": 3}"#,
    r#"{"radii": [], "max_distance": 6}"#,
    r#"{"radii": [], "max_distance": 8}"#,
    r#"{"radii": [], "max_distance": 10}"#,
    r#"{"radii": [0, 0, 0, 0]}"#,
    r#"{"radii": [1, 1, 0, 0]}"#,
    r#"{"radii": [1, 1, 1, 1], "flips": []}"#,
    r#"{"radii": [1, 1, 1, 1], "flips": [6]}"#,
    r#"{"radii": [1, 1, 1, 1]}"#,
    r#"{"radii": [2, 2, 2, 2], "flips": [6, 4]}"#,
    r#"{"radii": [0, 0, 0]}"#,
    r#"{"radii": [1, 1, 1]}"#,
    r#"{"radii": [1, 1, 1], "flips": []}"#,
    r#"{"radii": [0, 0, 0, 0, 0]}"#,
    r#"{"radii": [1, 1, 1, 1, 1]}"#,
    r#"{"radii": [1, 1, 1, 1, 1, 1]}"#,
];
/// The least resemblance that confirms a pair: the default of guards and clusters.
const CONFIRMED: f64 = simhash::fingerprint::resemblance::COPY;
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
    let Some(folder) = std::env::args().skip(1).find(|argument| argument != "--bench") else {
        println!("skipped: no folder with NAME.jsonl.gz and NAME.pairs.tsv.gz");
        return ExitCode::SUCCESS;
    };
    match read_sets(Path::new(&folder)) {
        Ok(sets) => {
            sets.iter().for_each(report);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("cannot read {folder}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn report(set: &Set) {
    let megabytes = set.texts.iter().map(String::len).sum::<usize>() as f64 / 1e6;
    let (similar, near) = (set.pairs_from(SIMILAR), set.pairs_from(NEAR));
    println!(
        "{}: {} documents, {megabytes:.1} MB, pairs with J >= {SIMILAR}: {similar}, >= {NEAR}: {near}",
        set.name,
        set.texts.len()
    );
    println!("precision / recall within 1 to 8 bits");
    let mut of_default = Vec::new();
    for options in OPTIONS {
        let pairs = near_pairs(set, &Options::from_json(options).expect("valid options"));
        let figures = SHOWN.map(|distance| Figures::within(set, &pairs, distance).to_string());
        println!("{options:<32}{}", figures.collect::<Vec<_>>().join("  "));
        if options == OPTIONS[0] {
            of_default = pairs;
        }
    }

    println!("the default, confirmed by a resemblance of {CONFIRMED} or more");
    let mut known = HashMap::new();
    let mut confirmed = |near: Nearness| {
        let mut fingerprinter = Fingerprinter::default();
        let mut is_confirmed = |pair: &Pair| {
            *known.entry((pair.a, pair.b)).or_insert_with(|| {
                let [a, b] = [pair.a, pair.b].map(|document| &set.texts[document]);
                let found = resemblance(&mut fingerprinter, a, b, &Options::default(), &|| ()).expect("a resemblance");
                found.is_some_and(|found| found >= CONFIRMED)
            })
        };
        Figures::new(set, &of_default, |pair| {
            near.by_votes(&pair.votes).contains(pair.difference) && is_confirmed(pair)
        })
    };
    for criterion in CRITERIA {
        let near = CriterionDocument::from_json(criterion).expect("a valid criterion").of_texts().near;
        let look_ups = probes(near.blocks().unwrap_or(DEFAULT_BLOCKS), near).expect("few look-ups");
        println!("{criterion:<44}{look_ups:>4} look-ups  {}", confirmed(near));
    }
    println!();
}

/// A pair of documents whose fingerprints differ in at most [`FARTHEST`] bits.
struct Pair {
    a: usize,
    b: usize,
    /// The bits in which the fingerprints differ.
    difference: u64,
    /// The votes of the later document, which a guard searches for.
    votes: BitOrder,
    /// 0 below the least J of the set.
    j: f64,
}

fn near_pairs(set: &Set, options: &Options) -> Vec<Pair> {
    let js: HashMap<_, _> = set.resembling.iter().map(|&(a, b, j)| ((a.min(b), a.max(b)), j)).collect();
    let mut fingerprinter = Fingerprinter::default();
    let mut fingerprint = |text: &String| {
        let fingerprint = fingerprinter.fingerprint(text, options, &|| ()).expect("a fingerprint")?;
        Some((fingerprint, fingerprinter.closest_votes(text, options, &|| ()).expect("votes")?))
    };
    let all: Vec<(usize, (u64, BitOrder))> =
        set.texts.iter().enumerate().filter_map(|(document, text)| Some((document, fingerprint(text)?))).collect();
    let mut pairs = Vec::new();
    for (i, &(b, (of_b, votes))) in all.iter().enumerate() {
        let near = all[..i].iter().filter(|(_, (of_a, _))| Nearness::within(FARTHEST).contains(of_a ^ of_b));
        pairs.extend(near.map(|&(a, (of_a, _))| {
            let j = js.get(&(a, b)).copied().unwrap_or(0.0);
            Pair { a, b, difference: of_a ^ of_b, votes, j }
        }));
    }
    pairs
}

/// The precision and the recall of a search.
struct Figures {
    precision: f64,
    recall: f64,
}

impl Figures {
    fn new(set: &Set, pairs: &[Pair], is_found: impl FnMut(&&Pair) -> bool) -> Self {
        let found: Vec<f64> = pairs.iter().filter(is_found).map(|pair| pair.j).collect();
        let from = |least: f64| found.iter().filter(|j| **j >= least).count();
        Self { precision: share(from(SIMILAR), found.len()), recall: share(from(NEAR), set.pairs_from(NEAR)) }
    }

    /// The figures of the pairs within a distance.
    fn within(set: &Set, pairs: &[Pair], distance: i32) -> Self {
        Self::new(set, pairs, |pair| Nearness::within(distance).contains(pair.difference))
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}/{:.3}", self.precision, self.recall)
    }
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
    fn pairs_from(&self, least: f64) -> usize {
        self.resembling.iter().filter(|pair| pair.2 >= least).count()
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
    Ok(Set { name, texts: documents.into_iter().map(|document| document.text).collect(), resembling })
}
