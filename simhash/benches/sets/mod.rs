//! Reads the sets of documents whose near-duplicates are known: `NAME.jsonl.gz` and `NAME.pairs.tsv.gz` (see
//! quality.rs).

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use crate::documents;

/// A found pair counts as right if it has at least this resemblance.
pub const SIMILAR: f64 = 0.8;
/// A pair of at least this resemblance should be found.
pub const NEAR: f64 = 0.9;

/// Documents with their true near-duplicates.
pub struct Set {
    pub name: String,
    pub texts: Vec<String>,
    /// Pairs of documents, with their resemblance J.
    pub resembling: Vec<(usize, usize, f64)>,
}

impl Set {
    /// The number of pairs with at least this J.
    pub fn pairs_from(&self, least: f64) -> usize {
        self.resembling.iter().filter(|pair| pair.2 >= least).count()
    }
}

/// Reports on each set in the folders that are the program's arguments.
#[allow(dead_code, reason = "not every benchmark has folders alone as arguments")]
pub fn report_each(mut report: impl FnMut(&Set)) -> ExitCode {
    for folder in std::env::args().skip(1).filter(|argument| argument != "--bench") {
        match read_sets(Path::new(&folder)) {
            Ok(sets) => sets.iter().for_each(&mut report),
            Err(error) => {
                eprintln!("cannot read {folder}: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

/// The sets in a folder, by name.
pub fn read_sets(folder: &Path) -> io::Result<Vec<Set>> {
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
