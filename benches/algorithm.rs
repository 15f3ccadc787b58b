//! Throughput of the pure algorithm on one core: MB/s and ns per feature, on real text.
//!
//! `cargo bench --bench algorithm -- FILE.jsonl|FOLDER ...`: each argument is a set of documents, one JSON object with a
//! "text" a line, or every file below a folder. Prints the median of 9 runs of each.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use pg_simhash::simhash::fingerprint::Fingerprinter;
use pg_simhash::simhash::options::Options;

const RUNS: usize = 41;

fn main() {
    let sets: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    println!("{:<40} {:>9} {:>8} {:>8} {:>8} {:>11}", "set", "documents", "MB", "MB/s", "ns/byte", "ns/feature");
    for set in &sets {
        let documents = read(Path::new(set));
        if documents.is_empty() {
            println!("{set:<40} skipped: no documents there");
            continue;
        }
        report(set, &documents);
    }
}

fn report(set: &str, documents: &[String]) {
    let options = Options::default();
    let mut fingerprinter = Fingerprinter::default();
    let bytes: usize = documents.iter().map(String::len).sum();
    let mut features = 0;
    for document in documents {
        features += fingerprinter.features(document, &options, &|| ()).map_or(0, |list| list.into_iter().count());
    }
    let mut seconds: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            for document in documents {
                let _ = black_box(fingerprinter.fingerprint(black_box(document), &options, &|| ()));
            }
            start.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    let median = seconds[RUNS / 2];
    let megabytes = bytes as f64 / 1e6;
    println!(
        "{:<40} {:>9} {:>8.1} {:>8.0} {:>8.2} {:>11.1}",
        set.rsplit('/').next().unwrap_or(set),
        documents.len(),
        megabytes,
        megabytes / median,
        median * 1e9 / bytes as f64,
        median * 1e9 / features as f64,
    );
}

fn read(path: &Path) -> Vec<String> {
    if path.is_dir() {
        let mut documents = Vec::new();
        let Ok(entries) = std::fs::read_dir(path) else { return documents };
        for entry in entries.flatten() {
            let path = entry.path();
            if path.is_dir() && !path.is_symlink() {
                documents.extend(read(&path));
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                documents.push(text);
            }
        }
        return documents;
    }
    let Ok(lines) = std::fs::read_to_string(path) else { return Vec::new() };
    let text = |line: &str| Some(serde_json::from_str::<serde_json::Value>(line).ok()?["text"].as_str()?.to_owned());
    lines.lines().filter_map(text).collect()
}
