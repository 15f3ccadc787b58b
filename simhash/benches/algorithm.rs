//! Throughput of the algorithm on one core, on real text: MB/s, ns a byte and ns a feature.
//!
//! `cargo bench -p simhash --bench algorithm -- FILE.jsonl[.gz]|FOLDER ...`: each argument is a set of documents,
//! either one JSON object with "id" and "text" a line, or every file in and below a folder. The sets take turns; the
//! result is the median of all runs.

use std::hint::black_box;
use std::time::Instant;

use simhash::fingerprint::options::Options;
use simhash::fingerprint::{Fingerprinter, Scratch};

mod documents;

const RUNS: usize = 15;
/// A run repeats its texts until it has processed this many bytes.
const MIN_BYTES: usize = 20_000_000;

fn main() {
    let mut sets: Vec<Set> = documents::sets().map(|(name, texts)| Set::new(name, texts)).collect();
    for _ in 0..RUNS {
        sets.iter_mut().for_each(Set::run);
    }
    println!(
        "{:<24} {:>9} {:>8} {:>9} {:>9} {:>9} {:>9} {:>11}",
        "set", "documents", "MB", "MB/s", "slowest", "fastest", "ns/byte", "ns/feature"
    );
    sets.iter_mut().for_each(Set::report);
}

/// A set of documents, and the seconds that each run has taken for them.
struct Set {
    name: String,
    texts: Vec<String>,
    bytes: usize,
    features: usize,
    seconds: Vec<f64>,
}

impl Set {
    fn new(name: String, texts: Vec<String>) -> Self {
        let bytes = texts.iter().map(String::len).sum();
        let mut scratch = Scratch::default();
        let count = |text: &String| {
            let list = Fingerprinter::new(&mut scratch, &Options::default(), &|| ()).features(text);
            list.map_or(0, |list| list.iter().count())
        };
        let features = texts.iter().map(count).sum();
        Self { name, texts, bytes, features, seconds: Vec::new() }
    }

    fn run(&mut self) {
        let options = Options::default();
        let mut scratch = Scratch::default();
        let passes = MIN_BYTES.div_ceil(self.bytes);
        let start = Instant::now();
        for text in std::iter::repeat_n(&self.texts, passes).flatten() {
            let _ = black_box(Fingerprinter::new(&mut scratch, &options, &|| ()).fingerprint(black_box(text)));
        }
        self.seconds.push(start.elapsed().as_secs_f64() / passes as f64);
    }

    /// Prints the results. Sorts the times of the runs.
    fn report(&mut self) {
        self.seconds.sort_by(f64::total_cmp);
        let speed = |seconds: f64| self.bytes as f64 / 1e6 / seconds;
        let median = self.seconds[RUNS / 2];
        println!(
            "{:<24} {:>9} {:>8.1} {:>9.0} {:>9.0} {:>9.0} {:>9.2} {:>11.1}",
            self.name,
            self.texts.len(),
            self.bytes as f64 / 1e6,
            speed(median),
            speed(self.seconds[RUNS - 1]),
            speed(self.seconds[0]),
            median * 1e9 / self.bytes as f64,
            median * 1e9 / self.features as f64,
        );
    }
}
