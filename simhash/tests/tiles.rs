//! Tiles: compared with greedy string tiling as it is defined, and bounded in texts that repeat themselves.
//! `golden/matches.py` is an oracle of matches and their places.

mod shared;

use std::cmp::Reverse;
use std::fmt::Debug;

use proptest::prelude::*;
use shared::calls::with_fingerprinter;
use shared::ticks::Ticks;
use simhash::fingerprint::options::{Markup, Options, Tokens};
use simhash::random::Random;
use simhash::within::matches::{MAX_CHANGED, Unit, matches};
use simhash::within::tiles::{Tile, tile, tiles_of};
use simhash::within::token::{Token, token};

/// A word, which is even, weighs 5, and a letter 3. A run weighs at least 15, or as much as the clue.
fn weight(token: u32) -> usize {
    if token & 1 == 0 { 5 } else { 3 }
}

/// The tiles by the definition: the longest runs first; of these, the first one of the content, and then of the clue.
fn tiles_by_definition(content: &[u32], clue: &[u32]) -> Vec<Tile> {
    let least = clue.iter().map(|token| weight(*token)).sum::<usize>().min(15);
    let mut content: Vec<_> = content.iter().copied().map(Some).collect();
    let mut clue: Vec<_> = clue.iter().copied().map(Some).collect();
    let mut found = Vec::new();
    loop {
        // Of the runs that start with a token of the content and each one of the clue: the lengths and the weights.
        let (mut longest, mut runs) = (None, vec![(0, 0); clue.len() + 1]);
        for (i, own) in content.iter().enumerate().rev() {
            for (j, other) in clue.iter().enumerate() {
                let token = own.filter(|_| own == other);
                runs[j] = token.map_or((0, 0), |token| (runs[j + 1].0 + 1, runs[j + 1].1 + weight(token)));
                if runs[j].1 >= least {
                    longest = longest.max(Some((runs[j].0, Reverse(i), Reverse(j))));
                }
            }
        }
        let Some((length, Reverse(i), Reverse(j))) = longest.filter(|(length, ..)| *length > 0) else { break };
        content[i..][..length].fill(None);
        clue[j..][..length].fill(None);
        found.push(Tile { content: i, clue: j, length });
    }
    found.sort_by_key(|tile| tile.content);
    found
}

/// The tiles of two texts, found with memory for this number of long runs.
fn tiles<T: Token>(mut content: Vec<T>, mut clue: Vec<T>, long_runs: usize) -> Vec<Tile> {
    tile(&mut content, &mut clue, long_runs, &|| ()).expect("memory suffices");
    tiles_of(&content).collect()
}

fn numbers<T: Token>(text: &[u32]) -> Vec<T> {
    text.iter().copied().map(T::new).collect()
}

fn covered(tiles: &[Tile]) -> usize {
    tiles.iter().map(|tile| tile.length).sum()
}

/// Lines of a log: the same words, and a number.
fn log(words: u64, numbers: impl IntoIterator<Item = u64>) -> Vec<u32> {
    let line = |number| (1..=words).chain([100 + number]);
    numbers.into_iter().flat_map(line).map(|hash| token(2 * hash, false)).collect()
}

fn tokens(most: usize) -> impl Strategy<Value = Vec<u32>> {
    let token = (0..5u64, any::<bool>()).prop_map(|(hash, letter)| token(2 + 2 * hash, letter && hash < 2));
    prop::collection::vec(token, 0..most)
}

proptest! {
    #[test]
    fn tiles_match_definition(content in tokens(60), clue in tokens(40), at in 0..40usize) {
        let content = [&content[..], &clue[clue.len().min(at)..]].concat();
        let expected = tiles_by_definition(&content, &clue);
        prop_assert_eq!(tiles(content, clue, 2), expected);
    }

    /// Tokens may have one, two or four bytes. The content has letters that the clue does not have.
    #[test]
    fn tiles_of_letters_match_definition(
        content in prop::collection::vec(1..5u32, 0..200),
        clue in prop::collection::vec(2..5u32, 0..200),
        at in 0..200usize,
    ) {
        let content = [&content[..], &clue[clue.len().min(at)..]].concat();
        let [hashed, other] = [&content, &clue].map(|text| text.iter().map(|letter| 2 * letter + 1).collect::<Vec<_>>());
        let expected = tiles_by_definition(&hashed, &other);
        prop_assert_eq!(&tiles(hashed, other, 2), &expected);
        prop_assert_eq!(&tiles(numbers::<u16>(&content), numbers(&clue), 2), &expected);
        prop_assert_eq!(&tiles(numbers::<u8>(&content), numbers(&clue), 3), &expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// The texts may repeat anything in runs of fewer than 16 tokens.
    #[test]
    fn tiles_of_logs_match_definition(
        words in 3..6u64,
        content in prop::collection::vec(0..90u64, 100),
        clue in prop::collection::vec(0..90u64, 100),
    ) {
        let (content, clue) = (log(words, content), log(words, clue));
        let expected = tiles_by_definition(&content, &clue);
        prop_assert!(tiles(content, clue, 2) == expected);
    }
}

/// Two short texts that repeat a few words, some of which were changed.
fn repeated() -> impl Strategy<Value = [Vec<u32>; 2]> {
    let changes = || (100..190usize, prop::collection::vec((any::<prop::sample::Index>(), 20..22u64), 0..4));
    (prop::collection::vec(1..6u64, 4..20), changes(), changes()).prop_map(|(words, content, clue)| {
        [content, clue].map(|(length, changes)| {
            let mut text: Vec<u64> = words.iter().copied().cycle().take(length).collect();
            changes.into_iter().for_each(|(at, word)| text[at.index(length)] = word);
            text.into_iter().map(|word| token(2 * word, false)).collect()
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn tiles_of_short_repetitions_match_definition([content, clue] in repeated(), long_runs in 2..40usize) {
        let expected = tiles_by_definition(&content, &clue);
        prop_assert_eq!(tiles(content, clue, long_runs), expected);
    }
}

/// Where 16 tokens stand at more than 64 places of the clue, shorter runs may come first, and hardly less is covered.
#[test]
fn repeated_lines_are_covered() {
    for seed in 0..8 {
        let mut random = Random(seed);
        let [content, clue] = [(); 2].map(|()| log(17, (0..90).map(|_| random.next() % 90)));
        let (expected, found) = (covered(&tiles_by_definition(&content, &clue)), covered(&tiles(content, clue, 1000)));
        println!("{found} of {expected} tokens");
        assert!(found * 100 >= expected * 99, "{found} of {expected} tokens");
    }
}

/// Places are correct behind an end tag that ends nothing, line ends of other systems, and entities.
#[test]
fn places_in_html() {
    for (html, expected) in [
        ("<xmp>one two </bb three four five", "three four five"),
        ("<title>\u{e9} </b \u{e9}\u{e9} \u{e9}\u{e9} x</title>", "\u{e9}\u{e9} \u{e9}\u{e9} x"),
        ("<p>a</p>\r\n&amp;\r\nthree &lt;\r\nfour five", "three &lt;\r\nfour five"),
    ] {
        let options = Options { markup: Some(Markup::Html), ..Options::default() };
        let clue = expected.replace("&lt;\r\n", "");
        let found = with_fingerprinter(&options, |reader| matches(reader, html, &clue, MAX_CHANGED, Unit::Bytes));
        let found = found.iter().map(|found| &html[found.content.start as usize..found.content.end as usize]);
        assert!(found.eq([expected]), "{html}");
    }
}

/// Places are correct behind a hyphen and a line break before a mark, which joins the letter before the hyphen.
#[test]
fn places_of_characters() {
    let content = "abcde\u{2010}\n\u{301} xyzuvw qrstu";
    let options = Options { tokens: Tokens::Chars, ..Options::default() };
    let found =
        with_fingerprinter(&options, |reader| matches(reader, content, "xyzuvw qrstu", MAX_CHANGED, Unit::Bytes));
    let found = found.iter().map(|found| &content[found.content.start as usize..found.content.end as usize]);
    assert!(found.eq(["xyzuvw qrstu"]));
}

/// Texts of 300,000 tokens that repeat themselves take seconds at most without optimisation, and tick.
#[test]
fn work_is_bounded() {
    const LENGTH: usize = 300_000;
    let mut random = Random(0);
    let random: Vec<u32> = (0..LENGTH).map(|_| token(2 + random.next() % 4 * 2, false)).collect();
    let periodic =
        |period: usize| -> Vec<u32> { (0..LENGTH).map(|i| token(2 + (i % period) as u64 * 2, false)).collect() };
    let distinct = periodic(LENGTH / 2);
    for (content, clue, least) in [
        (periodic(1), periodic(1), LENGTH),
        (periodic(1), periodic(1000), 0),
        (periodic(7), periodic(8), 0),
        (random.clone(), random.iter().rev().copied().collect(), LENGTH / 2),
        (random.clone(), random, LENGTH),
        // Of a run that stands twice in one text, a part has been taken from the other text.
        ([&distinct[..], &distinct].concat(), [&distinct[..], &distinct[LENGTH / 8..LENGTH / 4]].concat(), LENGTH / 2),
    ] {
        check_work(&content, &clue, least);
        if content.iter().chain(&clue).all(|token| *token < u8::TAKEN) {
            check_work::<u16>(&numbers(&content), &numbers(&clue), least);
            check_work::<u8>(&numbers(&content), &numbers(&clue), least);
        }
    }
}

fn check_work<T: Token + Debug>(content: &[T], clue: &[T], least: usize) {
    let ticks = Ticks::default();
    let (mut left, mut right) = (content.to_vec(), clue.to_vec());
    tile(&mut left, &mut right, 5000, &|| ticks.tick()).expect("memory suffices");
    let found: Vec<_> = tiles_of(&left).collect();
    for tile in &found {
        assert_eq!(content[tile.content..][..tile.length], clue[tile.clue..][..tile.length]);
    }
    assert!(found.windows(2).all(|two| two[0].content + two[0].length <= two[1].content));
    assert!(covered(&found) >= least, "{} runs", found.len());
    assert!((20..3500).contains(&ticks.count()), "{} ticks", ticks.count());
}
