//! Compares texts and options in SQL with the algorithm.

mod tests {
    use pgrx::JsonB;
    use pgrx::prelude::*;
    use serde_json::{Map, Value, json};
    use simhash::fingerprint::Fingerprinter;
    use simhash::fingerprint::options::Options;
    use simhash::fingerprint::resemblance::resemblance;
    use simhash::random::Random;

    const PIECES: [&str; 28] = [
        "word",
        "Word",
        "WORLD",
        "a",
        "ß",
        "ﬁ",
        "é",
        "e\u{301}",
        "\u{301}",
        "한국",
        "検",
        "索",
        "の",
        "ー",
        "ไทย",
        "３",
        "7",
        "😀",
        " ",
        "-",
        "。",
        "\n",
        "<p>",
        "<b class=\"word\">",
        "</script>",
        "<script>",
        "&eacute;",
        "<!-- ",
    ];

    fn text(random: &mut Random) -> String {
        let longest = *random.one_of(&[1, 8, 40, 400]);
        (0..random.below(longest)).map(|_| *random.one_of(&PIECES)).collect()
    }

    fn options(random: &mut Random) -> Value {
        let mut options = Map::new();
        for (key, value) in [
            ("tokens", json!(random.one_of(&["words", "chars"]))),
            ("ngram", json!(1 + random.below(16))),
            ("weight", json!(random.one_of(&["set", "log", "tf"]))),
            ("case_fold", json!(random.one_of(&[true, false]))),
            ("same", json!([random.one_of(&["numbers", "the", "b 1", "\u{6570}\u{636e}"])])),
            ("top", json!(1 + random.below(20))),
            ("markup", json!("html")),
            ("ignore", json!([random.one_of(&["numbers", "urls", "accents"])])),
        ] {
            if random.below(3) == 0 {
                options.insert(key.to_owned(), value);
            }
        }
        Value::Object(options)
    }

    /// Computes each fingerprint twice, with the previous one in between, so that a backend's cache cannot hide a
    /// mistake.
    #[pg_extern(sql = false)]
    fn random_texts() {
        let (mut random, mut fingerprinter) = (Random(1), Fingerprinter::default());
        let mut last: Option<(String, Value, Option<i64>)> = None;
        for i in 0..2000 {
            let (text, options) = match &last {
                Some((text, _, _)) if i % 4 == 1 => (text.clone(), options(&mut random)),
                Some((_, options, _)) if i % 4 == 2 => (self::text(&mut random), options.clone()),
                _ => (self::text(&mut random), options(&mut random)),
            };
            let parsed = Options::from_json(&options.to_string()).expect("options are valid");
            let expected = fingerprinter.fingerprint(&text, &parsed, &|| ()).expect("memory suffices");
            let this = (text, options, expected.map(u64::cast_signed));
            for (text, options, expected) in [Some(&this), last.as_ref(), Some(&this)].into_iter().flatten() {
                let found = Spi::get_one_with_args::<i64>(
                    "SELECT simhash($1, $2)",
                    &[text.as_str().into(), JsonB(options.clone()).into()],
                );
                assert_eq!(found, Ok(*expected), "{text:?} with {options}");
            }
            last = Some(this);
        }
    }

    /// Computes each resemblance between two fingerprints, since they share a backend's scratch memory.
    #[pg_extern(sql = false)]
    fn random_resemblances() {
        let (mut random, mut fingerprinter) = (Random(2), Fingerprinter::default());
        for _ in 0..1000 {
            let (a, b, options) = (text(&mut random), text(&mut random), options(&mut random));
            let parsed = Options::from_json(&options.to_string()).expect("options are valid");
            let resemblance = resemblance(&mut fingerprinter, &a, &b, &parsed, &|| ()).expect("memory suffices");
            let fingerprint = fingerprinter.fingerprint(&a, &parsed, &|| ()).expect("memory suffices");
            let found = Spi::get_three_with_args::<i64, f64, i64>(
                "SELECT simhash($1, $3), simhash_resemblance($1, $2, $3), simhash($1, $3)",
                &[a.as_str().into(), b.as_str().into(), JsonB(options.clone()).into()],
            );
            let fingerprint = fingerprint.map(u64::cast_signed);
            assert_eq!(found, Ok((fingerprint, resemblance, fingerprint)), "{a:?} and {b:?} with {options}");
        }
    }
}
