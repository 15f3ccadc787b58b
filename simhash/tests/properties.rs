//! Compares the algorithm with its oracle, on arbitrary Unicode and with every option.
//!
//! There is one path for every CPU. The only instructions for one CPU are compared with others in `src/text/mask.rs`.

mod oracle;
mod shared;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use shared::calls::{fingerprint, resemblance_of, summary, with_fingerprinter};
use simhash::criterion::{CriterionDocument, TextCriterion};
use simhash::distance::hamming;
use simhash::fingerprint::agreement::{Same, Words};
use simhash::fingerprint::bands::MAX_BANDS;
use simhash::fingerprint::difference::{containment, difference};
use simhash::fingerprint::feature_list::FeatureList;
use simhash::fingerprint::feature_table::{FEATURE_BATCH, FeatureTable};
use simhash::fingerprint::features::each_feature;
use simhash::fingerprint::hash::{SeededHasher, bytes_at, hash, hash_1_to_8, hash_9_to_16};
use simhash::fingerprint::options::{Markup, Options, Tokens, Weight};
use simhash::fingerprint::resemblance::{Prepared, resemblance};
use simhash::fingerprint::seen_words::SeenWords;
use simhash::fingerprint::size::{are_sizes_exact, similar_sizes};
use simhash::fingerprint::tally::Tally;
use simhash::fingerprint::weight_map::WeightMap;
use simhash::fingerprint::{Fingerprinter, Scratch};
use simhash::search::blocks::{Block, Probed, radius};
use simhash::text::ignore::Ignored;
use simhash::text::markup::{text_of_html, text_of_main};
use simhash::text::normalise::normalise;
use simhash::within::matches::{MAX_CHANGED, Unit, matches};

/// Pieces of text for every case of the code: scripts with and without spaces, marks of several combining classes,
/// characters that NFKC and case folding change, and all other characters.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "[a-z]{1,9}",
        4 => "[a-c] ",
        3 => select(vec!["中华", "数据库", "人民", "法", "です", "エディタ", "ไทย", "ລາວ", "ខ្មែរ", "မြန်မာ"]).prop_map(str::to_owned),
        3 => "[A-Za-z0-9]{1,20}",
        6 => Just(" ".to_owned()),
        2 => "[ -~\n\t]{1,8}",
        1 => "[ -~]{60,200}",
        4 => "[一-鿿]{1,6}",
        2 => "[ぁ-ヿ･-ﾟ]{1,4}",
        2 => "[ก-๛]{1,6}",
        2 => "[\u{e81}-\u{eff}\u{1780}-\u{17f9}\u{1000}-\u{109f}]{1,4}",
        2 => "[А-я]{1,8}",
        2 => "[α-ωΑ-Ωᾀ-ῼ]{1,5}",
        2 => "[가-힣ᄀ-ᇿ]{1,5}",
        2 => "[ء-\u{652}\u{591}-\u{5f4}]{1,5}",
        2 => "[अ-ॿ]{1,5}",
        4 => "[\u{300}-\u{36f}\u{591}-\u{5c7}\u{64b}-\u{65f}\u{e38}-\u{e4b}\u{3099}\u{309a}\u{94d}\u{93c}]{1,4}",
        2 => "[À-ɏ]{1,4}",
        2 => "[，。！（）　～“”‘’…—、；：０-９Ａ-ｚ]{1,4}",
        1 => "[ﬀ-ﬆ㍿-㎏①-⑳Ⅰ-ⅿ½ªµºĳŉſẞßİıǅ\u{345}\u{fdfa}]{1,3}",
        2 => "[av-]?(12|1)[.,:'/– x-]?(500|50|5)[., -]?(000)?(gb|l)? ?",
        1 => "[ ٠-٩०-९۰-۹๐-๙]{1,7}",
        1 => "[ʻ-ʿꞋꞌىيیكکșşȚŢ]{1,3}",
        1 => "[ണനരതa]{1,2}[്্]\u{200d}?",
        2 => "[a-z0-9]?[\u{ad}\u{2010}-]{1,2}[ \t]?[\r\n]{0,2} ?[a-z\u{301}]?",
        1 => "[a-c]{0,2}[.@/]?[a-c]{1,2}(\\.|\\.\\.|@|-)(com|DE|It|a|bb|é|z\u{301})[/?:., ]?",
        1 => "([0-9a-f]{4}-?|[0-9a-f]{6,8}-|-?[bcdf2k]{5}|-?[bcdf2k]{8}){1,5}",
        1 => Just("3f2a9c1e-8b4d-4c6a-9f1e-2b7c8d9e0f1a".to_owned()),
        1 => select(vec!["https://a.b/c?d=", "www.", "://", "İ", "ı", "i\u{307}", "ж\u{301}", "ё", "\u{640}"])
            .prop_map(str::to_owned),
        1 => select(vec!["ー", "〇", "々", "𠮷", "👩‍👩‍👧", "1\u{fe0f}\u{20e3}", "\u{200b}", "\u{ad}", "\u{feff}"])
            .prop_map(str::to_owned),
        3 => any::<char>().prop_map(String::from),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..60).prop_map(|pieces| pieces.concat())
}

/// A short text of ASCII, of up to and above the length and the number of words of a line that has a path of its own.
fn line() -> impl Strategy<Value = String> {
    prop_oneof!["([A-Za-z0-9]{1,20}[ ,._-]{1,2}){0,30}[A-Ca-c]{0,3}", "([A-Za-z0-9] ){0,125}"]
}

/// Chunks of Chinese among other text.
fn chinese() -> impl Strategy<Value = String> {
    let piece = prop_oneof![6 => "[一-鿿]{1,90}", 1 => "[ぁ-ヿ，。 \n]{1,9}", 1 => piece()];
    prop::collection::vec(piece, 1..12).prop_map(|pieces| pieces.concat())
}

/// A document: texts among well-formed and broken markup of every kind.
fn html() -> impl Strategy<Value = String> {
    const ELEMENTS: &str = "p b DIV span br td script Style title textarea template noscript xmp iframe svg math \
        text blockquote blockquotes option plaintextes a1 h1 x-é nav main main article article header section label";
    let element = || select(ELEMENTS.split(' ').collect::<Vec<_>>());
    let piece = prop_oneof![
        6 => piece(),
        6 => element().prop_map(|name| format!("<{name}>")),
        6 => element().prop_map(|name| format!("</{name}>")),
        2 => (element(), "[a-z]{1,3}", "[ -~é]{0,9}").prop_map(|(name, key, value)| format!("<{name} {key}=\"{value}\">")),
        2 => (element(), select(vec!["hidden", "HIDDEN=''", "aria-hidden=true", "role=main", "role='Main' role=search",
            "role=search", "role=x role=main", "aria-hidden=trues", "hiddens", "id=toc", "CLASS='Footer'", "class='toc x'"]))
            .prop_map(|(name, attribute)| format!("<{name} {attribute}>")),
        1 => element().prop_map(|name| format!("<{name}\n/>")),
        // Attributes in every way, right and wrong.
        3 => (element(), "([ \t\r/]{0,2}[ab=\u{1}é]{0,2}[ =]{0,2}['\"/>]?[a <>/=é]{0,9}['\"]?){0,3}")
            .prop_map(|(name, attributes)| format!("<{name} {attributes}>")),
        1 => "</?[A-Za-z0-9é\u{1}/-]{1,12}[ />]{0,2}",
        2 => (element(), piece()).prop_map(|(name, text)| format!("<{name}>{text}</{name} x>")),
        2 => select(vec![
            "&amp;", "&lt;", "&nbsp;", "&eacute", "&notit;", "&nGt;", "&#20013;", "&#x4e2d", "&#0;", "&#128;", "&#xD800;",
            "&#99999999999;", "&unknown;", "&", "&#", "&#x;", "&shy;", "&a",
        ])
        .prop_map(str::to_owned),
        2 => select(vec![
            "<!-- ", " -->", "<!", "<!doctype html>", "<?xml ?>", "<![CDATA[", "]]>", "<", ">", "</", "<!-->", "<!--->", "/>",
            "<p", " x='", "\"", "'", "</script", "<!--<script>", "\0", "\r\n", "<plaintext>", "</>", "--!>", "<a/b=c>",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn options() -> impl Strategy<Value = Options> {
    (
        select(vec![Tokens::Words, Tokens::Words, Tokens::Chars]),
        prop::option::of(1u8..=16),
        select(vec![Weight::Set, Weight::Log, Weight::Tf]),
        any::<bool>(),
        prop_oneof![3 => Just(0), 1 => Just(1), 1 => any::<u64>()],
        prop::option::of(weights()),
        select(vec![None, None, Some(Markup::Html), Some(Markup::Main)]),
        (any::<bool>(), prop_oneof![3 => Just(vec![]), 1 => prop::collection::vec(word(), 1..4)]),
        prop_oneof![2 => Just([false; 5]), 1 => any::<[bool; 5]>()],
    )
        .prop_map(|(tokens, ngram, weight, case_fold, seed, weights, markup, (numbers, words), ignored)| {
            let [numbers_ignored, ids, urls, accents, hyphenation] = ignored;
            let ignore = Ignored { numbers: numbers_ignored, ids, urls, accents, hyphenation };
            let words = Words::new(&words, case_fold, ignore).expect("memory suffices").expect("valid words");
            let same = Same { numbers, words };
            let options = Options { tokens, ngram, weight, case_fold, seed, weights: None, markup, ignore, same };
            let weights = weights.map(|weights| {
                let map = WeightMap::new(Vec::from_iter(weights), options.case_fold, options.ignore, options.seed)
                    .expect("memory suffices");
                Arc::new(map.expect("no feature twice"))
            });
            Options { weights, ..options }
        })
}

/// Words that texts have: one token or several.
fn word() -> impl Strategy<Value = String> {
    prop_oneof!["[a-cA-C]", "[a-c]{1,2}[ -][a-c]", "[一-三中法]{1,2}", "[é1]", "[a-z]{2}"]
}

/// Features that texts have, with weights in billionths: round ones and others.
fn weights() -> impl Strategy<Value = BTreeMap<String, u32>> {
    let feature = prop_oneof!["[a-c]", "[a-z]{2}", "[a-c] [a-c]", "[一-三中法人民]{1,3}"];
    let weight = prop_oneof![(0u32..=10).prop_map(|tenths| tenths * 100_000_000), 0..=1_000_000_000u32];
    prop::collection::btree_map(feature, weight, 0..12)
}

type Reader = fn(&str, &mut String, &dyn Fn()) -> simhash::error::Result<()>;

/// What reads the text of a document, and its oracle.
fn readers(markup: Markup) -> (Reader, fn(&str) -> String) {
    match markup {
        Markup::Html => (text_of_html, oracle::markup::text_of_html),
        Markup::Main => (text_of_main, oracle::markup::text_of_main),
    }
}

/// The features of a text, once for each occurrence.
fn features(text: &str, options: &Options) -> Vec<String> {
    let (mut normal, mut without_markup) = (String::new(), String::new());
    let mut text = text;
    if let Some(markup) = options.markup {
        let (read, _) = readers(markup);
        read(text, &mut without_markup, &|| ()).expect("memory suffices");
        text = &without_markup;
    }
    normalise(text, options.case_fold, &mut normal, &|| ()).expect("memory suffices");
    options.ignore.remove(&mut normal, None, &|| ()).expect("memory suffices");
    let mut features = Vec::new();
    each_feature(&normal, false, options, &|| (), |feature: &[u8], hashed| {
        assert_eq!(hashed, SeededHasher(options.seed).hash(feature));
        features.push(String::from_utf8(feature.to_vec()).expect("a feature is cut between characters"));
        Ok(())
    })
    .expect("memory suffices");
    features
}

/// The first bands of a text; None if it has no feature that weighs anything.
fn bands_of(text: &str, options: &Options, bands: usize) -> Option<Vec<i32>> {
    summary(text, options, bands).map(|summary| summary.bands)
}

fn sorted(mut features: Vec<String>) -> Vec<String> {
    features.sort();
    features
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    /// The texts are long enough for the cache of words that a text has had.
    #[test]
    fn long_texts_match_oracle(text in text(), other in text(), options in options()) {
        let text = format!("{text} {other} {text}").repeat(1 + 5000 / (text.len() + 1));
        for options in [&Options::default(), &options] {
            prop_assert_eq!(fingerprint(&text, options), oracle::fingerprint(&text, options));
            prop_assert_eq!(bands_of(&text, options, 2), oracle::bands::bands(&text, options, 2));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn fingerprint_matches_oracle(text in prop_oneof![5 => text(), 1 => line(), 1 => chinese()], options in options()) {
        let folding = Options { case_fold: options.case_fold, ..Options::default() };
        for options in [&Options::default(), &folding, &options] {
            prop_assert_eq!(fingerprint(&text, options), oracle::fingerprint(&text, options));
        }
    }

    #[test]
    fn features_match_oracle(text in text(), options in options()) {
        prop_assert_eq!(sorted(features(&text, &options)), sorted(oracle::features(&text, &options)));
    }

    #[test]
    fn bands_match_oracle(
        text in prop_oneof![5 => text(), 1 => line(), 1 => chinese(), 1 => html()],
        options in options(),
        bands in 1..=MAX_BANDS,
    ) {
        for options in [&Options::default(), &options] {
            prop_assert_eq!(bands_of(&text, options, bands), oracle::bands::bands(&text, options, bands));
        }
    }

    #[test]
    fn html_matches_oracle(html in html(), before in "[a-z]{0,3}", options in options()) {
        for markup in [Markup::Html, Markup::Main] {
            let (read, oracle) = readers(markup);
            let (mut text, expected) = (before.clone(), oracle(&html));
            prop_assert_eq!(read(&html, &mut text, &|| ()), Ok(()));
            prop_assert_eq!(oracle::markup::words(&text), oracle::markup::words(&expected));
            let [of_text, of_html] = [None, Some(markup)].map(|markup| Options { markup, ..options.clone() });
            prop_assert_eq!(fingerprint(&html, &of_html), fingerprint(&expected, &of_text));
        }
    }

    #[test]
    fn matches_stand_in_the_text(text in prop_oneof![1 => text(), 3 => html()], options in options()) {
        for markup in [None, Some(Markup::Html), Some(Markup::Main)] {
            let options = Options { markup, ..options.clone() };
            for found in with_fingerprinter(&options, |reader| matches(reader, &text, &text, MAX_CHANGED, Unit::Bytes)) {
                prop_assert_eq!(&found.content, &found.clue);
                let run = text.get(found.content.start as usize..found.content.end as usize);
                let has_letter = |run: &str| run.contains(|c: char| c.is_ascii_alphanumeric() || !c.is_ascii());
                prop_assert!(run.is_some_and(has_letter), "{:?} {:?}", run, found);
            }
        }
    }

    #[test]
    fn listed_weights_match_oracle(text in text(), options in options()) {
        let list = with_fingerprinter(&options, |fingerprinter| fingerprinter.features(&text));
        let scale = if options.weights.is_some() { 1_000_000_000 / list.unit_weight() } else { 1 };
        let mut listed: Vec<(u64, u64)> =
            list.iter().map(|feature| (feature.hash, feature.weight * scale)).collect();
        listed.sort_unstable();
        prop_assert_eq!(listed, oracle::weighted_features(&text, &options));
    }

    #[test]
    fn scratch_leaves_no_trace(texts in prop::collection::vec((text(), text(), options()), 1..6)) {
        let mut scratch = Scratch::default();
        for (a, b, options) in texts {
            let [reused, expected] = [&mut scratch, &mut Scratch::default()].map(|scratch| {
                let mut fingerprinter = Fingerprinter::new(scratch, &options, &|| ());
                (resemblance(&mut fingerprinter, &a, &b), fingerprinter.fingerprint(&a))
            });
            prop_assert_eq!(reused, expected);
        }
    }

    #[test]
    fn resemblance_matches_oracle(
        a in text(),
        common in text(),
        b in text(),
        options in options(),
        least in 0.001..1.0,
    ) {
        let (a, b) = (format!("{a} {common}"), format!("{common} {b}"));
        let exact = resemblance_of(&a, &b, &options);
        // The features of one text, compared with several others: with itself, with the other one, and again.
        let mut scratch = Scratch::default();
        let mut fingerprinter = Fingerprinter::new(&mut scratch, &options, &|| ());
        let prepared = Prepared::new(&mut fingerprinter, &b).expect("memory suffices");
        let itself = prepared.resemblance_from(0.0, &mut fingerprinter, &b);
        prop_assert!(matches!(itself, Ok(None | Some(1.0))), "{itself:?}");
        for _ in 0..2 {
            prop_assert_eq!(prepared.resemblance_from(0.0, &mut fingerprinter, &a), Ok(exact));
        }
        for least in [least, exact.unwrap_or(least), exact.unwrap_or(least).next_up()] {
            let found = prepared.resemblance_from(least, &mut fingerprinter, &a);
            prop_assert_eq!(found, Ok(exact.filter(|exact| *exact >= least)), "{}", least);
            let found = prepared.resembles(least, &mut fingerprinter, &a);
            prop_assert_eq!(found, Ok(exact.map(|exact| exact >= least)), "{}", least);
        }
        prop_assert_eq!(exact, oracle::resemblance(&a, &b, &options));
        let [of_a, of_b] = [&a, &b].map(|text| oracle::compared(text, &options));
        let all: u64 = of_a.values().sum();
        let share = (all > 0).then(|| oracle::common(&of_a, &of_b) as f64 / all as f64);
        prop_assert_eq!(containment(&mut fingerprinter, &a, &b), Ok(share));
    }

    #[test]
    fn near_texts_are_defined(
        a in text(),
        common in text(),
        b in text(),
        options in options(),
        least in 0.001..1.0,
        bands in 1..=MAX_BANDS,
    ) {
        let (a, b) = (format!("{a} {common}"), format!("{common} {b}"));
        let document = format!(r#"{{"resemblance": {least}, "bands": {bands}}}"#);
        let mut criterion = CriterionDocument::from_json(&document).expect("a criterion");
        criterion.options = options;
        let mut scratch = Scratch::default();
        let mut fingerprinter = Fingerprinter::new(&mut scratch, &criterion.options, &|| ());
        let both = bands_of(&a, &criterion.options, bands).zip(bands_of(&b, &criterion.options, bands));
        let shares_band = both.map(|(a, b)| a.iter().zip(&b).any(|(a, b)| a == b));
        let fingerprints = [&a, &b].map(|text| fingerprinter.fingerprint(text).expect("memory suffices"));
        let distance = fingerprints[0].zip(fingerprints[1]).map(|(a, b)| (a ^ b).count_ones());
        let is_close = distance.map(|distance| distance <= TextCriterion { resemblance: least, bands }.max_distance());
        let resemblance = oracle::resemblance(&a, &b, &criterion.options);
        let is_candidate = shares_band.zip(is_close).map(|(shares_band, is_close)| shares_band && is_close);
        let defined = is_candidate.zip(resemblance).map(|(is_candidate, found)| is_candidate && found >= least);
        prop_assert_eq!(criterion.near(&mut fingerprinter, &a, &b), Ok(defined));
        prop_assert_eq!(criterion.near(&mut fingerprinter, &b, &a), Ok(defined));
        let checks = criterion.explain(&mut fingerprinter, [&a, &b]).expect("a criterion");
        let (near, checks) = checks.split_last().expect("a verdict");
        prop_assert_eq!(near.holds, defined);
        let required: Vec<_> = checks.iter().filter(|check| check.required.is_some()).map(|check| check.holds).collect();
        prop_assert_eq!(required.into_iter().collect::<Option<Vec<_>>>().map(|all| all.into_iter().all(|holds| holds)), defined);
    }

    #[test]
    fn difference_matches_features(a in text(), common in text(), b in text(), options in options()) {
        let texts = [format!("{a} {common}"), format!("{common} {b}")];
        let listed = |list: &FeatureList| list.iter().map(|f| (f.text.to_owned(), f.weight)).collect::<Vec<_>>();
        let of_texts = texts.each_ref().map(|text| listed(&with_fingerprinter(&options, |reader| reader.features(text))));
        let more_than = |own: &[(String, u64)], other: &[(String, u64)]| -> Vec<(String, u64)> {
            let other: BTreeMap<_, _> = other.iter().cloned().collect();
            let less = |(feature, weight): &(String, u64)| {
                (feature.clone(), weight.saturating_sub(other.get(feature).copied().unwrap_or(0)))
            };
            own.iter().map(less).filter(|(_, weight)| *weight > 0).collect()
        };
        let found = with_fingerprinter(&options, |reader| difference(reader, &texts[0], &texts[1]));
        let [of_a, of_b] = &of_texts;
        prop_assert_eq!(found.each_ref().map(listed), [more_than(of_a, of_b), more_than(of_b, of_a)]);
    }

    /// The least resemblance is the texts' own, so the tightest that an index must find.
    #[test]
    fn texts_that_resemble_have_similar_sizes(
        a in text(),
        common in text(),
        b in text(),
        repetitions in 1..20usize,
        options in options(),
    ) {
        let texts = [format!("{a} {common}"), format!("{} {b}", format!("{common} ").repeat(repetitions))];
        let sizes = texts.each_ref().map(|text| {
            let size = summary(text, &options, 0).map(|summary| summary.size);
            let total: u128 = oracle::compared(text, &options).values().map(|weight| u128::from(*weight)).sum();
            let one = if options.weights.is_some() { 1_000_000_000 } else { 1 };
            assert_eq!(size.unwrap_or(0) as u128, total.div_ceil(one));
            size
        });
        let [a, b] = &texts;
        let found = resemblance_of(a, b, &options);
        if let ([Some(a), Some(b)], Some(least)) = (sizes, found.filter(|found| *found > 0.0)) {
            let similar = |size| similar_sizes(size, least, are_sizes_exact(&options));
            prop_assert!(similar(a).contains(&b) && similar(b).contains(&a), "{a} {b} {least}");
        }
    }

    #[test]
    fn words_that_must_agree_are_tokens(words in prop::collection::vec(word(), 0..9), options in options()) {
        let tokens = words.iter().map(|word| oracle::tokens_of_word(word, &options));
        let read = Words::new(&words, options.case_fold, options.ignore).expect("memory suffices").expect("valid words");
        prop_assert_eq!(read.iter().collect::<BTreeSet<_>>(), tokens.collect());
    }

    #[test]
    fn table_counts_each_hash(hashes in prop::collection::vec(0u64..300, 0..900), at_once in 1usize..=FEATURE_BATCH, counted: bool) {
        let mut table = FeatureTable::default();
        table.reset(0, counted, &|| ()).expect("memory suffices");
        let mut counts = BTreeMap::new();
        for hashes in hashes.chunks(at_once) {
            let mut batch = hashes.to_vec();
            let new = table.insert_all(&mut batch, &|| ()).expect("memory suffices");
            let mut expected = Vec::new();
            for hash in hashes {
                let count = counts.entry(*hash).or_insert(0);
                expected.extend((*count == 0).then_some(*hash));
                *count = if counted { *count + 1 } else { 1 };
            }
            prop_assert_eq!(&batch[..new], &expected);
        }
        prop_assert_eq!(table.distinct(), counts.len());
        prop_assert!(table.iter().collect::<BTreeMap<_, _>>() == counts);
        prop_assert!((0..310).all(|hash| table.count(hash) == counts.get(&hash).copied().unwrap_or(0)));
        prop_assert!((0..310).all(|hash| table.contains(hash) == counts.contains_key(&hash)));
    }

    #[test]
    fn tally_is_majority_vote(
        votes in prop::collection::vec((any::<u64>(), any::<bool>()), 0..200),
        weighted in prop::collection::vec((any::<u64>(), weight()), 0..100),
        cut in 0usize..100,
        last: u64,
    ) {
        let mut tally = Tally::default();
        votes.iter().for_each(|&(hash, counts)| tally.vote(hash, counts));
        let mut all: Vec<(u64, u64)> = votes.iter().map(|&(hash, counts)| (hash, counts.into())).collect();
        prop_assert_eq!(tally.fingerprint(), oracle::fingerprint_of(&all));
        let votes: Vec<u64> = votes.into_iter().map(|(hash, _)| hash).collect();
        tally.vote_all(&votes);
        all.extend(votes.iter().map(|hash| (*hash, 1)));
        prop_assert_eq!(tally.fingerprint(), oracle::fingerprint_of(&all));
        // Weights, of which some come from another tally.
        let (first, second) = weighted.split_at(cut.min(weighted.len()));
        let mut other = Tally::default();
        first.iter().for_each(|&(hash, weight)| tally.add(hash, weight).expect("the sum is in range"));
        second.iter().for_each(|&(hash, weight)| other.add(hash, weight).expect("the sum is in range"));
        tally.vote(last, true);
        other.vote(last, true);
        let mut tally = Tally::from_bytes(&tally.to_bytes()).expect("the bytes of a tally");
        tally.merge(&other).expect("the sum is in range");
        all.extend(weighted.iter().copied().chain([(last, 2)]));
        prop_assert_eq!(tally.fingerprint(), oracle::fingerprint_of(&all));
        tally.vote(last, true);
        tally.clear();
        prop_assert_eq!(tally.to_bytes(), Tally::default().to_bytes());
        prop_assert_eq!(tally.fingerprint(), None);
        tally.vote(last, true);
        prop_assert_eq!(tally.fingerprint(), Some(last));
    }

    /// Bytes that no tally has written are refused: no total, or counters beyond it.
    #[test]
    fn other_bytes_are_no_tally(total in any::<u8>(), planes in prop::collection::vec(0u64..4, 0..5)) {
        let mut bytes = u128::from(total).to_le_bytes().to_vec();
        bytes.extend(planes.iter().flat_map(|plane| plane.to_le_bytes()));
        let counter = |bit: u32| (0..).zip(&planes).map(|(i, plane): (u32, _)| u128::from(plane >> bit & 1) << i).sum();
        let counters: [u128; 2] = [0, 1].map(counter);
        let is_written = planes.last() != Some(&0) && counters.iter().all(|counter| *counter <= total.into());
        let read = Tally::from_bytes(&bytes);
        prop_assert_eq!(read.is_some(), is_written);
        if let Some(mut read) = read {
            prop_assert_eq!(read.to_bytes(), bytes);
            let [first, second] = counters.map(|counter| u64::from(counter * 2 > total.into()));
            prop_assert_eq!(read.fingerprint(), (total > 0).then_some(first | second << 1));
        }
    }

    #[test]
    fn hash_1_to_8_matches_hash(
        before in 0usize..12, feature in prop::collection::vec(any::<u8>(), 0..10), after in 0usize..12,
        seed: u64,
    ) {
        let text = [&vec![b'x'; before], &feature[..], &vec![b'y'; after]].concat();
        let bytes = bytes_at(&text, before, before + feature.len());
        prop_assert_eq!(bytes.is_some(), (1..=8).contains(&feature.len()) && text.len() >= 8);
        if let Some(bytes) = bytes {
            prop_assert_eq!(&bytes.to_le_bytes()[..feature.len()], &feature);
            prop_assert_eq!(hash_1_to_8(bytes, feature.len()), hash(&feature));
            prop_assert_eq!(SeededHasher(seed).hash_1_to_8(bytes, feature.len()), SeededHasher(seed).hash(&feature));
        }
    }

    #[test]
    fn hash_9_to_16_matches_hash(
        feature in prop::collection::vec(any::<u8>(), 9..=16), seed: u64,
    ) {
        let [first, last] = [feature.first_chunk(), feature.last_chunk()].map(|bytes| *bytes.expect("eight bytes"));
        let [first, last] = [first, last].map(u64::from_le_bytes);
        prop_assert_eq!(hash_9_to_16(first, last, feature.len()), hash(&feature));
        prop_assert_eq!(SeededHasher(seed).hash_9_to_16(first, last, feature.len()), SeededHasher(seed).hash(&feature));
    }

    #[test]
    fn finds_seen_words_again(words in prop::collection::vec(1u64..300, 0..600), bytes in 0usize..9000) {
        let mut seen = SeenWords::default();
        let mut before = BTreeSet::new();
        seen.reset(bytes).expect("memory suffices");
        for word in words {
            // A word may have been forgotten, but it is never taken for another.
            let known = seen.repeats(word);
            prop_assert!(!known || before.contains(&word));
            prop_assert_eq!(seen.repeats(word), bytes >= 4096);
            before.insert(word);
        }
        seen.reset(bytes).expect("memory suffices");
        prop_assert!(before.iter().all(|word| !seen.repeats(*word)));
    }

    #[test]
    fn distance_counts_bits(a in any::<u64>(), b in any::<u64>()) {
        let bits = (0..64).filter(|bit| a >> bit & 1 != b >> bit & 1).count();
        prop_assert_eq!(hamming(a, b), bits as u32);
    }

    #[test]
    fn blocks_make_up_fingerprint(fingerprint in any::<u64>(), blocks in 2i32..=8) {
        let mut whole: u128 = 0;
        for number in 0..blocks {
            let block = Block::new(number, blocks).expect("a block of the layout");
            let wider = if number < 64 % blocks { 1 } else { 0 };
            prop_assert_eq!(block.width() as i32, 64 / blocks + wider);
            whole = whole << block.width() | u128::from(block.value(fingerprint) as u32);
        }
        prop_assert_eq!(whole, u128::from(fingerprint));
    }

    #[test]
    fn probes_match_oracle(fingerprint in any::<u64>(), number in 0i32..8, radius in prop::option::of(0u32..10)) {
        let block = Block::new(number, 8).expect("a block of the layout");
        let probed = radius.map(|radius| Probed { block, radius });
        let mut probes: Vec<i32> = probed.into_iter().flat_map(|probed| probed.probes(fingerprint)).collect();
        probes.sort_unstable();
        let within = |value: &i32| {
            radius.is_some_and(|radius| (value ^ block.value(fingerprint)).count_ones() <= radius)
        };
        let expected: Vec<i32> = (0..1 << block.width()).filter(within).collect();
        prop_assert_eq!(probed.map_or(0, Probed::probe_count), expected.len() as u64);
        prop_assert_eq!(probes, expected);
    }
}

/// Weights up to the largest that a caller may give, in billionths.
fn weight() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..10, 0..=1_000_000_000_000_000_000u64]
}

#[test]
fn radii_fulfil_pigeonhole_principle() {
    for blocks in 2..=8 {
        for max_distance in 0..=64 {
            let radii = (0..blocks).map(|number| radius(number, blocks, max_distance).map_or(-1, i64::from));
            assert_eq!(radii.sum::<i64>(), i64::from(max_distance + 1 - blocks), "{blocks} blocks, {max_distance}");
        }
        assert_eq!(radius(0, blocks, -1), None);
        assert_eq!(radius(0, blocks, i32::MIN), None);
        assert_eq!(radius(0, blocks, i32::MAX), radius(0, blocks, 64));
    }
    for (number, blocks) in [(0, 1), (0, 9), (-1, 4), (4, 4), (0, i32::MIN), (i32::MAX, 8)] {
        assert_eq!(Block::new(number, blocks), None);
    }
}

/// Each kind of character, in each kind of context that normalisation looks at.
#[test]
fn all_characters_match_oracle() {
    let single = Options { ngram: Some(1), ..Options::default() };
    let neighbourhoods = [
        ("", ""),
        ("a", "b"),
        ("<", "\u{338}"),
        ("e\u{323}", "\u{301}x"),
        ("\u{e01}\u{e48}", "中"),
        ("\u{1100}", "\u{11a8}"),
        ("中 ", "か\u{3099}"),
        ("i", "\u{307}x"),
        ("α", "\u{301}ω"),
        ("e\u{ad}\n", "b"),
        ("\u{d30}\u{d4d}", "z"),
    ];
    for c in all_kinds_of_characters() {
        for (before, after) in neighbourhoods {
            let text = format!("{before}{c}{after}");
            assert_eq!(features(&text, &single), oracle::features(&text, &single), "{text:?} U+{:04X}", u32::from(c));
        }
    }
}

/// All characters of the planes in which some are assigned, and a few of the other planes, which are all alike.
fn all_kinds_of_characters() -> impl Iterator<Item = char> {
    ('\0'..=char::MAX).filter(|&c| !matches!(c, '\u{40000}'..'\u{e0000}' | '\u{f0000}'..) || u32::from(c) % 1009 == 0)
}

/// Pairs of characters that change or combine: enough pairs to have every pair of combining classes.
#[test]
fn mark_order_matches_oracle() {
    let single = Options { ngram: Some(1), ..Options::default() };
    let marks: Vec<char> = ('\u{300}'..='\u{36f}')
        .chain('\u{591}'..='\u{5c7}')
        .chain('\u{610}'..='\u{670}')
        .chain(
            "\u{93c}\u{94d}\u{9be}\u{e38}\u{e48}\u{f71}\u{f72}\u{3099}\u{1161}\u{11a8}\u{345}\u{302a}\u{1d165}".chars(),
        )
        .collect();
    for base in ["a", "中", "か", "\u{1100}", " ", "<", "ό", "Ｅ", "\u{1112}\u{1161}"] {
        for first in &marks {
            for second in &marks {
                let text = format!("{base}{first}{second}z");
                assert_eq!(features(&text, &single), oracle::features(&text, &single), "{text:?}");
            }
        }
    }
}

/// The keys of the option `weights` are normalised, although `simhash_features` shows them in normal form.
#[test]
fn normalisation_is_idempotent() {
    for case_fold in [false, true] {
        for c in all_kinds_of_characters() {
            for marks in ["", "\u{301}", "\u{307}\u{301}"] {
                let normal = oracle::normalise(&format!("a{c}{marks}b"), case_fold);
                assert_eq!(oracle::normalise(&normal, case_fold), normal, "U+{:04X}{marks}", u32::from(c));
            }
        }
    }
}
