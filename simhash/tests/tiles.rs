//! Tiles: compared with greedy string tiling as it is defined, and bounded in texts that repeat themselves.
//! `golden/matches.py` is an oracle of matches and their places.

use std::cell::Cell;
use std::cmp::Reverse;

use proptest::prelude::*;
use simhash::fingerprint::Fingerprinter;
use simhash::fingerprint::matches::{MAX_CHANGED, Unit, matches};
use simhash::fingerprint::options::{Markup, Options};
use simhash::fingerprint::tiles::{Tile, Token, tiles, token};
use simhash::random::Random;

fn weight(token: Token) -> usize {
    if token & 1 == 0 { 5 } else { 3 }
}

/// The longest runs first, of these the first one of the content, then of the clue.
fn naive(content: &[Token], clue: &[Token]) -> Vec<Tile> {
    let least = clue.iter().map(|token| weight(*token)).sum::<usize>().min(15);
    let mut content: Vec<_> = content.iter().copied().map(Some).collect();
    let mut clue: Vec<_> = clue.iter().copied().map(Some).collect();
    let mut found = Vec::new();
    loop {
        let run = |i: usize, j: usize| {
            let pairs = content[i..].iter().zip(&clue[j..]);
            let run: Vec<Token> = pairs.map_while(|(own, other)| own.filter(|_| own == other)).collect();
            Tile {
                content: i,
                clue: j,
                length: run.len() * usize::from(run.into_iter().map(weight).sum::<usize>() >= least),
            }
        };
        let starts = (0..content.len()).flat_map(|i| (0..clue.len()).map(move |j| (i, j)));
        let longest = starts.map(|(i, j)| run(i, j)).filter(|tile| tile.length > 0);
        let Some(tile) = longest.min_by_key(|tile| (Reverse(tile.length), tile.content, tile.clue)) else { break };
        content[tile.content..][..tile.length].fill(None);
        clue[tile.clue..][..tile.length].fill(None);
        found.push(tile);
    }
    found.sort_by_key(|tile| tile.content);
    found
}

fn tokens(most: usize) -> impl Strategy<Value = Vec<Token>> {
    let token = (0..5u64, any::<bool>()).prop_map(|(hash, letter)| token(2 + 2 * hash, letter && hash < 2));
    prop::collection::vec(token, 0..most)
}

proptest! {
    #[test]
    fn tiles_are_those_of_the_definition(content in tokens(60), clue in tokens(40), at in 0..40usize) {
        let content = [&content[..], &clue[clue.len().min(at)..]].concat();
        let expected = naive(&content, &clue);
        prop_assert_eq!(tiles(&mut content.clone(), &mut clue.clone(), &|| ()), Ok(expected));
    }
}

/// Where html5gum passes on a start of an end tag that ends nothing, line ends of other systems, and entities.
#[test]
fn places_in_html() {
    for (html, expected) in [
        ("<xmp>one two </bb three four five", "three four five"),
        ("<title>\u{e9} </b \u{e9}\u{e9} \u{e9}\u{e9} x</title>", "\u{e9}\u{e9} \u{e9}\u{e9} x"),
        ("<p>a</p>\r\n&amp;\r\nthree &lt;\r\nfour five", "three &lt;\r\nfour five"),
    ] {
        let options = Options { markup: Some(Markup::Html), ..Options::default() };
        let clue = expected.replace("&lt;\r\n", "");
        let found = matches(&mut Fingerprinter::default(), html, &clue, &options, MAX_CHANGED, Unit::Bytes, &|| ());
        let found: Vec<_> = found.expect("memory suffices").into_iter().map(|found| &html[found.content]).collect();
        assert_eq!(found, [expected], "{html}");
    }
}

/// Texts of 300,000 tokens that repeat themselves take seconds at most without optimisation, and tick.
#[test]
fn work_is_bounded() {
    const LENGTH: usize = 300_000;
    let mut random = Random(0);
    let random: Vec<Token> = (0..LENGTH).map(|_| token(2 + random.next() % 4 * 2, false)).collect();
    let periodic =
        |period: usize| -> Vec<Token> { (0..LENGTH).map(|i| token(2 + (i % period) as u64 * 2, false)).collect() };
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
        let ticks = Cell::new(0);
        let (mut left, mut right) = (content.clone(), clue.clone());
        let found = tiles(&mut left, &mut right, &|| ticks.set(ticks.get() + 1)).expect("memory suffices");
        for tile in &found {
            assert_eq!(content[tile.content..][..tile.length], clue[tile.clue..][..tile.length]);
        }
        assert!(found.windows(2).all(|two| two[0].content + two[0].length <= two[1].content));
        assert!(found.iter().map(|tile| tile.length).sum::<usize>() >= least, "{} runs", found.len());
        assert!((20..3000).contains(&ticks.get()), "{} ticks", ticks.get());
    }
}
