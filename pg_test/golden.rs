//! Computes the golden vectors in SQL.

#[path = "../simhash/tests/golden/entries.rs"]
mod entries;

mod tests {
    use super::entries::{entries, text};
    use pgrx::JsonB;
    use pgrx::prelude::*;
    use serde_json::Value;

    #[pg_extern(sql = false)]
    fn golden_texts() {
        let entries = entries(include_str!("../simhash/tests/golden/golden.jsonl"));
        assert!(entries.len() >= 60, "only {} golden texts", entries.len());
        for entry in entries {
            let (name, text, expected) = (&entry["name"], text(&entry), entry["fingerprint"].as_i64());
            let options = match &entry["options"] {
                Value::Null => {
                    let fingerprint = Spi::get_one_with_args::<i64>("SELECT simhash($1)", &[text.as_str().into()]);
                    assert_eq!(fingerprint, Ok(expected), "{name}");
                    Value::Object(serde_json::Map::new())
                }
                options => options.clone(),
            };
            let of_text = [("SELECT simhash($1, $2)", JsonB(options.clone()).into())];
            // Features that a caller passes are hashed with seed 0.
            let of_features = [
                (
                    "SELECT simhash_of_features(array_agg(feature), array_agg(weight)) FROM simhash_features($1, $2)",
                    JsonB(options.clone()).into(),
                ),
                ("SELECT simhash_agg(feature, weight) FROM simhash_features($1, $2)", JsonB(options.clone()).into()),
            ];
            let is_seeded = options.get("seed").is_some_and(|seed| seed.as_u64() != Some(0));
            for (query, options) in of_text.into_iter().chain(of_features.into_iter().filter(|_| !is_seeded)) {
                let fingerprint = Spi::get_one_with_args::<i64>(query, &[text.as_str().into(), options]);
                assert_eq!(fingerprint, Ok(expected), "{name}: {query}");
            }
            if let Some(other) = entry["with"].as_str() {
                let found = Spi::get_one_with_args::<f64>(
                    "SELECT simhash_resemblance($1, $2, $3)",
                    &[text.as_str().into(), other.into(), JsonB(options.clone()).into()],
                );
                assert_eq!(found, Ok(entry["resemblance"].as_f64()), "{name}");
            }
            let size = Spi::get_one_with_args::<i32>(
                "SELECT simhash_size($1, $2)",
                &[text.as_str().into(), JsonB(options.clone()).into()],
            );
            assert_eq!(size.map(|size| size.map(i64::from)), Ok(entry["size"].as_i64()), "{name}");
            let features = Spi::get_one_with_args::<i64>(
                "SELECT count(*) FROM simhash_features($1, $2)",
                &[text.as_str().into(), JsonB(options).into()],
            );
            assert_eq!(features, Ok(entry["features"].as_i64()), "{name}");
        }
    }

    #[pg_extern(sql = false)]
    fn golden_bands() {
        let entries = entries(include_str!("../simhash/tests/golden/bands.jsonl"));
        assert!(entries.len() >= 60, "only {} golden bands", entries.len());
        for entry in entries {
            let (name, text) = (&entry["name"], text(&entry));
            let options = JsonB(entry.get("options").cloned().unwrap_or_else(|| Value::Object(Default::default())));
            let expected = entry["bands"].as_array();
            let expected: Vec<Option<i32>> = match expected {
                Some(bands) => bands.iter().map(|band| band.as_i64().map(|band| band as i32)).collect(),
                None => vec![None; 6],
            };
            let found = Spi::get_one_with_args::<Vec<Option<i32>>>(
                "SELECT array_agg(simhash_band($1, band, $2) ORDER BY band) FROM generate_series(0, $3 - 1) AS band",
                &[text.as_str().into(), options.into(), (expected.len() as i32).into()],
            );
            assert_eq!(found, Ok(Some(expected)), "{name}");
        }
    }

    #[pg_extern(sql = false)]
    fn golden_blocks() {
        let entries = entries(include_str!("../simhash/tests/golden/blocks.jsonl"));
        assert!(entries.len() >= 60, "only {} golden blocks", entries.len());
        for entry in entries {
            let number = |key: &str| entry[key].as_i64().unwrap_or_else(|| panic!("{key} in {entry}"));
            let (fingerprint, block, blocks) = (number("fingerprint"), number("block") as i32, number("blocks") as i32);
            // Other entries have the probes of a search, which the extension has in Rust alone.
            let Some(value) = entry.get("value") else { continue };
            let found = Spi::get_one_with_args::<i32>(
                "SELECT simhash_block($1, $2, $3)",
                &[fingerprint.into(), block.into(), blocks.into()],
            );
            assert_eq!(found.map(|block| block.map(i64::from)), Ok(value.as_i64()), "{entry}");
        }
    }
}
