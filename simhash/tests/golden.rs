//! Golden vectors fix the stored formats: fingerprints, features, blocks, bands and passages. An independent
//! implementation, in Python and with other tables of Unicode, computed them from the definition alone: that of bands
//! is `golden/bands.py`, that of passages `golden/passages.py`. The oracle confirms them.
//!
//! To add a vector, add a line without results. The tests fail, and say what the oracle computes. For bands and
//! passages, run their script first.

#[path = "golden/entries.rs"]
mod entries;
#[allow(dead_code, reason = "passages have a test of their own")]
mod oracle;

use entries::{entries, text};
use serde_json::{Value, json};
use simhash::fingerprint::difference::{containment, difference};
use simhash::fingerprint::feature_list::{Feature, FeatureList};
use simhash::fingerprint::options::Options;
use simhash::fingerprint::resemblance::resemblance;
use simhash::fingerprint::{Fingerprinter, Scratch};
use simhash::search::blocks::{Block, Probed, radius};
use simhash::within::matches::{MAX_CHANGED, Match, Unit, coverage, matches};
use simhash::within::passages::{contains, passages as passages_of};

fn options(entry: &Value) -> Options {
    match &entry["options"] {
        Value::Null => Options::default(),
        options => Options::from_json(&options.to_string()).unwrap_or_else(|error| panic!("{entry}: {error:?}")),
    }
}

#[test]
fn fingerprints_match_vectors() {
    let entries = entries(include_str!("golden/golden.jsonl"));
    assert!(entries.len() >= 60, "only {} golden texts", entries.len());
    let (mut scratch, mut with_passages) = (Scratch::default(), 0);
    for entry in entries {
        let name = &entry["name"];
        let (text, options) = (text(&entry), options(&entry));
        let mut fingerprinter = Fingerprinter::new(&mut scratch, &options, &|| ());
        assert_eq!(oracle::fingerprint(&text, &options).map(u64::cast_signed), entry["fingerprint"].as_i64(), "{name}");
        let fingerprint = fingerprinter.fingerprint(&text).expect(&text);
        assert_eq!(fingerprint.map(u64::cast_signed), entry["fingerprint"].as_i64(), "{name}");
        if let Some(other) = entry["with"].as_str() {
            assert_eq!(oracle::resemblance(&text, other, &options), entry["resemblance"].as_f64(), "{name}");
            let found = resemblance(&mut fingerprinter, &text, other).expect(&text);
            assert_eq!(found, entry["resemblance"].as_f64(), "{name}");
            let found = containment(&mut fingerprinter, &text, other).expect(&text);
            assert_eq!(found, entry["containment"].as_f64(), "{name}");
            let lists = difference(&mut fingerprinter, &text, other).expect(&text);
            let of_side = |(side, list): (&str, &FeatureList)| -> Vec<Value> {
                let weight = |feature: &Feature| feature.weight as f64 / list.unit_weight() as f64;
                list.iter().map(|feature| json!([side, feature.text, weight(&feature)])).collect()
            };
            let found: Vec<Value> = ["a", "b"].into_iter().zip(&lists).flat_map(of_side).collect();
            assert_eq!(Value::from(found), entry["difference"], "{name}");
        }
        let summary = fingerprinter.summary(&text, 0).expect(&text);
        assert_eq!(summary.map(|summary| summary.size.into()), entry["size"].as_i64(), "{name}");
        if let Some(passages) = entry["passages"].as_array() {
            let expected: Vec<i64> = passages.iter().flat_map(Value::as_i64).collect();
            let found = passages_of(&mut fingerprinter, &text).expect(&text);
            assert_eq!(found.into_iter().map(u64::cast_signed).collect::<Vec<_>>(), expected, "{name}");
            with_passages += 1;
        }
        let features = fingerprinter.features(&text).expect(&text);
        assert_eq!(Some(features.iter().count() as u64), entry["features"].as_u64(), "{name}");
    }
    assert!(with_passages >= 60, "only {with_passages} golden texts with passages");
}

#[test]
fn matches_match_vectors() {
    for entry in entries(include_str!("golden/matches.jsonl")) {
        let [content, clue] = ["content", "clue"].map(|key| entry[key].as_str().expect(key));
        let (name, options) = (&entry["name"], options(&entry));
        let mut scratch = Scratch::default();
        let mut fingerprinter = Fingerprinter::new(&mut scratch, &options, &|| ());
        let share = coverage(&mut fingerprinter, content, clue).expect("no limit");
        assert_eq!(share, entry["coverage"].as_f64(), "{name}");
        let unit = Unit::Characters;
        let found = matches(&mut fingerprinter, content, clue, MAX_CHANGED, unit).expect("no limit");
        let found: Vec<Value> = found
            .into_iter()
            .map(|Match { content, clue, words, changed }| {
                json!([content.start, content.end, clue.start, clue.end, words, changed])
            })
            .collect();
        assert_eq!(Value::from(found), entry["matches"], "{name}");
        if let Some(expected) = entry["contains"].as_bool() {
            let contains = contains(&mut fingerprinter, content, clue, 0.6).expect("no limit");
            assert_eq!(contains, Ok(expected), "{name}");
        }
    }
}

#[test]
fn bands_match_vectors() {
    assert_eq!(simhash::BAND_FORMAT, 1);
    let entries = entries(include_str!("golden/bands.jsonl"));
    assert!(entries.len() >= 60, "only {} golden bands", entries.len());
    let mut scratch = Scratch::default();
    for entry in entries {
        let (name, text, options) = (&entry["name"], text(&entry), options(&entry));
        let expected: Option<Vec<i64>> =
            entry["bands"].as_array().map(|all| all.iter().flat_map(Value::as_i64).collect());
        let count = expected.as_ref().map_or(6, Vec::len);
        let widened = |bands: Vec<i32>| bands.into_iter().map(i64::from).collect::<Vec<_>>();
        assert_eq!(oracle::bands::bands(&text, &options, count).map(widened), expected, "{name}");
        let mut fingerprinter = Fingerprinter::new(&mut scratch, &options, &|| ());
        let found = fingerprinter.summary(&text, count).expect(&text);
        assert_eq!(found.as_ref().map(|found| found.size.into()), entry["size"].as_i64(), "{name}");
        assert_eq!(found.map(|found| widened(found.bands)), expected, "{name}");
    }
}

#[test]
fn blocks_match_vectors() {
    let entries = entries(include_str!("golden/blocks.jsonl"));
    assert!(entries.len() >= 60, "only {} golden blocks", entries.len());
    for entry in entries {
        let number = |key: &str| entry[key].as_i64().unwrap_or_else(|| panic!("{key} in {entry}"));
        let fingerprint = number("fingerprint").cast_unsigned();
        let (number_of_block, blocks) = (number("block") as i32, number("blocks") as i32);
        let block = Block::new(number_of_block, blocks).expect("a block of the layout");
        if let Some(value) = entry.get("value") {
            assert_eq!(Some(i64::from(block.value(fingerprint))), value.as_i64(), "{entry}");
        } else {
            let radius = radius(number_of_block, blocks, number("max_distance") as i32);
            let probed = radius.map(|radius| Probed { block, radius });
            let mut probes: Vec<i32> = probed.into_iter().flat_map(|probed| probed.probes(fingerprint)).collect();
            assert_eq!(probes.len() as u64, probed.map_or(0, Probed::probe_count), "{entry}");
            probes.sort_unstable();
            let expected: Vec<i64> =
                entry["probes"].as_array().expect("probes").iter().flat_map(Value::as_i64).collect();
            assert_eq!(probes.into_iter().map(i64::from).collect::<Vec<_>>(), expected, "{entry}");
        }
    }
}
