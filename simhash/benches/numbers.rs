//! What the option `numbers` costs and gains: how many near-duplicates have other numbers than each other, and what a
//! guard finds with `"numbers": "same"`.
//!
//! `cargo bench -p simhash --bench numbers -- FOLDER...`: the folders hold sets of documents with their true
//! near-duplicates (see quality.rs).
//!
//! A pair is found as by a guard with the default arguments: the fingerprints differ in at most 10 bits, and some of
//! four blocks in at most one; and the features of the texts have a resemblance of .89 or more. Precision is the share
//! of the found pairs whose J is .8 or more, recall the share of the pairs whose J is .9 or more that are found.

use std::collections::HashMap;
use std::process::ExitCode;

use simhash::Options;
use simhash::fingerprint::Fingerprinter;
use simhash::fingerprint::feature_set::FeatureSet;
use simhash::fingerprint::options::Numbers;
use simhash::search::nearness::Nearness;

mod documents;
mod sets;

use sets::{NEAR, SIMILAR, Set, report_each, share};

const CONFIRMED: f64 = 0.89;

fn main() -> ExitCode {
    println!("{:<12} {:>7} {:>9} {:>9}   {:<17} {:<17}", "", "J >= .9", "numbers", "share of", "any", "same");
    println!("{:<12} {:>7} {:>9} {:>9}   {:<17} {:<17}", "set", "", "differ", "found", "found  P / R", "found  P / R");
    report_each(report)
}

fn report(set: &Set) {
    let mut fingerprinter = Fingerprinter::default();
    let mut features = |options: &Options| -> Vec<Option<FeatureSet>> {
        let read = |text: &String| FeatureSet::new(&mut fingerprinter, text, options, &|| ()).expect("the features");
        set.texts.iter().map(read).collect()
    };
    let any = features(&Options::default());
    let same = features(&Options { numbers: Numbers::Same, ..Options::default() });
    let resemble = |features: &[Option<FeatureSet>], a: usize, b: usize, least: f64| {
        features[a].as_ref().zip(features[b].as_ref()).is_some_and(|(a, b)| a.resembles(b, least, &|| ()))
    };
    let has_other_numbers = |a, b| resemble(&any, a, b, f64::MIN_POSITIVE) && !resemble(&same, a, b, f64::MIN_POSITIVE);

    let js: HashMap<(usize, usize), f64> = set.resembling.iter().map(|&(a, b, j)| ((a.min(b), a.max(b)), j)).collect();
    let near: Vec<_> = js.iter().filter(|(_, j)| **j >= NEAR).map(|(pair, _)| *pair).collect();
    let differing = near.iter().filter(|(a, b)| has_other_numbers(*a, *b)).count();
    let found = found(set, |a, b| resemble(&any, a, b, CONFIRMED));
    let with_other_numbers = found.iter().filter(|(a, b)| has_other_numbers(*a, *b)).count();
    print!("{:<12} {:>7} {:>9}", set.name, near.len(), share(differing, near.len()));
    print!(" {:>9}  ", share(with_other_numbers, found.len()));
    let kept: Vec<_> = found.iter().filter(|(a, b)| resemble(&same, *a, *b, CONFIRMED)).copied().collect();
    for found in [&found, &kept] {
        let at_least = |least: f64| found.iter().filter(|pair| js.get(pair).is_some_and(|j| *j >= least)).count();
        let (precision, recall) = (share(at_least(SIMILAR), found.len()), share(at_least(NEAR), near.len()));
        print!(" {:>5}  {precision:>4} / {recall:>4}", found.len());
    }
    println!();
}

/// The pairs of documents whose fingerprints are near, and that are confirmed.
fn found(set: &Set, is_confirmed: impl Fn(usize, usize) -> bool) -> Vec<(usize, usize)> {
    let near = Nearness::by_radii(10, &[1, 1, 1, 1]).expect("a layout");
    let mut fingerprinter = Fingerprinter::default();
    let mut fingerprint =
        |text: &String| fingerprinter.fingerprint(text, &Options::default(), &|| ()).expect("a fingerprint");
    let fingerprints: Vec<_> = set.texts.iter().map(&mut fingerprint).collect();
    let mut found = Vec::new();
    for b in 0..fingerprints.len() {
        for a in 0..b {
            let is_near = fingerprints[a].zip(fingerprints[b]).is_some_and(|(a, b)| near.contains(a ^ b));
            if is_near && is_confirmed(a, b) {
                found.push((a, b));
            }
        }
    }
    found
}
