//! Passages: compared with their oracle, and with what they promise; golden.rs has the vectors of another
//! implementation.

#[allow(dead_code, reason = "fingerprints have other tests")]
mod oracle;

use std::collections::BTreeSet;

use proptest::prelude::*;
use simhash::Options;
use simhash::fingerprint::Fingerprinter;
use simhash::fingerprint::options::{Markup, Tokens};
use simhash::fingerprint::passages::{self as fast, Found, LENGTHS, Lengths, WINDOW};
use xxhash_rust::xxh3::xxh3_64;

/// Each run of a text as its first token, the token after its last one, and its hash.
fn runs(tokens: &[oracle::Token], lengths: Lengths) -> Vec<(usize, usize, u64)> {
    let hash = |start: usize, end: usize| {
        let hashes: Vec<u8> =
            tokens[start..end].iter().flat_map(|t| xxh3_64(t.text.as_bytes()).to_le_bytes()).collect();
        (start, end, xxh3_64(&hashes))
    };
    let end = |start: usize| start + if tokens[start].spaceless { lengths.spaceless } else { lengths.words };
    let runs = (0..tokens.len()).filter(|start| end(*start) <= tokens.len()).map(|start| hash(start, end(start)));
    let runs: Vec<_> = runs.collect();
    if runs.is_empty() && !tokens.is_empty() { vec![hash(0, tokens.len())] } else { runs }
}

fn passages(text: &str, options: &Options) -> Vec<i64> {
    let hashes: Vec<u64> = runs(&oracle::tokens_of(text, options), LENGTHS).into_iter().map(|run| run.2).collect();
    let smallest = |window: &[u64]| window.iter().min().map(|hash| hash.cast_signed());
    let selected: BTreeSet<i64> = match hashes.len() < WINDOW {
        true => smallest(&hashes).into_iter().collect(),
        false => hashes.windows(WINDOW).filter_map(smallest).collect(),
    };
    selected.into_iter().collect()
}

fn found(text: &str, options: &Options) -> Vec<i64> {
    let found = fast::passages(&mut Fingerprinter::default(), text, options, &|| ());
    found.expect("no limit is reached").into_iter().map(u64::cast_signed).collect()
}

/// Texts of few different tokens, so that runs repeat and hashes are equal.
fn tokens(most: usize) -> impl Strategy<Value = Vec<String>> {
    let token = prop_oneof!["[a-d] ", "[一二三天]", "[A-Z]{1,12}, ", "[0-9]{1,3}", "ก\u{e48}", "[^a]"];
    prop::collection::vec(token, 0..most)
}

proptest! {
    #[test]
    fn passages_are_those_of_the_oracle(text in tokens(80), fold: bool, html: bool, chars: bool) {
        let tokens = if chars { Tokens::Chars } else { Tokens::Words };
        let options = Options { tokens, case_fold: fold, markup: html.then_some(Markup::Html), ..Options::default() };
        let text = text.concat();
        prop_assert_eq!(found(&text, &options), passages(&text, &options));
    }

    /// What stands before and after a clue does not matter, if the clue has so many words. Separate tokens, so that
    /// none joins what is beside it.
    #[test]
    fn certain_clues_are_found(
        before in tokens(40), clue in prop::collection::vec("[a-z]{1,3} |[天地人和]|[0-9]{1,2} ", 4..30), after in tokens(40),
    ) {
        let (clue, options) = (clue.concat(), Options::default());
        let asked = fast::clue(&mut Fingerprinter::default(), &clue, 0., &options, &|| ()).expect("no limit");
        let text = format!("{} {clue} {}", before.concat(), after.concat());
        let passages = fast::passages(&mut Fingerprinter::default(), &text, &options, &|| ()).expect("no limit");
        let is_found = asked.runs.iter().any(|run| passages.contains(run));
        prop_assert!(is_found || asked.found != Found::All);
        prop_assert!(asked.found == Found::All || asked.tokens < LENGTHS.spaceless + WINDOW - 1);
    }
}

#[test]
fn clues_by_length() {
    let clue = |text: &str| {
        fast::clue(&mut Fingerprinter::default(), text, 1., &Options::default(), &|| ()).expect("no limit")
    };
    let words = |count: usize| (0..count).map(|n| format!("w{n} ")).collect::<String>();
    for (count, found) in [(1, Found::Whole), (3, Found::Whole), (4, Found::Most), (10, Found::Most), (11, Found::All)]
    {
        assert_eq!((clue(&words(count)).found, clue(&words(count)).tokens), (found, count));
    }
    let letters: String = (0x4e00..0x4e00 + 13).filter_map(char::from_u32).collect();
    for (count, found) in [(5, Found::Whole), (6, Found::Most), (12, Found::Most), (13, Found::All)] {
        assert_eq!(clue(&letters[..3 * count]).found, found, "{count} letters");
    }
}

/// Whether a text has something in common with what is looked up of a clue of which it must have half.
fn is_found(text: &[String], clue: &[String]) -> bool {
    let (mut fingerprinter, options) = (Fingerprinter::default(), Options::default());
    let asked = fast::clue(&mut fingerprinter, &clue.join(" "), 0.5, &options, &|| ()).expect("no limit");
    assert!(asked.runs.len() < clue.len() / 4, "{} of {} words", asked.runs.len(), clue.len());
    let passages = fast::passages(&mut fingerprinter, &text.join(" "), &options, &|| ()).expect("no limit");
    passages.iter().any(|passage| asked.runs.contains(passage))
}

/// Any 11 words in a row find a long clue too, and so does half of its words if each sixth word of all is changed.
#[test]
fn passages_of_long_clues_find_texts() {
    let words = |name: char, count: usize| -> Vec<String> { (0..count).map(|word| format!("{name}{word}")).collect() };
    let clue = words('c', 2 * fast::MANY_WORDS);
    for start in 0..clue.len() - 11 {
        let text = [&words('a', 20), &clue[start..start + 11], &words('b', 20)].concat();
        assert!(is_found(&text, &clue), "11 words from word {start}");
    }
    for start in 0..clue.len() / 2 {
        let mut text = clue[start..][..clue.len() / 2].to_vec();
        text.iter_mut().step_by(6).for_each(|word| word.push('x'));
        assert!(is_found(&text, &clue), "words from word {start}");
    }
}
