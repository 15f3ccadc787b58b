//! Clusters and duplicates of texts are what the definition says, whatever memory they may take.

mod shared;

use std::cell::Cell;

use proptest::prelude::*;
use proptest::sample::select;
use shared::calls::{resemblance_of, summary, with_fingerprinter};
use shared::connected::connected;
use shared::ticks::Ticks;
use simhash::criterion::TextCriterion;
use simhash::fingerprint::agreement::{Same, Words};
use simhash::fingerprint::feature_set::FeatureSet;
use simhash::fingerprint::options::{Options, Tokens, Weight};
use simhash::fingerprint::resemblance::DEFAULT_RESEMBLANCE;
use simhash::fingerprint::sketch::{Comparison, MostDifferent, first_allowed};
use simhash::fingerprint::{Fingerprinter, Scratch};
use simhash::pairs::{Confirmation, ConfirmedClusters, KeptRows, Outcome, TextSketches, representatives};
use simhash::random::Random;
use simhash::text::ignore::Ignored;
use simhash::ticking::ITEMS_BETWEEN_TICKS;

/// A budget of memory, in bytes, that is never exceeded.
const AMPLE: usize = 1 << 30;
const COPIES: TextCriterion = TextCriterion { resemblance: DEFAULT_RESEMBLANCE, bands: 6 };

/// The resemblance of each two rows by this function, the later row first; None unless they are near by the definition.
fn near_pairs(
    rows: &[Option<&str>],
    criterion: TextCriterion,
    options: &Options,
    resemblance: impl Fn(usize, usize) -> Option<f64>,
) -> Vec<Vec<Option<f64>>> {
    let summaries: Vec<_> = rows.iter().map(|text| summary((*text)?, options, criterion.bands)).collect();
    let resemblance_of_pair = |a: usize, b: usize| {
        let [of_a, of_b] = [a, b].map(|row| summaries[row].as_ref());
        let shares_band = of_a?.bands.iter().zip(&of_b?.bands).any(|(a, b)| a == b);
        let distance = (of_a?.fingerprint ^ of_b?.fingerprint).count_ones();
        let is_candidate = shares_band && distance <= criterion.max_distance();
        is_candidate.then(|| resemblance(a, b)).flatten().filter(|found| *found >= criterion.resemblance)
    };
    (0..rows.len()).map(|b| (0..b).map(|a| resemblance_of_pair(a, b)).collect()).collect()
}

/// The [`near_pairs`] in less time: each text is read once.
fn near_pairs_of_sets(rows: &[Option<&str>], criterion: TextCriterion, options: &Options) -> Vec<Vec<Option<f64>>> {
    let sets: Vec<_> = rows.iter().map(|text| features((*text)?, options)).collect();
    near_pairs(rows, criterion, options, |a, b| {
        sets[a].as_ref()?.resemblance_from(sets[b].as_ref()?, criterion.resemblance, &|| ())
    })
}

/// For each row, the first row that it is connected to by near pairs.
fn clusters(near_pairs: &[Vec<Option<f64>>]) -> Vec<u32> {
    let pairs = (0..near_pairs.len()).flat_map(|b| (0..=b).map(move |a| (a, b)));
    let connections = pairs.filter(|&(a, b)| a == b || near_pairs[b][a].is_some());
    connected(connections.map(|(a, b)| (a as u64, b as u64))).into_iter().map(|(_, first)| first as u32).collect()
}

/// For each row, the earlier kept row that it duplicates: the one that it resembles most, and then the earliest; or
/// itself if it is kept.
fn duplicates(near_pairs: &[Vec<Option<f64>>]) -> Vec<u32> {
    let mut kept: Vec<usize> = Vec::new();
    let duplicated = |(row, near): (usize, &Vec<Option<f64>>)| {
        let mut found: Option<(f64, usize)> = None;
        for (resemblance, earlier) in kept.iter().filter_map(|&earlier| Some((near[earlier]?, earlier))) {
            if found.is_none_or(|(most, _)| resemblance > most) {
                found = Some((resemblance, earlier));
            }
        }
        kept.extend(found.is_none().then_some(row));
        found.map_or(row, |(_, earlier)| earlier) as u32
    };
    near_pairs.iter().enumerate().map(duplicated).collect()
}

fn features(text: &str, options: &Options) -> Option<FeatureSet> {
    with_fingerprinter(options, |fingerprinter| FeatureSet::new(fingerprinter, text))
}

/// The results of a confirmation, the number of texts that it reads, and the number of passes.
fn confirm<O: Outcome>(
    rows: &[Option<&str>],
    criterion: TextCriterion,
    options: &Options,
    budget: usize,
    tick: &dyn Fn(),
) -> (Vec<u32>, usize, usize) {
    let mut scratch = Scratch::default();
    let mut fingerprinter = Fingerprinter::new(&mut scratch, options, &|| ());
    let mut sketches = TextSketches::with_capacity(rows.len(), criterion, options).expect("memory suffices");
    for row in rows {
        let sketch = row.and_then(|text| fingerprinter.sketch(text, criterion.bands).expect("memory suffices"));
        sketches.push(sketch.as_ref()).expect("memory suffices");
    }
    let mut confirmation = Confirmation::<O>::new(sketches, budget, tick).expect("memory suffices");
    let (mut read, mut last, mut passes) = (0, 0, 1);
    while let Some(row) = confirmation.row_to_read(tick).expect("memory suffices") {
        assert_eq!(confirmation.row_to_read(tick), Ok(Some(row)));
        passes += usize::from(row < last);
        last = row;
        read += 1;
        let text = rows[row as usize].and_then(|text| features(text, options));
        confirmation.push(text, tick).expect("memory suffices");
    }
    (confirmation.into_results(tick).expect("memory suffices"), read, passes)
}

fn options() -> impl Strategy<Value = Options> {
    let weights = [None, None, Some(r#"{"t0w1": 0.2, "t0w2": 0.2, "t1w3": 0.5, "a": 0, "b": 0.9}"#)];
    (
        select(vec![Tokens::Words, Tokens::Words, Tokens::Chars]),
        select(vec![Weight::Set, Weight::Set, Weight::Log, Weight::Tf]),
        any::<bool>(),
        select(vec![&[][..], &["a"]]),
        select(weights.to_vec()),
    )
        .prop_map(|(tokens, weight, numbers, words, weights)| {
            let words = Words::new(words, true, Ignored::default()).expect("memory suffices").expect("words");
            let options = Options { tokens, weight, same: Same { numbers, words }, ..Options::default() };
            weights.map_or(options.clone(), |weights| options.with_weights(weights).expect("weights"))
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
    // Neighbours of a chain: its ends are unlike each other.
    let part = (0usize..12, 20usize..24)
        .prop_map(|(start, len)| Some((start..start + len).map(|word| format!("t0w{word} ")).collect()));
    // The first words in all orders have most pairs, but fewer than half of the words. So some of these texts resemble
    // each other, and their fingerprints do not.
    let in_all_orders = (0usize..4, 12usize..20).prop_map(|(first, new)| {
        let pairs = (0..144).map(|pair| format!("t0w{} t0w{} ", pair / 12, pair % 12));
        Some(pairs.chain((0..new).map(|word| format!("new{} ", first * 100 + word))).collect())
    });
    let other = select(vec![Some("?!"), None, Some("t0w1"), Some("t0w2")]).prop_map(|text| text.map(str::to_owned));
    prop_oneof![6 => varied, 6 => part, 1 => in_all_orders, 1 => other]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn results_match_oracle(
        drawn in prop::collection::vec(text(), 0..60),
        least in select(vec![0.01, 0.3, 0.5, 0.7, 0.8, DEFAULT_RESEMBLANCE, 0.89, 0.95, 1.0]),
        bands in select(vec![1, 2, 6, 12, 64]),
        options in options(),
        budget in select(vec![0, 1000, 4000, AMPLE]),
    ) {
        let rows: Vec<Option<&str>> = drawn.iter().map(Option::as_deref).collect();
        let criterion = TextCriterion { resemblance: least, bands };
        let near_pairs = near_pairs(&rows, criterion, &options, |a, b| resemblance_of(rows[a]?, rows[b]?, &options));
        prop_assert_eq!(confirm::<ConfirmedClusters>(&rows, criterion, &options, budget, &|| ()).0, clusters(&near_pairs));
        prop_assert_eq!(confirm::<KeptRows>(&rows, criterion, &options, budget, &|| ()).0, duplicates(&near_pairs));
        let has_feature = |text: &Option<&str>| text.and_then(|text| features(text, &options)).is_some();
        let kept = duplicates(&near_pairs).into_iter().zip(&rows).map(|(kept, text)| has_feature(text).then_some(kept));
        let found = representatives::<KeptRows>(&rows, criterion, &options, &|| ()).expect("memory suffices");
        prop_assert_eq!(found, kept.collect::<Vec<_>>());
    }

    #[test]
    fn features_match_texts(a in text(), b in text(), options in options(), least in 0.0..1.0) {
        let (a, b) = (a.unwrap_or_default(), b.unwrap_or_default());
        let expected = resemblance_of(&a, &b, &options);
        let sets = features(&a, &options).zip(features(&b, &options));
        prop_assert_eq!(sets.is_some(), expected.is_some());
        let sketch = |text| with_fingerprinter(&options, |fingerprinter| fingerprinter.sketch(text, 3));
        let sketches = sketch(&a).zip(sketch(&b));
        prop_assert_eq!(sketches.is_some(), expected.is_some());
        let of_summary = summary(&a, &options, 3).map(|summary| summary.bands);
        prop_assert_eq!(sketch(&a).map(|sketch| sketch.bands), of_summary);
        if let (Some((one, other)), Some((of_one, of_other)), Some(expected)) = (sets, sketches, expected) {
            for least in [0.0, 1.0, least, expected, expected.next_up(), expected.next_down()] {
                let found = Some(expected).filter(|found| *found >= least);
                prop_assert_eq!(one.resemblance_from(&other, least, &|| ()), found, "{}", least);
                prop_assert_eq!(other.resemblance_from(&one, least, &|| ()), found, "{}", least);
                let (comparison, most) = (Comparison::new(&options), MostDifferent::with_resemblance(least));
                let difference = comparison.difference(&of_one.difference, &of_other.difference);
                let is_allowed = most.allows(difference, &of_one.difference, &of_other.difference);
                prop_assert!(is_allowed || found.is_none_or(|found| found == 0.0), "{}", least);
                let first = first_allowed(&[of_one.difference], &of_other.difference, comparison, most);
                prop_assert_eq!(first.is_some(), is_allowed);
            }
        }
    }
}

/// Letters of one template with up to `own` of `words` other words in their middle. One in three is a copy of an
/// earlier one with more words.
fn letters(random: &mut Random, count: usize, own: u64, words: u64) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let template = |words: std::ops::Range<usize>| words.map(|word| format!("t0w{word} ")).collect::<String>();
    for number in 0..count {
        let is_copy = number % 3 == 2;
        let added = if is_copy { random.below(14) } else { own / 2 + random.below(own / 2 + 1) };
        let added: String = (0..added).map(|_| format!("own{} ", random.below(words))).collect();
        all.push(match is_copy {
            true => format!("{}{added}", all[random.below(number as u64) as usize]),
            false => [template(0..30), added, template(30..60)].concat(),
        });
    }
    all
}

/// Buckets of so many texts that these are not compared with each other, but looked up by their rare features.
#[test]
fn large_buckets_match_oracle() {
    let mut random = Random(11);
    let weights = r#"{"t0w1": 0.2, "t0w2": 0.2, "t1w3": 0.5, "own1": 0, "own2": 0.9}"#;
    let weighted = Options::default().with_weights(weights).expect("weights");
    let counted = Options { weight: Weight::Tf, ..Options::default() };
    for (options, count, own, words, least, bands) in [
        (Options::default(), 1000, 8, 1 << 40, DEFAULT_RESEMBLANCE, 6),
        (Options::default(), 2400, 20, 1 << 40, DEFAULT_RESEMBLANCE, 1),
        (Options::default(), 1000, 16, 1 << 40, 0.7, 6),
        (weighted, 1000, 10, 30, DEFAULT_RESEMBLANCE, 6),
        (counted, 1000, 10, 1 << 40, DEFAULT_RESEMBLANCE, 6),
    ] {
        let owned = letters(&mut random, count, own, words);
        let (rows, criterion) = (borrowed(&owned), TextCriterion { resemblance: least, bands });
        let near_pairs = near_pairs_of_sets(&rows, criterion, &options);
        for budget in [AMPLE, 1 << 20] {
            let (found, _, passes) = confirm::<ConfirmedClusters>(&rows, criterion, &options, budget, &|| ());
            assert_eq!(found, clusters(&near_pairs));
            assert!(budget == AMPLE || passes > 2);
            assert_eq!(confirm::<KeptRows>(&rows, criterion, &options, budget, &|| ()).0, duplicates(&near_pairs));
        }
    }
}

/// A text that is lighter than those before it, to which it is near, has no rare features: only the prefixes of those
/// have the common ones.
#[test]
fn lighter_texts_match_oracle() {
    let mut random = Random(13);
    let mut words = |count, name: &str| (0..count).map(|_| format!("{name}{} ", random.next())).collect::<String>();
    let template = words(60, "t");
    let families: Vec<String> = (0..100).map(|_| format!("{template}{}", words(10, "f"))).collect();
    let mut owned: Vec<String> = (0..800).map(|row| format!("{}{}", families[row / 8], words(8, "own"))).collect();
    owned.extend(families);
    let (rows, options) = (borrowed(&owned), Options::default());
    let near_pairs = near_pairs_of_sets(&rows, COPIES, &options);
    assert_eq!(confirm::<ConfirmedClusters>(&rows, COPIES, &options, AMPLE, &|| ()).0, clusters(&near_pairs));
    assert_eq!(confirm::<KeptRows>(&rows, COPIES, &options, AMPLE, &|| ()).0, duplicates(&near_pairs));
}

/// So many rows share a band that not all of their sketches are compared.
#[test]
fn finds_copies_among_many_refuted() {
    let mut random = Random(17);
    let template: String = (0..60).map(|word| format!("t{word} ")).collect();
    let mut text = || (0..16).fold(template.clone(), |text, _| format!("{text}own{} ", random.next()));
    let mut owned: Vec<String> = (0..40_000).map(|_| text()).collect();
    owned.extend_from_within(8000..8300);
    let (rows, criterion) = (borrowed(&owned), TextCriterion { bands: 1, ..COPIES });
    let expected: Vec<u32> = (0..40_000).chain(8000..8300).collect();
    assert!(confirm::<ConfirmedClusters>(&rows, criterion, &Options::default(), AMPLE, &|| ()).0 == expected);
    let (found, read, _) = confirm::<KeptRows>(&rows, criterion, &Options::default(), AMPLE, &|| ());
    assert!(found == expected && read > 4096, "{read} read");
}

/// Texts of many features are sorted in parts, and ticks interrupt their comparison.
#[test]
fn long_texts_match_oracle() {
    let mut random = Random(3);
    let words: Vec<String> = (0..150_000).map(|_| format!("w{} ", random.below(1 << 20))).collect();
    let (a, b) = (words[..140_000].concat(), words[10_000..].concat());
    for weight in [Weight::Set, Weight::Tf] {
        let options = Options { weight, ..Options::default() };
        let ticks = Ticks::default();
        let tick = || ticks.tick();
        let set = |text| {
            FeatureSet::new(&mut Fingerprinter::new(&mut Scratch::default(), &options, &tick), text)
                .expect("memory suffices")
        };
        let (one, other) = (set(&a).expect("features"), set(&b).expect("features"));
        assert!(ticks.take() > 100);
        let found = resemblance_of(&a, &b, &options).expect("features");
        assert!(one.resemblance_from(&other, found, &tick) == Some(found), "{found}");
        assert_eq!(one.resemblance_from(&other, found.next_up(), &tick), None);
        assert!(ticks.take() > 10);
        assert!(one.memory() < 32 * 150_000 && one == set(&a).expect("features") && one != other);
    }
}

/// A tick that fails when there are too many: work that is quadratic in the rows would take hours. Each row that is
/// read ticks twice at most, and other work once in thousands of steps.
fn few_ticks(rows: usize) -> impl Fn() {
    let ticks = Ticks::default();
    move || {
        ticks.tick();
        assert!(ticks.count() <= 2 * rows + rows / 10, "too many ticks for {rows} rows");
    }
}

fn borrowed(rows: &[String]) -> Vec<Option<&str>> {
    rows.iter().map(|row| Some(row.as_str())).collect()
}

/// A letter that differs from others in a number.
fn letter(number: usize) -> String {
    format!(
        "Dear customer, our records show that invoice {number} has not been paid, although it was due two weeks ago. \
         Please send the amount to the account named below, or write to us if you have done so already."
    )
}

#[test]
fn compares_identical_rows_once() {
    let owned: Vec<String> = (0..200_000).map(|n| format!("{} kind {}", "of many words ".repeat(3), n % 2)).collect();
    let rows = borrowed(&owned);
    let options = Options::default();
    for resemblance in [0.5, 1.0] {
        let criterion = TextCriterion { resemblance, ..COPIES };
        let expected = |row: u32| if resemblance < 1.0 { 0 } else { row % 2 };
        let (found, read, _) = confirm::<ConfirmedClusters>(&rows, criterion, &options, AMPLE, &few_ticks(rows.len()));
        assert!(read == rows.len() && found.iter().zip(0..).all(|(&found, row)| found == expected(row)));
        let (found, ..) = confirm::<KeptRows>(&rows, criterion, &options, AMPLE, &few_ticks(rows.len()));
        assert!(found.iter().zip(0..).all(|(&found, row)| found == row % 2 || found == expected(row)));
    }
}

/// Texts of one template that are near each other, except that one in 10,000 is like no other: each is compared with
/// few others.
#[test]
fn compares_large_clusters_little() {
    let text = |n: usize| if n.is_multiple_of(10_000) { format!("no {n}") } else { letter(n) };
    let owned: Vec<String> = (0..100_000).map(text).collect();
    let rows = borrowed(&owned);
    let (found, ..) = confirm::<ConfirmedClusters>(&rows, COPIES, &Options::default(), AMPLE, &few_ticks(rows.len()));
    for (row, found) in (0..).zip(found) {
        assert_eq!(found, if row % 10_000 == 0 { row } else { 1 });
    }
}

/// Texts of one template whose numbers differ are not even candidates if these must be the same.
#[test]
fn does_not_read_texts_that_disagree() {
    let owned: Vec<String> = (0..100_000).map(|n| letter(n / 2 * 2 % 99_990)).collect();
    let rows = borrowed(&owned);
    let options = Options { same: Same { numbers: true, ..Same::default() }, ..Options::default() };
    for bands in [6, 24] {
        let criterion = TextCriterion { bands, ..COPIES };
        let (found, read, _) = confirm::<KeptRows>(&rows, criterion, &options, AMPLE, &few_ticks(rows.len()));
        assert_eq!(found.iter().zip(0..).filter(|(found, row)| **found == *row).count(), 99_990 / 2);
        assert!(read <= rows.len());
        assert_eq!(confirm::<ConfirmedClusters>(&rows, criterion, &options, AMPLE, &few_ticks(rows.len())).0, found);
    }
}

/// Texts of one template that share bands, and are not near: their sketches show it.
#[test]
fn does_not_read_texts_that_differ() {
    let mut random = Random(5);
    let mut words = || (0..6).map(|_| format!("{:x} ", random.next())).collect::<String>();
    let text = |n| format!("{} {} {}", words(), letter(n), words());
    let owned: Vec<String> = (0..500).map(text).collect();
    let rows = borrowed(&owned);
    let ticks = Ticks::default();
    let (found, read, _) = confirm::<KeptRows>(&rows, COPIES, &Options::default(), AMPLE, &|| ticks.tick());
    assert!(found.iter().zip(0..).all(|(found, row)| *found == row));
    assert!(read < 10 && ticks.count() < 500, "{read} read, {} ticks", ticks.count());
}

#[test]
fn reads_near_texts_once() {
    let mut owned: Vec<String> = (0..500).map(|n| format!("row {n} of {n} and {} and no {n} other", n + 1)).collect();
    // The copies come long after their originals.
    let copies: Vec<String> = owned.iter().step_by(10).map(|text| format!("{text}!")).collect();
    owned.extend(copies);
    let rows = borrowed(&owned);
    let options = Options::default();
    let (all, read, passes) = confirm::<KeptRows>(&rows, COPIES, &options, AMPLE, &|| ());
    assert_eq!(all.iter().zip(0..).filter(|(found, row)| **found != *row).count(), 50);
    assert_eq!((read, passes), (100, 1));
    for (budget, min_passes, max_passes) in [(10_000, 2, 8), (3000, 4, 20), (0, 50, 50)] {
        let (found, read, passes) = confirm::<KeptRows>(&rows, COPIES, &options, budget, &|| ());
        assert!(found == all && read == 100, "{read} texts read with {budget} bytes");
        assert!((min_passes..=max_passes).contains(&passes), "{passes} passes with {budget} bytes");
        assert_eq!(confirm::<ConfirmedClusters>(&rows, COPIES, &options, budget, &|| ()), (all.clone(), read, passes));
    }
}

/// Texts that are too short to tick themselves.
#[test]
fn ticks_between_short_texts() {
    struct Counted<'a>(&'a Cell<usize>);
    impl AsRef<str> for Counted<'_> {
        fn as_ref(&self) -> &str {
            self.0.update(|count| count + 1);
            "one"
        }
    }
    let read = Cell::new(0);
    let texts: Vec<_> = (0..10_000).map(|_| Some(Counted(&read))).collect();
    let tick = || assert!(read.take() <= ITEMS_BETWEEN_TICKS);
    representatives::<KeptRows>(&texts, COPIES, &Options::default(), &tick).expect("memory suffices");
}

#[test]
fn any_tick_may_panic() {
    let owned: Vec<String> = (0..1000).map(|n| letter(n % 250)).collect();
    let rows = borrowed(&owned);
    let criterion = TextCriterion { resemblance: 1.0, ..COPIES };
    for budget in [AMPLE, 10_000] {
        shared::ticks::any_tick_may_panic(1_000, |tick| {
            confirm::<ConfirmedClusters>(&rows, criterion, &Options::default(), budget, tick);
        });
    }
}
