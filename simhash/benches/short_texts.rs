//! What a guard or a search finds among short texts, by the least resemblance that confirms a pair: by words, by pairs
//! of words and by characters.
//!
//! `cargo bench -p simhash --bench short_texts -- FOLDER...`: the folders hold sets of documents with their true
//! near-duplicates (see quality.rs; benches/debian_sets.py makes some).
//!
//! A pair is found if its fingerprints differ in at most 10 bits, and some of four blocks in at most one, and its texts
//! have the resemblance. Precision is the share of the found pairs whose J is .8 or more. Recall is the share of the
//! pairs whose J is .9 or more that are found; "near" is the share of these whose fingerprints are near, which no
//! recall can exceed. "Proposed" is the number of all pairs whose fingerprints are near: so many texts are compared.
//! "Equal" are the pairs whose fingerprints are equal.
//!
//! Each document is cut: its beginning with 8, 15, 25 and 40 features, up to the next space. Of beginnings that are
//! equal but for case and punctuation, only one is kept. Their J is computed of the beginnings themselves, as that of
//! whole documents: the Jaccard resemblance of the sets of 5-character shingles. J counts characters, so it favours
//! resemblances of characters a little. Whole documents have the J of their set; a pair is in the class of its shorter
//! text.

use std::collections::{HashMap, HashSet};
use std::process::ExitCode;

use serde_json::{Value, json};
use simhash::Options;
use simhash::fingerprint::Fingerprinter;
use simhash::fingerprint::feature_set::FeatureSet;
use simhash::search::nearness::Nearness;
use simhash::text::normalise::normalise;

mod documents;
mod sets;

use sets::{NEAR, SIMILAR, Set, report_each, share};

/// Numbers of features of the beginnings.
const SIZES: [usize; 4] = [8, 15, 25, 40];
/// The classes of whole texts by number of features, each with its exclusive upper bound.
const CLASSES: [(&str, usize); 5] = [
    ("whole, under 12 features", 12),
    ("whole, 12 to 19 features", 20),
    ("whole, 20 to 29 features", 30),
    ("whole, 30 to 49 features", 50),
    ("whole, 50 features or more", usize::MAX),
];
/// Limits of the resemblance.
const LIMITS: [f64; 7] = [0.70, 0.75, 0.80, 0.85, 0.89, 0.90, 0.95];
/// Characters in a shingle of J.
const SHINGLE: usize = 5;

/// How texts are fingerprinted and compared: a name, and the options of both.
fn choices() -> Vec<(&'static str, Value, Value)> {
    let characters = |ngram: u8| json!({"tokens": "chars", "ngram": ngram});
    vec![
        ("words", json!({}), json!({})),
        ("words, then pairs of words", json!({}), json!({"ngram": 2})),
        ("words, then 3 characters", json!({}), characters(3)),
        ("words, then 4 characters", json!({}), characters(4)),
        ("words, then 5 characters", json!({}), characters(5)),
        ("4 characters", characters(4), characters(4)),
    ]
}

type Pair = (usize, usize);

/// Numbers of pairs.
#[derive(Clone, Copy, Default)]
struct Found {
    all: usize,
    /// Those whose J is [`SIMILAR`] or more.
    right: usize,
    /// Those whose J is [`NEAR`] or more.
    near: usize,
}

/// The pairs of a class, and of these the ones that each choice finds.
#[derive(Clone, Default)]
struct Class {
    texts: usize,
    /// The pairs whose J is [`SIMILAR`] or more.
    pairs: Found,
    /// Near pairs whose numbers differ.
    other_numbers: usize,
    choices: Vec<Choice>,
}

#[derive(Clone, Copy, Default)]
struct Choice {
    candidates: Found,
    equal: Found,
    at: [Found; LIMITS.len()],
}

fn main() -> ExitCode {
    let mut totals: Vec<(String, Class)> = Vec::new();
    let status = report_each(|set| {
        let found = classes_of(set);
        found.iter().filter(|(_, class)| class.pairs.all > 0).for_each(|(title, class)| class.print(&set.name, title));
        totals.resize_with(found.len(), Default::default);
        for (total, (title, class)) in totals.iter_mut().zip(found) {
            total.0 = title;
            total.1.add(&class);
        }
    });
    totals.iter().for_each(|(title, class)| class.print("all sets", title));
    status
}

/// The classes of the beginnings of a set's documents, and of the documents, with their titles.
fn classes_of(set: &Set) -> Vec<(String, Class)> {
    let of_beginnings = SIZES.map(|size| {
        let texts = distinct(set.texts.iter().filter_map(|text| beginning(text, size)));
        let counts = vec![size; texts.len()];
        let [class] = classes(&texts, &counts, &resembling(&texts), [usize::MAX]);
        (format!("cut to {size} features"), class)
    });
    let texts: Vec<&str> = set.texts.iter().map(String::as_str).collect();
    let counts: Vec<usize> = texts.iter().map(|text| features(text)).collect();
    let js = set.resembling.iter().filter(|(_, _, j)| *j >= SIMILAR).map(|&(a, b, j)| ((a.min(b), a.max(b)), j));
    let of_documents = classes(&texts, &counts, &js.collect(), CLASSES.map(|(_, end)| end));
    let titles = CLASSES.iter().map(|(title, _)| (*title).to_owned());
    of_beginnings.into_iter().chain(titles.zip(of_documents)).collect()
}

/// What the choices find among texts, for each class of numbers of features: the first class whose end is larger.
fn classes<const N: usize>(texts: &[&str], counts: &[usize], js: &HashMap<Pair, f64>, ends: [usize; N]) -> [Class; N] {
    let mut found: [Class; N] = std::array::from_fn(|_| Class::default());
    let of_count = |count: usize| ends.iter().position(|end| count < *end).expect("the last end is the largest number");
    let of_pair = |(a, b): Pair| of_count(counts[a].min(counts[b]));
    let j = |pair: Pair| js.get(&pair).copied().unwrap_or(0.0);
    counts.iter().for_each(|count| found[of_count(*count)].texts += 1);
    let same_numbers = sets_of(texts, &json!({"numbers": "same"}));
    for (&pair, &j) in js {
        let class = &mut found[of_pair(pair)];
        class.pairs.count(j);
        class.other_numbers += usize::from(j >= NEAR && !resemble(&same_numbers, pair, f64::MIN_POSITIVE));
    }
    let mut near = HashMap::new();
    for (number, (_, fingerprint, comparison)) in choices().iter().enumerate() {
        let candidates = near.entry(fingerprint.to_string()).or_insert_with(|| near_pairs(texts, fingerprint));
        let sets = sets_of(texts, comparison);
        found.iter_mut().for_each(|class| class.choices.push(Choice::default()));
        for &(pair, distance) in candidates.iter() {
            let choice = &mut found[of_pair(pair)].choices[number];
            choice.candidates.count(j(pair));
            if distance == 0 {
                choice.equal.count(j(pair));
            }
            for (at, _) in choice.at.iter_mut().zip(LIMITS).filter(|(_, limit)| resemble(&sets, pair, *limit)) {
                at.count(j(pair));
            }
        }
    }
    found
}

impl Found {
    fn count(&mut self, j: f64) {
        self.add(Self { all: 1, right: usize::from(j >= SIMILAR), near: usize::from(j >= NEAR) });
    }

    fn add(&mut self, other: Self) {
        self.all += other.all;
        self.right += other.right;
        self.near += other.near;
    }

    fn figures(self, wanted: usize) -> String {
        format!("{:>4} /{:>4}", share(self.right, self.all), share(self.near, wanted))
    }
}

impl Class {
    fn add(&mut self, other: &Self) {
        self.texts += other.texts;
        self.pairs.add(other.pairs);
        self.other_numbers += other.other_numbers;
        self.choices.resize(other.choices.len(), Choice::default());
        for (own, other) in self.choices.iter_mut().zip(&other.choices) {
            own.candidates.add(other.candidates);
            own.equal.add(other.equal);
            own.at.iter_mut().zip(other.at).for_each(|(own, other)| own.add(other));
        }
    }

    fn print(&self, name: &str, title: &str) {
        let wanted = self.pairs.near;
        println!(
            "{name}, {title}: {} texts; pairs with J >= .8: {}, with J >= .9: {wanted}, of these with other numbers: {}",
            self.texts, self.pairs.all, self.other_numbers,
        );
        print!("{:<26} {:>8} {:>4}  {:>10}", "P / R", "proposed", "near", "equal");
        LIMITS.iter().for_each(|limit| print!("  {:>10}", format!("{limit:.2}")));
        println!();
        for ((name, ..), choice) in choices().iter().zip(&self.choices) {
            let Choice { candidates, equal, at } = choice;
            let (proposed, near) = (candidates.all, share(candidates.near, wanted));
            print!("{name:<26} {proposed:>8} {near:>4}  {}", equal.figures(wanted));
            at.iter().for_each(|found| print!("  {}", found.figures(wanted)));
            println!();
        }
        println!();
    }
}

fn options(options: &Value) -> Options {
    Options::from_json(&options.to_string()).expect("valid options")
}

/// The number of features of a text.
fn features(text: &str) -> usize {
    Fingerprinter::default().features(text, &Options::default(), &|| ()).expect("the features").iter().count()
}

/// The beginning of a text with so many features, up to the next space or letter without spaces; None if the text is
/// shorter.
fn beginning(text: &str, size: usize) -> Option<&str> {
    let is_letter = |c: char| u32::from(c) >= 0x2e80;
    let ends = text.char_indices().filter(|(_, c)| c.is_whitespace() || is_letter(*c));
    let ends = ends.map(|(at, c)| at + if is_letter(c) { c.len_utf8() } else { 0 });
    ends.chain([text.len()]).map(|end| &text[..end]).find(|beginning| features(beginning) >= size)
}

/// A text as J reads it.
fn normalised(text: &str) -> String {
    let mut normal = String::new();
    normalise(text, true, &mut normal, &|| ()).expect("a normal form");
    let words = normal.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// The first of the texts that are equal as J reads them, without texts that have no shingle.
fn distinct<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<&'t str> {
    let mut seen = HashSet::new();
    texts
        .filter(|text| Some(normalised(text)).filter(|t| t.chars().count() >= SHINGLE).is_some_and(|t| seen.insert(t)))
        .collect()
}

/// The pairs of texts whose J is at least [`SIMILAR`], with J. Sets that resemble each other share one of their rarest
/// shingles (Chaudhuri, Ganti, Kaushik, ICDE 2006).
fn resembling(texts: &[&str]) -> HashMap<Pair, f64> {
    let mut numbers = HashMap::new();
    let mut frequencies = Vec::new();
    let mut shingles: Vec<Vec<usize>> = Vec::new();
    for text in texts {
        let characters: Vec<char> = normalised(text).chars().collect();
        let own: HashSet<&[char]> = characters.windows(SHINGLE).collect();
        shingles.push(Vec::new());
        for shingle in own {
            let number = *numbers.entry(shingle.to_vec()).or_insert(frequencies.len());
            frequencies.resize(frequencies.len().max(number + 1), 0);
            frequencies[number] += 1;
            shingles.last_mut().expect("pushed").push(number);
        }
    }
    shingles.iter_mut().for_each(|own| own.sort_unstable_by_key(|&shingle| (frequencies[shingle], shingle)));
    let mut by_size: Vec<usize> = (0..texts.len()).collect();
    by_size.sort_by_key(|&text| shingles[text].len());
    let mut having: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut found = HashMap::new();
    for b in by_size {
        let own = &shingles[b];
        let rarest = &own[..own.len() - (SIMILAR * own.len() as f64).ceil() as usize + 1];
        let others: HashSet<usize> = rarest.iter().flat_map(|shingle| having.get(shingle)).flatten().copied().collect();
        let set: HashSet<usize> = own.iter().copied().collect();
        for a in others {
            let common = shingles[a].iter().filter(|shingle| set.contains(shingle)).count();
            let j = common as f64 / (own.len() + shingles[a].len() - common) as f64;
            if j >= SIMILAR {
                found.insert((a.min(b), a.max(b)), j);
            }
        }
        rarest.iter().for_each(|shingle| having.entry(*shingle).or_default().push(b));
    }
    found
}

/// The pairs of texts whose fingerprints are near, with their distance.
fn near_pairs(texts: &[&str], with: &Value) -> Vec<(Pair, u32)> {
    let near = Nearness::by_radii(10, &[1, 1, 1, 1]).expect("a layout");
    let (mut fingerprinter, options) = (Fingerprinter::default(), options(with));
    let fingerprints: Vec<Option<u64>> =
        texts.iter().map(|text| fingerprinter.fingerprint(text, &options, &|| ()).expect("a fingerprint")).collect();
    let mut found = Vec::new();
    for b in 0..texts.len() {
        for a in 0..b {
            let difference = fingerprints[a].zip(fingerprints[b]).map(|(a, b)| a ^ b);
            found.extend(difference.filter(|d| near.contains(*d)).map(|d| ((a, b), d.count_ones())));
        }
    }
    found
}

fn sets_of(texts: &[&str], with: &Value) -> Vec<Option<FeatureSet>> {
    let (mut fingerprinter, options) = (Fingerprinter::default(), options(with));
    let mut read = |text: &&str| FeatureSet::new(&mut fingerprinter, text, &options, &|| ()).expect("the features");
    texts.iter().map(&mut read).collect()
}

fn resemble(sets: &[Option<FeatureSet>], (a, b): Pair, least: f64) -> bool {
    sets[a].as_ref().zip(sets[b].as_ref()).is_some_and(|(a, b)| a.resembles(b, least, &|| ()))
}
