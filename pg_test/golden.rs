//! Computes the golden vectors in SQL.

#[path = "../simhash/tests/golden/entries.rs"]
mod entries;

mod tests {
    use super::entries::{self, text};
    use pgrx::prelude::*;
    use pgrx::spi::quote_literal;
    use pgrx::{FromDatum, IntoDatum, JsonB};
    use serde_json::Value;

    /// The result of a query on a text, which is $1, and options, which are $2.
    fn query_text<T: FromDatum + IntoDatum>(query: &str, text: &str, options: &Value) -> Option<T> {
        Spi::get_one_with_args(query, &[text.into(), JsonB(options.clone()).into()]).expect(query)
    }

    /// The golden vectors in a file. Panics if there are so few that the file must be a wrong one.
    fn golden_vectors(file: &str) -> Vec<Value> {
        let vectors = entries::entries(file);
        assert!(vectors.len() >= 60, "only {} golden vectors", vectors.len());
        vectors
    }

    #[pg_extern(sql = false)]
    fn golden_texts() {
        for entry in golden_vectors(include_str!("../simhash/tests/golden/golden.jsonl")) {
            let (name, text) = (&entry["name"], text(&entry));
            let is_default = entry["options"].is_null();
            let options = if is_default { Value::Object(Default::default()) } else { entry["options"].clone() };
            let mut queries = vec!["SELECT simhash($1, $2)"];
            if is_default {
                queries.push("SELECT simhash($1)");
            }
            // The functions on features hash these with the seed 0.
            if options.get("seed").is_none_or(|seed| seed.as_u64() == Some(0)) {
                queries.extend([
                    "SELECT simhash_of_features(array_agg(feature), array_agg(weight)) FROM simhash_features($1, $2)",
                    "SELECT simhash_agg(feature, weight) FROM simhash_features($1, $2)",
                ]);
            }
            for query in queries {
                assert_eq!(query_text(query, &text, &options), entry["fingerprint"].as_i64(), "{name}: {query}");
            }
            if let Some(other) = entry["with"].as_str() {
                let query = format!("SELECT simhash_resemblance($1, {}, $2)", quote_literal(other));
                assert_eq!(query_text(&query, &text, &options), entry["resemblance"].as_f64(), "{name}");
            }
            let numbers = [
                ("size", "SELECT simhash_size($1, $2)"),
                ("features", "SELECT count(*) FROM simhash_features($1, $2)"),
            ];
            for (number, query) in numbers {
                let actual = query_text(&format!("SELECT ({query})::bigint"), &text, &options);
                assert_eq!(actual, entry[number].as_i64(), "{name}: {number}");
            }
        }
    }

    #[pg_extern(sql = false)]
    fn golden_bands() {
        for entry in golden_vectors(include_str!("../simhash/tests/golden/bands.jsonl")) {
            let (name, text) = (&entry["name"], text(&entry));
            let options = JsonB(entry.get("options").cloned().unwrap_or_else(|| Value::Object(Default::default())));
            let expected: Vec<Option<i32>> = match entry["bands"].as_array() {
                Some(bands) => bands.iter().map(|band| band.as_i64().map(|band| band as i32)).collect(),
                None => vec![None; 6],
            };
            let actual = Spi::get_one_with_args::<Vec<Option<i32>>>(
                "SELECT array_agg(simhash_band($1, band, $2) ORDER BY band) FROM generate_series(0, $3 - 1) AS band",
                &[text.as_str().into(), options.into(), (expected.len() as i32).into()],
            );
            assert_eq!(actual, Ok(Some(expected)), "{name}");
        }
    }

    #[pg_extern(sql = false)]
    fn golden_blocks() {
        for entry in golden_vectors(include_str!("../simhash/tests/golden/blocks.jsonl")) {
            // The other entries are about the probes of a search. No SQL function computes these.
            let Some(value) = entry.get("value") else { continue };
            let number = |key: &str| entry[key].as_i64().unwrap_or_else(|| panic!("{key} in {entry}"));
            let (fingerprint, block, blocks) = (number("fingerprint"), number("block") as i32, number("blocks") as i32);
            let actual = Spi::get_one_with_args::<i32>(
                "SELECT simhash_block($1, $2, $3)",
                &[fingerprint.into(), block.into(), blocks.into()],
            );
            assert_eq!(actual.map(|block| block.map(i64::from)), Ok(value.as_i64()), "{entry}");
        }
    }
}
