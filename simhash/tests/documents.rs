//! Options and criteria are read from JSON documents.

use simhash::criterion::{CriterionDocument, TextCriterion, merged};
use simhash::fingerprint::invalid_options::{CRITERION_KEYS, InvalidOptions, OPTION_KEYS, Reason};
use simhash::fingerprint::options::Options;
use simhash::fingerprint::resemblance::DEFAULT_RESEMBLANCE;

/// Reads the value of an option. The error is the part of the value that is wrong.
fn option(key: &str, value: &str) -> Result<Options, String> {
    Options::from_json(&format!(r#"{{"{key}": {value}}}"#)).map_err(|invalid| match invalid.reason {
        Reason::WrongValue { value, .. } => value,
        other => panic!("{other:?}"),
    })
}

#[test]
fn numbers_are_read_by_value() {
    for (numbers, value) in [
        ("1 1e0 0.00000000000000000000001e23 1000000000000000000000000000000e-30", 1),
        ("2.50e1 25", 25),
        ("0 -0.0 0e99999999999999999999", 0),
        ("18446744073709551615 1.8446744073709551615E+19 18446744073709551615.0000000000000000000", u64::MAX),
    ] {
        for number in numbers.split(' ') {
            assert_eq!(option("seed", number).map(|options| options.seed), Ok(value), "{number}");
        }
    }
    let same = [r#"{"bands": 6.0, "max_distance": 1e1}"#, r#"{"bands": 6, "max_distance": 10}"#];
    assert_eq!(CriterionDocument::from_json(same[0]), CriterionDocument::from_json(same[1]));
    let others = "-1e3 2.5 25e-1 18446744073709551616 18446744073709551615.0000000000000000000000001 \
        1e999999999999999999999 1e-9223372036854775808 [1e3,{\"b\":1}]";
    for number in others.split(' ') {
        assert_eq!(option("seed", number), Err(number.to_owned()));
    }
}

fn weights(value: &str) -> Result<Vec<(String, u32)>, String> {
    let options = option("weights", value)?;
    let weights = options.weights.iter().flat_map(|weights| weights.iter());
    Ok(weights.map(|(feature, weight)| (feature.to_owned(), weight)).collect())
}

#[test]
fn weights_are_rounded_to_billionths() {
    for (numbers, billionths) in [
        ("0 -0.0 0e99999999999999999999 1e-99999999999999999999 0.0000000004999", 0),
        ("0.2 2e-1 0.00000002e7", 200_000_000),
        ("0.0000000005", 1),
        ("0.1234567894999999999999", 123_456_789),
        ("0.1234567895", 123_456_790),
        ("0.999999999", 999_999_999),
    ] {
        for number in numbers.split(' ') {
            assert_eq!(weights(&format!(r#"{{"a": {number}}}"#)), Ok(vec![("a".into(), billionths)]), "{number}");
        }
    }
    for number in ["1", "1.000", "10e-1", "0.9999999995"] {
        assert_eq!(weights(&format!(r#"{{"a": {number}}}"#)), Ok(vec![]), "{number}");
    }
    let others = "1.00000000000000000001 2 4.2949672955 99999999999999999999 1e1 1e99999999999999999999 -1e-30 -1";
    for number in others.split(' ') {
        assert!(weights(&format!(r#"{{"a": {number}}}"#)).is_err(), "{number}");
    }
}

#[test]
fn weighted_features_are_normalised() {
    let expected = vec![("of the".to_owned(), 500_000_000), ("\u{6570}\u{636e}".to_owned(), 0)];
    assert_eq!(weights(r#"{"OF the": 0.5, "\u6570\u636e": 0, "x": 1}"#), Ok(expected));
    assert_eq!(weights(r#"{"A": 0.5}, "case_fold": false"#), Ok(vec![("A".into(), 500_000_000)]));
    assert_eq!(weights(r#"{"A": 0.5, "a": 1}"#), Err("\"a\" twice".to_owned()));
    assert_eq!(weights(r#"{"A": "0.5"}"#), Err("\"A\": \"0.5\"".to_owned()));
    assert_eq!(weights("[0.50]"), Err("[0.50]".to_owned()));
    assert_eq!(option("weights", r#"{"a": 1, "b": 1.0}, "seed": 0"#), Ok(Options::default()));
}

#[test]
fn last_equal_key_counts() {
    assert_eq!(option("ngram", r#"99, "ngram": 2"#).map(|options| options.ngram), Ok(Some(2)));
    assert_eq!(option("ngram", r#"2, "ngram": 99"#), Err("99".to_owned()));
}

#[test]
fn other_json_is_refused() {
    let deep = format!("{}{}", "[".repeat(4000), "]".repeat(4000));
    assert!(option("seed", &deep).is_err());
    let reason = |json| Options::from_json(json).unwrap_err().reason;
    for json in ["", "{", "{} {}", "{\"tokens\": \"\\ud800\"}", "{\"seed\": 01}", "{\"seed\": 1.}", "nul"] {
        assert!(matches!(reason(json), Reason::Unreadable(_)), "{json}");
    }
    for json in ["null", "[]", " 1e3 ", "\"{}\""] {
        assert_eq!(reason(json), Reason::NotAnObject, "{json}");
    }
}

fn read(document: &str) -> CriterionDocument {
    CriterionDocument::from_json(document).unwrap()
}

#[test]
fn texts_have_no_distance() {
    let texts = |resemblance, bands| Ok(TextCriterion { resemblance, bands });
    assert_eq!(read("{}").for_texts(), texts(DEFAULT_RESEMBLANCE, 6));
    assert_eq!(read(r#"{"resemblance": 0.7, "ngram": 2}"#).for_texts(), texts(0.7, 12));
    assert_eq!(read(r#"{"resemblance": 0.6}"#).for_texts(), texts(0.6, 24));
    assert_eq!(read(r#"{"resemblance": 0.5, "bands": 9}"#).for_texts(), texts(0.5, 9));
    assert_eq!(
        [r#"{"resemblance": null}"#, r#"{"max_distance": 8}"#].map(|document| read(document).max_distance()),
        [3, 8]
    );
    // A resemblance that was measured is read as it was.
    for together in 1..1000 {
        for common in 1..=together {
            let share = f64::from(common) / f64::from(together);
            let document = format!(r#"{{"resemblance": {share}, "bands": 6}}"#);
            assert_eq!(read(&document).for_texts(), texts(share, 6));
        }
    }
    for (document, key) in [
        (r#"{"resemblance": null}"#, "resemblance"),
        (r#"{"max_distance": 3, "resemblance": null}"#, "resemblance"),
        (r#"{"max_distance": 3}"#, "max_distance"),
    ] {
        let error = read(document).for_texts().unwrap_err();
        assert!(
            matches!(&error.reason, Reason::WrongValue { key: found, .. } if found == key),
            "{document}: {error:?}"
        );
        assert!(error.hint().unwrap().contains("simhash_near(simhash(a), simhash(b), 3)"), "{error:?}");
    }
}

#[test]
fn omitted_keys_have_the_value_of_defaults() {
    let (document, defaults) = (r#"{"ngram": 2, "bands": 7}"#, r#"{"weights": {"\u0022": 0.50}, "ngram": 3}"#);
    let all = r#"{"bands": 7, "ngram": 2, "weights": {"\u0022": 0.50}}"#;
    assert_eq!(merged(document, defaults), Ok(all.to_owned()));
    assert_eq!(merged(r#"{"a\"": 1}"#, "{}"), Ok(r#"{"a\"": 1}"#.to_owned()));
}

#[test]
fn weights_may_be_those_of_a_table() {
    let of_table = read(r#"{"weights": "table", "ngram": 2}"#);
    let mut expected = read(r#"{"ngram": 2}"#);
    expected.weights_of_table = true;
    assert_eq!(of_table, expected);
    assert!(Options::from_json(r#"{"weights": "table"}"#).is_err());
    let weighted = of_table.options.with_weights(r#"{"A b": 0.2}"#).unwrap();
    assert_eq!(weighted, read(r#"{"weights": {"a b": 0.2}, "ngram": 2}"#).options);
}

#[test]
fn wrong_documents_are_refused() {
    for (key, values) in [
        ("max_distance", "-1|65|2.5|\"3\"|null|1e2"),
        ("bands", "0|65|-1|1.5|null|\"6\""),
        // Less than .6 needs a number of bands.
        ("resemblance", "-0.1|1.01|\"0.9\"|true|1e999|0.59|0"),
        ("ngram", "17"),
    ] {
        for value in values.split('|') {
            let read = CriterionDocument::from_json(&format!(r#"{{"{key}": {value}}}"#));
            let invalid = read.as_ref().map_err(|invalid| &invalid.reason);
            let is_refused = matches!(invalid, Err(Reason::WrongValue { key: found, .. }) if found == key);
            assert!(is_refused, "{key} {value}: {read:?}");
        }
    }
    for document in ["{\"resemblence\": 0.9}", "{\"radii\": []}", "[]", "{"] {
        assert!(CriterionDocument::from_json(document).is_err(), "{document}");
    }
}

#[test]
fn unknown_keys_and_keys_of_the_other_document_are_told_apart() {
    let hint = |error: InvalidOptions| error.hint().unwrap();
    let unknown = hint(CriterionDocument::from_json(r#"{"radius": 1}"#).unwrap_err());
    let mut all = OPTION_KEYS.into_iter().chain(CRITERION_KEYS);
    assert!(all.all(|key| unknown.contains(&format!("\"{key}\""))), "{unknown}");
    for key in CRITERION_KEYS {
        let misplaced = hint(Options::from_json(&format!(r#"{{"{key}": 1}}"#)).unwrap_err());
        assert!(misplaced.contains("criterion"), "{misplaced}");
    }
}
