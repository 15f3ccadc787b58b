//! Resemblance: simple cases by hand, and long texts.

mod shared;

use serde_json::{Value, json};
use shared::ticks::Ticks;
use simhash::error::Error;
use simhash::fingerprint::options::{Options, Weight};
use simhash::fingerprint::resemblance::{Prepared, resemblance};
use simhash::fingerprint::{Fingerprinter, Scratch};

fn compare(a: &str, b: &str, options: &Options) -> Result<Option<f64>, Error> {
    resemblance(&mut Fingerprinter::new(&mut Scratch::default(), options, &|| ()), a, b)
}

/// The features of a text with their weights, in their order.
fn listed(text: &str, options: &Options) -> Vec<(String, u64)> {
    let list = shared::calls::with_fingerprinter(options, |fingerprinter| fingerprinter.features(text));
    list.iter().map(|feature| (feature.text.to_owned(), feature.weight)).collect()
}

/// Of a million words that the first text lacks, few are read.
#[test]
fn impossible_resemblance_ends_reading() {
    let (mut scratch, options) = (Scratch::default(), Options::default());
    let prepared =
        Prepared::new(&mut Fingerprinter::new(&mut scratch, &options, &|| ()), "a b c").expect("memory suffices");
    let other: String = (0..1_000_000).map(|n| format!("w{n} ")).collect();
    let mut ticks = |least| {
        let ticks = Ticks::default();
        let tick = || ticks.tick();
        let mut fingerprinter = Fingerprinter::new(&mut scratch, &options, &tick);
        let found = prepared.resemblance_from(least, &mut fingerprinter, &other).expect("memory suffices");
        (ticks.count(), found)
    };
    let [(all, exact), (few, none)] = [0.0, 0.5].map(&mut ticks);
    assert_eq!((exact, none), (Some(0.0), None));
    assert!(few < all / 2, "{few} ticks of {all}");
}

#[test]
fn simple_cases() {
    let cases: &[(&str, &str, Value, Option<f64>)] = &[
        // b, c and the pair of both, beside a, d and their pairs.
        ("a b c", "b c d", json!({}), Some(3.0 / 7.0)),
        ("a b c", "A, B; C!", json!({}), Some(1.0)),
        ("a b c", "C, B; A!", json!({}), Some(3.0 / 7.0)),
        ("a b c", "d e", json!({}), Some(0.0)),
        ("a a a b", "a b b", json!({}), Some(3.0 / 5.0)),
        ("a a a b", "a b b", json!({"weight": "tf"}), Some(3.0 / 9.0)),
        // 256 (1 + ln 2) = 433, 256 (1 + ln 3) = 537
        ("a a a b", "a b b", json!({"weight": "log"}), Some(768.0 / 1915.0)),
        ("a b c", "c b a", json!({"ngram": 2}), Some(0.0)),
        ("a b c", "a b d", json!({"ngram": 2}), Some(1.0 / 5.0)),
        ("A b", "a b", json!({"case_fold": false}), Some(1.0 / 5.0)),
        ("word", "words", json!({"tokens": "chars"}), Some(1.0 / 2.0)),
        // A pair weighs what the lighter of its features does: a and ab .2, of 2 and 1.2 + 2 for c and bc.
        ("a b", "a b c", json!({"weights": {"a": 0.2}}), Some(1.4 / 3.4)),
        // Letters of a script without spaces end a run of words, and numbers do not.
        ("a 天地人 b", "b 天地人 a", json!({}), Some(1.0)),
        ("a 1 b", "b 1 a", json!({}), Some(3.0 / 7.0)),
        ("The tenant pays the landlord", "The landlord pays the tenant", json!({}), Some(7.0 / 9.0)),
        // The features are 天地人 and 地人和 with one pair, and 地人和 and 人和平 with another.
        ("天地人和", "地人和平", json!({}), Some(1.0 / 5.0)),
        ("tons: 4,000", "4,000 tons", json!({"same": ["numbers"]}), Some(4.0 / 6.0)),
        ("4,000 tons", "5,000 tons", json!({}), Some(3.0 / 7.0)),
        ("4,000 tons", "5,000 tons", json!({"same": []}), Some(3.0 / 7.0)),
        ("4,000 tons", "5,000 tons", json!({"same": ["numbers"]}), Some(0.0)),
        ("due 12 May: 5", "due 5 May: 12", json!({"same": ["numbers"]}), Some(0.0)),
        ("due 12 May", "due 13 May", json!({"ignore": ["numbers"]}), Some(1.0)),
        ("due 12 May", "due 13 May", json!({"ignore": ["numbers"], "same": ["numbers"]}), Some(0.0)),
        ("see http://a.b/1 now", "see https://c.d/2 now", json!({"ignore": ["urls"], "same": ["numbers"]}), Some(1.0)),
        ("ещё раз, déjà vu, ώρα", "еще раз, deja vu, ωρα", json!({"ignore": ["accents"]}), Some(1.0)),
        ("café a", "cafe b", json!({"ignore": ["accents"], "weights": {"Café": 0.5}}), Some(1.0 / 7.0)),
        // The number of occurrences counts too. "a4" is a number; a letter of a script without spaces is none.
        ("1 1 2", "1 2 2", json!({"same": ["numbers"]}), Some(0.0)),
        ("size a4", "size a5", json!({"same": ["numbers"], "tokens": "chars"}), Some(0.0)),
        ("size A4", "size a4", json!({"same": ["numbers"]}), Some(1.0)),
        ("size A4", "size a4", json!({"same": ["numbers"], "case_fold": false}), Some(0.0)),
        ("三天 ٣ １", "三天 ٣ 1", json!({"same": ["numbers"]}), Some(1.0)),
        ("三天 ٣", "三天 ٤", json!({"same": ["numbers"]}), Some(0.0)),
        ("you may not go", "you may go", json!({"same": ["not"]}), Some(0.0)),
        ("you may NOT go, not now", "you may not go now", json!({"same": ["Not"]}), Some(8.0 / 11.0)),
        ("started gpg-agent", "started ssh-agent", json!({"same": ["gpg-agent"]}), Some(0.0)),
        ("gpg, agent", "agent: gpg", json!({"same": ["gpg-agent"]}), Some(0.0)),
        ("nothing", "nothing", json!({"same": ["no", "not", "thing"]}), Some(1.0)),
        ("不 能 去", "能去", json!({"same": ["不能"]}), Some(0.0)),
        ("café 1", "cafe 1", json!({"same": ["café", "numbers"], "ignore": ["accents", "numbers"]}), Some(1.0)),
        ("<p>no", "<p title=no>no", json!({"same": ["title"], "markup": "html"}), Some(1.0)),
        ("17", "?!", json!({"same": ["numbers"]}), None),
        ("", "", json!({}), None),
        ("", "a", json!({}), None),
        ("a", "?!", json!({}), None),
    ];
    for (a, b, options, expected) in cases {
        let parsed = Options::from_json(&options.to_string()).expect("valid options");
        assert_eq!(compare(a, b, &parsed), Ok(*expected), "{a:?}, {b:?}, {options}");
        assert_eq!(compare(b, a, &parsed), Ok(*expected), "{b:?}, {a:?}, {options}");
    }
}

#[test]
fn long_texts_grow_tables() {
    let words = |numbers: std::ops::Range<u32>| numbers.map(|n| format!("{n} ")).collect::<String>();
    let (a, b) = (words(0..300_000), words(100_000..400_000));
    assert_eq!(compare(&a, &b, &Options::default()), Ok(Some(399_999.0 / 799_999.0)));
    let tf = Options { weight: Weight::Tf, ..Options::default() };
    assert_eq!(compare(&a.repeat(2), &b, &tf), Ok(Some(399_999.0 / 1_399_999.0)));
}

#[test]
fn returns_errors_of_both() {
    let endless = format!("a{} b", "\u{301}".repeat(1 << 20));
    for (a, b) in [(endless.as_str(), "a"), ("a", &endless), ("", &endless), (&endless, "")] {
        assert_eq!(compare(a, b, &Options::default()), Err(Error::CombiningSequenceTooLong));
    }
}

/// Invisible characters, and marks that writing may leave out, do not count, nor do they in the fingerprint.
#[test]
fn unseen_characters_do_not_count() {
    for (a, b) in [
        (
            "Die Kraft\u{ad}fahr\u{ad}zeug-Haft\u{ad}pflicht\u{ad}versicherung",
            "Die Kraftfahrzeug-Haftpflichtversicherung",
        ),
        ("Buy ch\u{2062}eap pi\u{200b}lls n\u{2060}ow", "buy cheap pills now"),
        ("\u{feff}can\u{34f}not \u{202a}be\u{202c} seen\u{fe0f}", "cannot be seen"),
        ("می\u{200c}خواهم", "میخواهم"),
        ("بِسْمِ اللَّهِ الرَّحْمَٰنِ الرَّحِيمِ", "بسم الله الرحمن الرحيم"),
        ("مـــرحبا", "مرحبا"),
        ("בְּרֵאשִׁית בָּרָא אֱלֹהִים", "בראשית ברא אלהים"),
        ("İSTANBUL ISPARTA", "istanbul ısparta"),
        ("i\u{307}stanbul", "İstanbul"),
        ("bi\u{307}\u{301}tė ma\u{df}\u{301}", "bítė masś"),
        ("ΑΘΗΝΑ, ΜΑΪΟΣ, ὭΡΑ", "Αθήνα, Μάιος, ὥρα"),
        ("e\u{ad}\u{301}t\u{200d}e\u{301}", "été"),
        ("ISO\u{2011}9000", "iso\u{2010}9000"),
    ] {
        let fingerprint = |text| shared::calls::fingerprint(text, &Options::default());
        let same = listed(a, &Options::default()) == listed(b, &Options::default());
        assert!(same && fingerprint(a) == fingerprint(b), "{a} {:?}", listed(a, &Options::default()));
    }
    // Where case counts, so does what only capitals leave out.
    let cased = Options { case_fold: false, ..Options::default() };
    assert_eq!(listed("Αθή\u{ad}να ı", &cased), [("Αθήνα".to_owned(), 1), ("ı".to_owned(), 1)]);
}

/// A run of characters that nobody sees is no combining sequence.
#[test]
fn invisible_characters_have_no_limit() {
    let hidden = format!("a{}b", "\u{200b}".repeat(1 << 20));
    assert_eq!(listed(&hidden, &Options::default()), [("ab".to_owned(), 1)]);
}
