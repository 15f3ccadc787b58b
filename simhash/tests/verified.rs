//! Verified clusters and duplicates are what the definition says, whatever memory they may take.

#[path = "oracle/connected.rs"]
mod connected;
#[path = "oracle/ticks.rs"]
mod ticks;

use std::cell::Cell;

use connected::connected;
use proptest::prelude::*;
use proptest::sample::select;
use simhash::criterion::Criterion;
use simhash::fingerprint::Fingerprinter;
use simhash::fingerprint::agreement::{Same, Words};
use simhash::fingerprint::feature_set::FeatureSet;
use simhash::fingerprint::options::{Options, Tokens, Weight};
use simhash::fingerprint::resemblance::resemblance;
use simhash::pairs::{Component, Confirmed, Kept, Rows, Verification};
use simhash::random::Random;
use simhash::search::nearness::Nearness;
use simhash::text::ignore::Ignored;

const AMPLE: usize = 1 << 30;

/// A row: its fingerprint and its text.
type Row<'a> = (Option<u64>, Option<&'a str>);

/// Whether the criterion takes two rows for near-duplicates, by the texts themselves, and their distance.
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

/// For each row, the first row that it is connected to by edges.
fn clusters(rows: &[Row<'_>], criterion: &Criterion, options: &Options) -> Vec<u32> {
    let pairs = (0..rows.len()).flat_map(|b| (0..=b).map(move |a| (a, b)));
    let edges = pairs.filter(|&(a, b)| a == b || edge(rows[a], rows[b], criterion, options).is_some());
    connected(edges.map(|(a, b)| (a as u64, b as u64))).into_iter().map(|(_, first)| first as u32).collect()
}

/// For each row, the earlier kept row that it duplicates, the nearest and then the earliest; or itself if it is kept.
fn duplicates(rows: &[Row<'_>], criterion: &Criterion, options: &Options) -> Vec<u32> {
    let mut kept: Vec<usize> = Vec::new();
    let duplicated = |(row, &this): (usize, &Row<'_>)| {
        let near = kept.iter().filter_map(|&earlier| Some((edge(rows[earlier], this, criterion, options)?, earlier)));
        let found = near.min().map(|(_, earlier)| earlier as u32);
        kept.extend(found.is_none().then_some(row));
        found.unwrap_or(row as u32)
    };
    rows.iter().enumerate().map(duplicated).collect()
}

fn features(text: &str, options: &Options) -> Option<FeatureSet> {
    FeatureSet::new(&mut Fingerprinter::default(), text, options, &|| ()).expect("memory suffices")
}

/// What a verification finds, the number of texts that it reads, and in how many passes.
fn verify<C: Component>(
    rows: &[Row<'_>],
    criterion: Criterion,
    options: &Options,
    budget: usize,
    tick: &dyn Fn(),
) -> (Vec<u32>, usize, usize) {
    let mut fingerprints = Rows::with_capacity(rows.len()).expect("memory suffices");
    rows.iter().for_each(|row| fingerprints.push(row.0).expect("memory suffices"));
    let mut verification = Verification::<C>::new(fingerprints, criterion, budget, tick).expect("memory suffices");
    let (mut read, mut last, mut passes) = (0, 0, 1);
    while let Some(row) = verification.row_to_read(tick) {
        assert_eq!(verification.row_to_read(tick), Some(row));
        passes += usize::from(row < last);
        last = row;
        read += 1;
        let text = rows[row as usize].1.and_then(|text| features(text, options));
        verification.push(text, tick).expect("memory suffices");
    }
    (verification.into_results(), read, passes)
}

fn options() -> impl Strategy<Value = Options> {
    (
        select(vec![Tokens::Words, Tokens::Words, Tokens::Chars]),
        select(vec![Weight::Set, Weight::Set, Weight::Log, Weight::Tf]),
        any::<bool>(),
        select(vec![&[][..], &["a"]]),
    )
        .prop_map(|(tokens, weight, numbers, words)| {
            let words = Words::new(words, true, Ignored::default()).expect("memory suffices").expect("words");
            Options { tokens, weight, same: Same { numbers, words }, ..Options::default() }
        })
}

/// A text of few different words: a template with words replaced, added and repeated, so that texts resemble each other
/// more or less.
fn text() -> impl Strategy<Value = Option<String>> {
    let words = |count, kinds: &'static str| prop::collection::vec(kinds.prop_map(|word: String| word + " "), count);
    let varied = (0u32..3, words(0..3, "[a-e1]"), words(0..2, "[a-z]{3}")).prop_map(|(template, few, new)| {
        let words: Vec<String> = (0..20).map(|word| format!("t{template}w{word} ")).collect();
        Some([words, few, new].concat().concat())
    });
    prop_oneof![8 => varied, 1 => Just(Some("?!".to_owned())), 1 => Just(None), 1 => Just(Some("t0w1".to_owned()))]
}

/// Fingerprints near one another, and equal ones; they need not be those of the texts.
fn fingerprint() -> impl Strategy<Value = Option<u64>> {
    let base = select(vec![0, 0, 0xff, 0xffff_0000_ffff_0000]);
    let near = (base, prop::collection::vec(0u64..64, 0..5))
        .prop_map(|(base, bits)| bits.into_iter().fold(base, |fingerprint, bit| fingerprint ^ 1 << bit));
    prop::option::weighted(0.9, near)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn results_match_oracle(
        drawn in prop::collection::vec((fingerprint(), text()), 0..60),
        max_distance in prop_oneof![0..10, Just(64)],
        radii in select(vec![&[][..], &[0, 0, 0, 0], &[1, 1, 1, 1], &[1, -1, 0]]),
        least in prop::option::weighted(0.9, select(vec![0.0, 0.5, 0.8, 0.89, 0.95, 1.0])),
        options in options(),
        budget in select(vec![0, 1000, 4000, AMPLE]),
    ) {
        let rows: Vec<Row<'_>> = drawn.iter().map(|(fingerprint, text)| (*fingerprint, text.as_deref())).collect();
        let near = Nearness::by_radii(max_distance, radii).expect("a layout");
        let criterion = Criterion { near, resemblance: least };
        prop_assert_eq!(verify::<Confirmed>(&rows, criterion, &options, budget, &|| ()).0, clusters(&rows, &criterion, &options));
        prop_assert_eq!(verify::<Kept>(&rows, criterion, &options, budget, &|| ()).0, duplicates(&rows, &criterion, &options));
    }

    #[test]
    fn features_match_texts(a in text(), b in text(), options in options(), least in 0.0..1.0) {
        let (a, b) = (a.unwrap_or_default(), b.unwrap_or_default());
        let expected = resemblance(&mut Fingerprinter::default(), &a, &b, &options, &|| ()).expect("memory suffices");
        let sets = features(&a, &options).zip(features(&b, &options));
        prop_assert_eq!(sets.is_some(), expected.is_some());
        if let Some(((one, other), expected)) = sets.zip(expected) {
            for least in [0.0, 1.0, least, expected, expected.next_up(), expected.next_down()] {
                prop_assert_eq!(one.resembles(&other, least, &|| ()), expected >= least, "{} {}", expected, least);
                prop_assert_eq!(other.resembles(&one, least, &|| ()), expected >= least, "{} {}", expected, least);
            }
        }
    }
}

/// Texts of many features are sorted in parts, and compared in strides.
#[test]
fn long_texts_match_oracle() {
    let mut random = Random(3);
    let words: Vec<String> = (0..150_000).map(|_| format!("w{} ", random.below(1 << 20))).collect();
    let (a, b) = (words[..140_000].concat(), words[10_000..].concat());
    for weight in [Weight::Set, Weight::Tf] {
        let options = Options { weight, ..Options::default() };
        let ticks = Cell::new(0);
        let tick = || ticks.set(ticks.get() + 1);
        let set =
            |text| FeatureSet::new(&mut Fingerprinter::default(), text, &options, &tick).expect("memory suffices");
        let (one, other) = (set(&a).expect("features"), set(&b).expect("features"));
        assert!(ticks.replace(0) > 100);
        let found = resemblance(&mut Fingerprinter::default(), &a, &b, &options, &|| ()).expect("memory suffices");
        let found = found.expect("features");
        assert!(one.resembles(&other, found, &tick) && !one.resembles(&other, found.next_up(), &tick), "{found}");
        assert!(ticks.get() > 10);
        assert!(one.memory() < 32 * 150_000 && one == set(&a).expect("features") && one != other);
    }
}

/// `copies` rows of each of `kinds` texts; all fingerprints are within a distance of 2.
fn many(kinds: usize, copies: usize) -> Vec<(u64, String)> {
    let row = |n: usize| (1 << (n % kinds % 60), format!("{} kind {}", "of many words ".repeat(3), n % kinds));
    (0..kinds * copies).map(row).collect()
}

fn borrowed(rows: &[(u64, String)]) -> Vec<Row<'_>> {
    rows.iter().map(|(fingerprint, text)| (Some(*fingerprint), Some(text.as_str()))).collect()
}

/// A tick that fails when there are too many. Each row ticks once, and comparisons once in a thousand. Work that is
/// quadratic in the rows would take hours.
fn few_ticks(rows: usize) -> impl Fn() {
    let ticks = Cell::new(0);
    move || {
        ticks.set(ticks.get() + 1);
        assert!(ticks.get() <= rows + rows / 20, "too many ticks for {rows} rows");
    }
}

#[test]
fn compares_identical_rows_once() {
    let owned = many(2, 200_000);
    let rows = borrowed(&owned);
    for resemblance in [0.5, 1.0] {
        let criterion = Criterion { near: Nearness::within(2), resemblance: Some(resemblance) };
        let expected = |row: u32| if resemblance < 1.0 { 0 } else { row % 2 };
        let (found, read, _) =
            verify::<Confirmed>(&rows, criterion, &Options::default(), AMPLE, &few_ticks(rows.len()));
        assert!(read == rows.len() && found.iter().zip(0..).all(|(&found, row)| found == expected(row)));
        let (found, ..) = verify::<Kept>(&rows, criterion, &Options::default(), AMPLE, &few_ticks(rows.len()));
        assert!(found.iter().zip(0..).all(|(&found, row)| found == expected(row)));
    }
}

/// Different texts that are all confirmed, except that one in 20,000 resembles no other: each is compared with few
/// others.
#[test]
fn compares_large_clusters_little() {
    let words = (0..40).map(|word| format!("w{word} ")).collect::<String>();
    let text = |n: u64| if n.is_multiple_of(20_000) { format!("no {n}") } else { format!("{words} {n}") };
    let owned: Vec<(u64, String)> = (0..200_000).map(|n| (n % 3, text(n))).collect();
    let rows = borrowed(&owned);
    let criterion = Criterion { near: Nearness::within(3), resemblance: Some(0.9) };
    let (found, ..) = verify::<Confirmed>(&rows, criterion, &Options::default(), AMPLE, &few_ticks(rows.len()));
    for (row, found) in (0..).zip(found) {
        assert_eq!(found, if row % 20_000 == 0 { row } else { 1 });
    }
}

#[test]
fn reads_near_texts_once() {
    let mut owned: Vec<(u64, String)> = Vec::new();
    let mut random = Random(8);
    for n in 0..2000u64 {
        let fingerprint = random.next();
        owned.push((fingerprint, format!("the text of row {n} and no other")));
        if n % 10 == 0 {
            owned.push((fingerprint ^ 1, format!("the text of row {n} and no other")));
        }
    }
    // The copies come long after their originals.
    owned.sort_by_key(|(fingerprint, _)| fingerprint & 1);
    let rows = borrowed(&owned);
    let criterion = Criterion { near: Nearness::within(3), resemblance: Some(0.89) };
    let options = Options::default();
    let (all, read, passes) = verify::<Confirmed>(&rows, criterion, &options, AMPLE, &|| ());
    assert_eq!(all.iter().zip(0..).filter(|(found, row)| **found != *row).count(), 200);
    assert_eq!((read, passes), (400, 1));
    for (budget, fewest, most) in [(20_000, 2, 30), (5000, 4, 120), (0, 200, 200)] {
        let (found, read, passes) = verify::<Confirmed>(&rows, criterion, &options, budget, &|| ());
        assert!(found == all && (400..800).contains(&read), "{read} texts read with {budget} bytes");
        assert!((fewest..=most).contains(&passes), "{passes} passes with {budget} bytes");
    }
    assert_eq!(verify::<Kept>(&rows, criterion, &options, AMPLE, &|| ()), (all, 400, 1));
}

#[test]
fn any_tick_may_panic() {
    let owned = many(500, 4);
    let rows = borrowed(&owned);
    let criterion = Criterion { near: Nearness::within(2), resemblance: Some(1.0) };
    for budget in [AMPLE, 10_000] {
        let run = |tick: &dyn Fn()| {
            verify::<Confirmed>(&rows, criterion, &Options::default(), budget, tick);
        };
        // Of these, 120 are ticks of comparing texts.
        ticks::any_tick_may_panic(5_650, run);
    }
}
