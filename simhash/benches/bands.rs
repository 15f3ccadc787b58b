//! What bands find: the share of near pairs that share one of the first bands, and the entries that a search reads.
//!
//! `cargo bench -p simhash --bench bands -- FILE.jsonl[.gz]|FOLDER ...`: each argument is a set of documents. The true
//! pairs are those that share one of 64 bands, which misses .0002 of the pairs of resemblance .6, and none beyond. Each
//! set is also cut into short texts, sentences of 6 to 19 words, of which each has a copy with one word changed, left
//! out or added.
//!
//! Entries are those of the first bands whose sizes fit, of other rows than the query: of texts that are near, and of
//! others. They are scaled to ten million rows, as if the set were repeated with other texts.

use std::collections::{HashMap, HashSet};

use simhash::Options;
use simhash::fingerprint::bands::MAX_BANDS;
use simhash::fingerprint::resemblance::resemblance;
use simhash::fingerprint::size::similar_sizes;
use simhash::fingerprint::{Fingerprinter, Scratch, Summary};
use simhash::random::Random;

mod documents;

/// The number of rows to which entries are scaled.
const ROWS: f64 = 1e7;
/// The least resemblance of the true pairs.
const MIN_RESEMBLANCE: f64 = 0.6;
/// Least resemblances, and the numbers of bands that are shown for each, of which the default is the last.
const SHOWN: [(f64, [usize; 4]); 4] =
    [(0.9, [3, 4, 5, 6]), (0.84, [3, 4, 5, 6]), (0.7, [6, 8, 10, 12]), (0.6, [12, 16, 20, 24])];
const MAX_SHORT_TEXTS: usize = 20_000;

fn main() {
    for (name, texts) in documents::sets() {
        report_set(&name, &texts);
        report_set(&format!("{name}, short texts"), &short_texts(&texts));
    }
}

/// Sentences of 6 to 19 words, each followed by a copy with a small edit.
fn short_texts(texts: &[String]) -> Vec<String> {
    let (mut random, mut short, mut seen) = (Random(0), Vec::new(), HashSet::new());
    for sentence in texts.iter().flat_map(|text| text.split(['.', '\n'])) {
        let mut words: Vec<_> = sentence.split_whitespace().collect();
        if !(6..=19).contains(&words.len()) || short.len() >= 2 * MAX_SHORT_TEXTS || !seen.insert(sentence) {
            continue;
        }
        short.push(words.join(" "));
        let position = random.below(words.len() as u64) as usize;
        match random.below(3) {
            0 => words[position] = "another",
            1 => drop(words.remove(position)),
            _ => words.insert(position, "more"),
        }
        short.push(words.join(" "));
    }
    short
}

fn report_set(name: &str, texts: &[String]) {
    let (options, mut scratch) = (Options::default(), Scratch::default());
    let summary =
        |text: &String| Fingerprinter::new(&mut scratch, &options, &|| ()).summary(text, MAX_BANDS).ok().flatten();
    let summaries: Vec<Option<Summary>> = texts.iter().map(summary).collect();
    let pairs = true_pairs(texts, &summaries);
    println!("{name}: {} documents", texts.len());
    for (min_resemblance, shown) in SHOWN {
        let near: Vec<_> = pairs.iter().filter(|(.., resemblance)| *resemblance >= min_resemblance).collect();
        let is_found = |a: usize, b: usize, bands: usize| {
            summaries[a].as_ref().zip(summaries[b].as_ref()).is_some_and(|(a, b)| a.shares_band(b, bands))
        };
        let figures = shown.map(|bands| {
            let found = near.iter().filter(|(a, b, _)| is_found(*a, *b, bands)).count();
            let recall = found as f64 / near.len().max(1) as f64;
            let (of_near, of_others) = entries(&summaries, &near, min_resemblance, bands);
            format!("{bands:>2} bands {recall:.4}, entries {of_near:.0} + {of_others:.0}")
        });
        println!("  resemblance >= {min_resemblance}: {} pairs; {}", near.len(), figures.join("; "));
    }
}

/// The pairs of texts of at least [`MIN_RESEMBLANCE`], with their resemblance.
fn true_pairs(texts: &[String], summaries: &[Option<Summary>]) -> Vec<(usize, usize, f64)> {
    let (options, mut scratch) = (Options::default(), Scratch::default());
    let (mut pairs, mut seen) = (Vec::new(), HashSet::new());
    for band in 0..MAX_BANDS {
        for group in groups(summaries, band).into_values() {
            for (position, &a) in group.iter().enumerate() {
                for &b in &group[..position] {
                    if fits(summaries, a, b, MIN_RESEMBLANCE) && seen.insert((a, b)) {
                        let mut fingerprinter = Fingerprinter::new(&mut scratch, &options, &|| ());
                        let found = resemblance(&mut fingerprinter, &texts[a], &texts[b]).ok().flatten();
                        pairs.extend(found.filter(|found| *found >= MIN_RESEMBLANCE).map(|found| (a, b, found)));
                    }
                }
            }
        }
    }
    pairs
}

/// The texts by the value of one of their bands.
fn groups(summaries: &[Option<Summary>], band: usize) -> HashMap<i32, Vec<usize>> {
    let mut groups: HashMap<_, Vec<_>> = HashMap::new();
    for (text, summary) in summaries.iter().enumerate() {
        if let Some(summary) = summary {
            groups.entry(summary.bands[band]).or_default().push(text);
        }
    }
    groups
}

/// Whether the sizes of two texts allow this resemblance.
fn fits(summaries: &[Option<Summary>], a: usize, b: usize, min_resemblance: f64) -> bool {
    let [Some(a), Some(b)] = [a, b].map(|text| summaries[text].as_ref()) else { return false };
    similar_sizes(a.size, min_resemblance, true).contains(&b.size)
}

/// The entries that a search reads on average, of near texts and of others, scaled to [`ROWS`].
fn entries(
    summaries: &[Option<Summary>],
    near: &[&(usize, usize, f64)],
    min_resemblance: f64,
    bands: usize,
) -> (f64, f64) {
    let near: HashSet<_> = near.iter().map(|(a, b, _)| (*a, *b)).collect();
    let (mut of_near, mut of_others) = (0usize, 0usize);
    for band in 0..bands {
        for group in groups(summaries, band).into_values() {
            for (position, &a) in group.iter().enumerate() {
                for &b in group[..position].iter().filter(|b| fits(summaries, a, **b, min_resemblance)) {
                    // Each of the two texts finds the other.
                    *(if near.contains(&(a, b)) { &mut of_near } else { &mut of_others }) += 2;
                }
            }
        }
    }
    let texts = summaries.iter().flatten().count().max(1) as f64;
    let scale = ROWS / texts / texts;
    (of_near as f64 * scale, of_others as f64 * scale)
}
