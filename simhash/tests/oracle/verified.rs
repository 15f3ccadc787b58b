//! Verified clusters and duplicates as they are defined: every pair of rows is compared, by the texts themselves.

use simhash::criterion::Criterion;
use simhash::fingerprint::Fingerprinter;
use simhash::fingerprint::options::Options;
use simhash::fingerprint::resemblance::resemblance;

/// A row: its fingerprint and its text.
pub type Row<'a> = (Option<u64>, Option<&'a str>);

/// Whether the criterion takes two rows for near-duplicates, and their distance.
fn edge(a: Row<'_>, b: Row<'_>, criterion: &Criterion, options: &Options) -> Option<u32> {
    let difference = a.0? ^ b.0?;
    let confirmed = match criterion.resemblance {
        None => true,
        Some(least) => resemblance(&mut Fingerprinter::default(), a.1?, b.1?, options, &|| ())
            .expect("memory suffices")
            .is_some_and(|found| found >= least),
    };
    (criterion.near.contains(difference) && confirmed).then_some(difference.count_ones())
}

/// For each row, the first row that it is connected to: the smallest position spreads along the edges until nothing
/// changes.
pub fn clusters(rows: &[Row<'_>], criterion: &Criterion, options: &Options) -> Vec<u32> {
    let mut edges = Vec::new();
    for b in 0..rows.len() {
        edges.extend((0..b).filter(|&a| edge(rows[a], rows[b], criterion, options).is_some()).map(|a| (a, b)));
    }
    let mut names: Vec<u32> = (0..rows.len() as u32).collect();
    loop {
        let before = names.clone();
        for &(a, b) in &edges {
            let least = names[a].min(names[b]);
            (names[a], names[b]) = (least, least);
        }
        if names == before {
            return names;
        }
    }
}

/// For each row, the earlier kept row that it duplicates, the nearest and then the earliest; or itself if it is kept.
pub fn duplicates(rows: &[Row<'_>], criterion: &Criterion, options: &Options) -> Vec<u32> {
    let mut kept: Vec<usize> = Vec::new();
    let mut found = Vec::new();
    for (row, &this) in rows.iter().enumerate() {
        let near = kept.iter().filter_map(|&earlier| Some((edge(rows[earlier], this, criterion, options)?, earlier)));
        match near.min() {
            Some((_, earlier)) => found.push(earlier as u32),
            None => {
                kept.push(row);
                found.push(row as u32);
            }
        }
    }
    found
}
