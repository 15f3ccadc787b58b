//! What a search by distance or by radii finds where the texts decide: precision and recall by language, and by the
//! number of features of a text.
//!
//! `cargo bench -p simhash --bench relations -- FOLDER...`: the folders hold sets of documents with their true
//! near-duplicates (see quality.rs; benches/debian_sets.py makes some).
//!
//! A pair is found if the fingerprints are near and the texts confirm it, by a resemblance of their features of .89 or
//! more. Precision is the share of the found pairs whose J is .8 or more. Recall is the share of the pairs whose J is
//! .9 or more that are found; "confirmed" is the share that the texts confirm, which no recall can exceed. A pair is in
//! the class of its shorter text, and in the language that the ids begin with.

use std::collections::{BTreeSet, HashMap};
use std::process::ExitCode;

use simhash::Options;
use simhash::fingerprint::Fingerprinter;
use simhash::fingerprint::feature_set::FeatureSet;
use simhash::search::nearness::Nearness;

mod documents;
mod sets;

use sets::{NEAR, SIMILAR, Set, report_each, share};

/// The least resemblance of features that confirms a pair: the default of guards and clusters.
const CONFIRMED: f64 = 0.89;
/// The largest distance of a relation.
const FARTHEST: u32 = 10;
/// The classes of texts by number of features, each with its exclusive upper bound.
const CLASSES: [(&str, usize); 4] =
    [("under 20", 20), ("20 to 49", 50), ("50 to 119", 120), ("120 or more", usize::MAX)];

fn relations() -> Vec<(String, Nearness)> {
    let exact = [3, 6, 8].map(|distance| (format!("exactly {distance}"), Nearness::within(distance)));
    let radii: [&[i32]; 7] =
        [&[0, 0, 0, 0], &[1, 0, 0, 0], &[1, 1, 0, 0], &[1, 1, 1, 1], &[0, 0, 0], &[1, 1, 1], &[0, 0, 0, 0, 0]];
    let by_radii = radii.map(|radii| {
        let near = Nearness::by_radii(FARTHEST.cast_signed(), radii).expect("a layout");
        (radii.iter().map(i32::to_string).collect::<Vec<_>>().join(" "), near)
    });
    exact.into_iter().chain(by_radii).collect()
}

fn main() -> ExitCode {
    report_each(report)
}

/// A pair of documents that may be near, or whose J is .9 or more.
struct Pair {
    a: usize,
    /// The bits in which the fingerprints differ; None if a document has no fingerprint.
    difference: Option<u64>,
    confirmed: bool,
    /// 0 below the least J of the set.
    j: f64,
    features: usize,
}

/// A name, and which pairs belong to it.
type Group<'a> = (&'a str, Box<dyn Fn(&Pair) -> bool + 'a>);

fn report(set: &Set) {
    let pairs = pairs(set);
    println!("{}: {} documents", set.name, set.texts.len());
    let languages: BTreeSet<&str> = set.ids.iter().filter_map(|id| language(id)).collect();
    let mut first = 0;
    let of_class = CLASSES.map(|(name, end)| (name, std::mem::replace(&mut first, end)..end));
    let mut groups: Vec<Group<'_>> = vec![("all", Box::new(|_| true))];
    for (name, range) in of_class {
        groups.push((name, Box::new(move |pair| range.contains(&pair.features))));
    }
    if languages.len() > 1 {
        for &name in &languages {
            groups.push((name, Box::new(move |pair| language(&set.ids[pair.a]) == Some(name))));
        }
    }
    print!("{:<14}", "P / R");
    groups.iter().for_each(|(name, _)| print!(" {name:>11}"));
    print!("\n{:<14}", "J >= .9");
    for (_, is_in) in &groups {
        print!(" {:>11}", pairs.iter().filter(|pair| is_in(pair) && pair.j >= NEAR).count());
    }
    print!("\n{:<14}", "confirmed");
    for (_, is_in) in &groups {
        let near = || pairs.iter().filter(|pair| is_in(pair) && pair.j >= NEAR);
        print!(" {:>11}", share(near().filter(|pair| pair.confirmed).count(), near().count()));
    }
    println!();
    for (name, near) in relations() {
        print!("{name:<14}");
        for (_, is_in) in &groups {
            let is_found =
                |pair: &&Pair| pair.confirmed && pair.difference.is_some_and(|difference| near.contains(difference));
            let group = || pairs.iter().filter(|pair| is_in(pair));
            let precise = share(
                group().filter(is_found).filter(|pair| pair.j >= SIMILAR).count(),
                group().filter(is_found).count(),
            );
            let recalled = share(
                group().filter(is_found).filter(|pair| pair.j >= NEAR).count(),
                group().filter(|pair| pair.j >= NEAR).count(),
            );
            print!("  {precise:>4} /{recalled:>4}");
        }
        println!();
    }
    println!();
}

/// The language of a document: what comes before the first slash of its id, if it is the code of a language.
fn language(id: &str) -> Option<&str> {
    let (language, _) = id.split_once('/')?;
    let letters = language.split('_').next()?;
    (letters.len() == 2 && letters.bytes().all(|byte| byte.is_ascii_lowercase())).then_some(language)
}

fn pairs(set: &Set) -> Vec<Pair> {
    let mut fingerprinter = Fingerprinter::default();
    let options = Options::default();
    let mut fingerprints = Vec::new();
    let mut counts = Vec::new();
    let mut features = Vec::new();
    for text in &set.texts {
        fingerprints.push(fingerprinter.fingerprint(text, &options, &|| ()).expect("a fingerprint"));
        counts.push(fingerprinter.features(text, &options, &|| ()).expect("the features").iter().count());
        features.push(FeatureSet::new(&mut fingerprinter, text, &options, &|| ()).expect("the features"));
    }
    let mut js: HashMap<(usize, usize), f64> =
        set.resembling.iter().map(|&(a, b, j)| ((a.min(b), a.max(b)), j)).collect();
    let pair = |a: usize, b: usize, j: f64| Pair {
        a,
        difference: fingerprints[a].zip(fingerprints[b]).map(|(a, b): (u64, u64)| a ^ b),
        confirmed: features[a]
            .as_ref()
            .zip(features[b].as_ref())
            .is_some_and(|(a, b)| a.resembles(b, CONFIRMED, &|| ())),
        j,
        features: counts[a].min(counts[b]),
    };
    let mut found = Vec::new();
    for b in 0..fingerprints.len() {
        for a in 0..b {
            let distance = fingerprints[a].zip(fingerprints[b]).map(|(a, b)| (a ^ b).count_ones());
            if distance.is_some_and(|distance| distance <= FARTHEST) {
                found.push(pair(a, b, js.remove(&(a, b)).unwrap_or(0.0)));
            }
        }
    }
    found.extend(js.into_iter().filter(|&(_, j)| j >= NEAR).map(|((a, b), j)| pair(a, b, j)));
    found
}
