//! Passages: compared with their oracle, and with what they promise; golden.rs has the vectors of another
//! implementation.

#[allow(dead_code, reason = "fingerprints have other tests")]
mod oracle;
mod shared;

use std::cmp::Reverse;
use std::collections::BTreeSet;

use proptest::prelude::*;
use shared::calls::with_fingerprinter;
use simhash::Options;
use simhash::fingerprint::options::{Markup, Tokens};
use simhash::fingerprint::{Fingerprinter, Scratch};
use simhash::within::passages::{self as fast, CERTAIN_LETTERS, Found, Length};
use xxhash_rust::xxh3::xxh3_64;

/// The length and the hash of each run of a text.
fn runs(tokens: &[oracle::Token]) -> Vec<(usize, u64)> {
    let hash = |tokens: &[oracle::Token]| {
        let hashes: Vec<u8> = tokens.iter().flat_map(|token| xxh3_64(token.text.as_bytes()).to_le_bytes()).collect();
        (tokens.len(), xxh3_64(&hashes))
    };
    let letters = |tokens: &[oracle::Token]| tokens.iter().map(|token| token.text.chars().count()).sum::<usize>();
    let run = |start: usize| match &tokens[start..] {
        rest if rest[0].is_spaceless => rest.get(..5),
        rest => rest.get(..3).filter(|three| letters(three) >= 13).or(rest.get(..4)),
    };
    let runs: Vec<_> = (0..tokens.len()).filter_map(run).map(hash).collect();
    if runs.is_empty() && !tokens.is_empty() { vec![hash(tokens)] } else { runs }
}

fn passages(text: &str, options: &Options) -> Vec<i64> {
    let runs = runs(&oracle::tokens_of(text, options));
    let last = runs.len().saturating_sub(8);
    let mut selected: BTreeSet<usize> = (0..=last)
        .filter_map(|start| {
            let is_in = |run: &usize| *run < start + 8 || (*run == start + 8 && runs[*run].0 != 4);
            (start..runs.len()).filter(is_in).min_by_key(|run| (runs[*run].1, Reverse(*run)))
        })
        .collect();
    let ends = selected.iter().copied().chain((!runs.is_empty()).then_some(runs.len()));
    let mut previous = -1;
    for run in ends.map(|run| run as isize).collect::<Vec<_>>() {
        if run - previous > 5 {
            selected.insert((previous + (run - previous) / 2) as usize);
        }
        previous = run;
    }
    let hashes: BTreeSet<i64> = selected.into_iter().map(|run| runs[run].1.cast_signed()).collect();
    hashes.into_iter().collect()
}

fn fast_passages(text: &str, options: &Options) -> Vec<i64> {
    let found = with_fingerprinter(options, |fingerprinter| fast::passages(fingerprinter, text));
    found.into_iter().map(u64::cast_signed).collect()
}

/// Texts of few different tokens, so that runs repeat and hashes are equal.
fn tokens(most: usize) -> impl Strategy<Value = Vec<String>> {
    let token = prop_oneof!["[a-d] ", "[一二三天]", "[A-Z]{1,12}, ", "[0-9]{1,3}", "ก\u{e48}", "[^a]"];
    prop::collection::vec(token, 0..most)
}

proptest! {
    #[test]
    fn passages_match_oracle(text in tokens(80), fold: bool, html: bool, chars: bool) {
        let tokens = if chars { Tokens::Chars } else { Tokens::Words };
        let options = Options { tokens, case_fold: fold, markup: html.then_some(Markup::Html), ..Options::default() };
        let text = text.concat();
        prop_assert_eq!(fast_passages(&text, &options), passages(&text, &options));
    }

    /// What stands before and after a clue of CERTAIN_LETTERS words and letters does not matter. Tokens are separate,
    /// so that none joins what is beside it.
    #[test]
    fn certain_clues_are_found(
        before in tokens(40), clue in prop::collection::vec("[a-z]{1,9} |[天地人和]|[0-9]{1,2} ", 4..30), after in tokens(40),
    ) {
        let (clue, options) = (clue.concat(), Options::default());
        let searched = with_fingerprinter(&options, |fingerprinter| fast::Clue::new(fingerprinter, &clue, 0.));
        let passages = fast_passages(&format!("{} {clue} {}", before.concat(), after.concat()), &options);
        let is_found = searched.runs.iter().any(|run| passages.contains(&run.cast_signed()));
        prop_assert!(is_found || searched.found != Found::All);
        prop_assert!(searched.found == Found::All || searched.length.words + searched.length.letters < CERTAIN_LETTERS);
    }

    /// Two texts that have 11 words in a row in common, or 13 words and letters, have a passage in common.
    #[test]
    fn texts_share_passages(
        around in prop::collection::vec(tokens(40), 4), words in prop::collection::vec("[a-z]{1,9} ", 11),
        mixed in prop::collection::vec("[a-z]{1,9} |[天地人和]|[0-9]{1,2} ", 13),
    ) {
        for shared in [words.concat(), mixed.concat()] {
            let text = |sides: &[Vec<String>]| format!("{} {shared} {}", sides[0].concat(), sides[1].concat());
            let [a, b] = [&around[..2], &around[2..]].map(|sides| fast_passages(&text(sides), &Options::default()));
            prop_assert!(a.iter().any(|passage| b.contains(passage)), "{}", shared);
        }
    }
}

#[test]
fn clues_by_length() {
    let clue =
        |text: &str| with_fingerprinter(&Options::default(), |fingerprinter| fast::Clue::new(fingerprinter, text, 1.));
    let words = |count: usize| (0..count).map(|n| format!("w{n} ")).collect::<String>();
    for (count, found) in [(1, Found::Few), (3, Found::Few), (4, Found::Most), (7, Found::Most), (8, Found::All)] {
        let clue = clue(&words(count));
        assert_eq!((clue.found, clue.length), (found, Length { words: count, letters: 0 }));
    }
    assert_eq!(clue("three longest words").found, Found::Few, "a run of its own");
    assert_eq!(clue("seven words that stand within longer runs").found, Found::All);
    let letters: String = (0x4e00..0x4e00 + 9).filter_map(char::from_u32).collect();
    for (count, found) in [(4, Found::Few), (5, Found::Most), (8, Found::Most), (9, Found::All)] {
        assert_eq!(clue(&letters[..3 * count]).found, found, "{count} letters");
    }
}

/// Whether a text has one of the runs by which a search for half of the clue looks it up.
fn is_found(text: &[String], clue: &[String]) -> bool {
    let (mut scratch, options) = (Scratch::default(), Options::default());
    let mut fingerprinter = Fingerprinter::new(&mut scratch, &options, &|| ());
    let searched = fast::Clue::new(&mut fingerprinter, &clue.join(" "), 0.5).expect("no limit");
    assert!(searched.runs.len() < clue.len() / 4, "{} of {} words", searched.runs.len(), clue.len());
    let passages = fast::passages(&mut fingerprinter, &text.join(" ")).expect("no limit");
    passages.iter().any(|passage| searched.runs.contains(passage))
}

/// A long clue finds each text that has 11 of its words in a row, or half of its words with every sixth one changed.
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
