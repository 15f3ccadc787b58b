//! The time of a text's fingerprint, size and six bands in one pass, as a ratio to that of the fingerprint alone.
//!
//! `cargo bench -p simhash --bench summary -- FILE.jsonl[.gz]|FOLDER ...`: each argument is a set of documents. Both
//! take turns; the result is the median of the ratios.

use std::hint::black_box;
use std::time::Instant;

use simhash::fingerprint::options::Options;
use simhash::fingerprint::{Fingerprinter, Scratch};

mod documents;

const RUNS: usize = 15;
/// A run repeats its texts until it has processed this many bytes.
const MIN_BYTES: usize = 10_000_000;
const BANDS: usize = 6;

fn main() {
    for (name, texts) in documents::sets() {
        let bytes: usize = texts.iter().map(String::len).sum();
        let passes = MIN_BYTES.div_ceil(bytes);
        let (options, mut scratch) = (Options::default(), Scratch::default());
        let mut fingerprinter = Fingerprinter::new(&mut scratch, &options, &|| ());
        let mut time = |work: &mut dyn FnMut(&mut Fingerprinter, &str)| {
            let start = Instant::now();
            for text in std::iter::repeat_n(&texts, passes).flatten() {
                work(&mut fingerprinter, black_box(text));
            }
            start.elapsed().as_secs_f64() * 1e9 / (passes * bytes) as f64
        };
        let mut runs: Vec<_> = (0..RUNS)
            .map(|_| {
                let alone = time(&mut |fingerprinter, text| {
                    let _ = black_box(fingerprinter.fingerprint(text));
                });
                let all = time(&mut |fingerprinter, text| {
                    let _ = black_box(fingerprinter.summary(text, BANDS));
                });
                (all / alone, alone, all)
            })
            .collect();
        runs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (ratio, alone, all) = runs[RUNS / 2];
        println!("{name}: fingerprint {alone:.2} ns/byte, with size and {BANDS} bands {all:.2}, ratio {ratio:.2}");
    }
}
