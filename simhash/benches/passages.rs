//! What passages find, by the lengths of runs and windows: recall, candidates, entries; and what confirms them.
//!
//! `cargo bench -p simhash --bench passages -- FILE.jsonl.gz...`
//!
//! A clue is a row of tokens of a document, of which some are changed to others of the set. It should find the
//! documents that have at least .8 of the runs (of three words, or five letters) of the unchanged clue. "runs" looks up
//! all runs of the clue, and "passages" its passages alone.

use std::collections::{HashMap, HashSet};
use std::process::ExitCode;

use simhash::Options;
use simhash::fingerprint::Fingerprinter;
use simhash::fingerprint::hash::hash;
use simhash::fingerprint::passages::{LENGTHS, Lengths, WINDOW, coverage, passages_of};
use simhash::random::Random;

mod documents;

/// Clues of each kind.
const CLUES: usize = 500;
/// Tokens of a clue, and the shares of them that are changed.
const KINDS: [(usize, [f64; 4]); 3] =
    [(12, [0.0, 0.04, 0.08, 0.15]), (25, [0.0, 0.04, 0.08, 0.15]), (60, [0.0, 0.04, 0.08, 0.15])];
/// Tokens of a run, and runs of a window.
const CHOICES: [(usize, usize); 9] = [(3, 8), (4, 6), (4, 8), (4, 10), (5, 4), (5, 8), (6, 6), (6, 8), (8, 8)];

struct Clue {
    kind: (usize, f64),
    text: String,
    /// The documents that should be found.
    has: HashSet<usize>,
}

fn main() -> ExitCode {
    for file in std::env::args().skip(1).filter(|argument| argument != "--bench") {
        match documents::read(file.as_ref()) {
            Ok(documents) => {
                println!("{file}: {} documents, {CLUES} clues of each kind", documents.len());
                report(&documents.into_iter().map(|document| document.text).collect::<Vec<_>>());
            }
            Err(error) => {
                eprintln!("cannot read {file}: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

fn report(texts: &[String]) {
    let is_chinese =
        texts.iter().flat_map(|text| text.chars().take(9)).filter(|c| *c > '\u{3000}').count() > texts.len();
    let clues = clues(texts, is_chinese);
    let index = |lengths, window| -> HashMap<u64, Vec<usize>> {
        let mut index: HashMap<u64, Vec<usize>> = HashMap::new();
        for (number, text) in texts.iter().enumerate() {
            passages(text, lengths, window).into_iter().for_each(|hash| index.entry(hash).or_default().push(number));
        }
        index
    };
    println!("recall, and candidates of a clue, by tokens of a run and runs of a window");
    for (run, window) in CHOICES {
        let lengths = Lengths { words: run, spaceless: run };
        let index = index(lengths, window);
        println!("{run} {window}: {} entries", index.values().map(Vec::len).sum::<usize>());
        for (name, window) in [("passages", window), ("runs", 1)] {
            print!("  {name:<9}");
            each_kind(&clues, |clues| {
                let (mut found, mut should, mut candidates) = (0, 0, 0);
                for clue in clues {
                    let proposed = look_up(&index, &clue.text, lengths, window);
                    found += clue.has.intersection(&proposed).count();
                    should += clue.has.len();
                    candidates += proposed.len();
                }
                print!(" {:.3} ({:.1})", found as f64 / should as f64, candidates as f64 / clues.len() as f64);
            });
        }
    }
    println!("share of those found, and of the other candidates, with a coverage of .8 / .6 / .5");
    let index = index(LENGTHS, WINDOW);
    each_kind(&clues, |clues| {
        let (mut right, mut wrong) = (Vec::new(), Vec::new());
        for clue in clues {
            for number in look_up(&index, &clue.text, LENGTHS, 1) {
                let tick = &|| ();
                let found =
                    coverage(&mut Fingerprinter::default(), &clue.text, &texts[number], &Options::default(), tick);
                let list = if clue.has.contains(&number) { &mut right } else { &mut wrong };
                list.extend(found.expect("no limit is reached"));
            }
        }
        let share =
            |list: &[f64], least: f64| list.iter().filter(|c| **c >= least).count() as f64 / list.len().max(1) as f64;
        for list in [right, wrong] {
            print!("  {:.2} / {:.2} / {:.2}", share(&list, 0.8), share(&list, 0.6), share(&list, 0.5));
        }
        println!();
    });
}

/// Calls `report` for the clues of each kind, and prints the kind.
fn each_kind(clues: &[Clue], mut report: impl FnMut(&[Clue])) {
    for clues in clues.chunk_by(|a, b| a.kind == b.kind) {
        print!("  {}/{:.0} %", clues[0].kind.0, 100.0 * clues[0].kind.1);
        report(clues);
    }
    println!();
}

fn passages(text: &str, lengths: Lengths, window: usize) -> Vec<u64> {
    let found = passages_of(&mut Fingerprinter::default(), text, &Options::default(), lengths, window, &|| ());
    found.expect("no limit is reached")
}

fn look_up(index: &HashMap<u64, Vec<usize>>, clue: &str, lengths: Lengths, window: usize) -> HashSet<usize> {
    passages(clue, lengths, window).iter().flat_map(|hash| index.get(hash)).flatten().copied().collect()
}

fn clues(texts: &[String], is_chinese: bool) -> Vec<Clue> {
    let tokens: Vec<Vec<String>> = texts
        .iter()
        .map(|text| match is_chinese {
            true => text.chars().filter(|c| c.is_alphanumeric()).map(String::from).collect(),
            false => text
                .to_lowercase()
                .split(|c: char| !c.is_alphanumeric())
                .filter(|w| !w.is_empty())
                .map(String::from)
                .collect(),
        })
        .collect();
    let runs = |tokens: &[String]| -> HashSet<u64> {
        tokens.windows(if is_chinese { 5 } else { 3 }).map(|run| hash(run.join(" ").as_bytes())).collect()
    };
    let mut having: HashMap<u64, Vec<usize>> = HashMap::new();
    for (number, tokens) in tokens.iter().enumerate() {
        runs(tokens).into_iter().for_each(|run| having.entry(run).or_default().push(number));
    }
    let vocabulary: Vec<&String> = tokens.iter().flatten().collect();
    let (mut random, mut made) = (Random(52), Vec::new());
    for kind in KINDS.iter().flat_map(|(length, shares)| shares.map(|share| (*length, share))) {
        let (length, share) = kind;
        let end = made.len() + CLUES;
        while made.len() < end {
            let document = random.one_of(&tokens);
            let Some(starts) = document.len().checked_sub(length).filter(|starts| *starts > 0) else { continue };
            let start = random.below(starts as u64) as usize;
            let mut clue = document[start..start + length].to_vec();
            let of_clue = runs(&clue);
            let mut common: HashMap<usize, usize> = HashMap::new();
            of_clue.iter().flat_map(|run| &having[run]).for_each(|number| *common.entry(*number).or_default() += 1);
            let enough = 0.8 * of_clue.len() as f64;
            let has =
                common.into_iter().filter(|(_, count)| *count as f64 >= enough).map(|(number, _)| number).collect();
            // 4 % of 12 words is half a word: one in every second clue.
            let changed = share * length as f64 + random.below(1000) as f64 / 1000.0;
            let mut places = HashSet::new();
            while places.len() < changed as usize {
                places.insert(random.below(length as u64) as usize);
            }
            places.into_iter().for_each(|place| clue[place] = (*random.one_of(&vocabulary)).clone());
            made.push(Clue { kind, text: clue.join(if is_chinese { "" } else { " " }), has });
        }
    }
    made
}
