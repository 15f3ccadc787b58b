//! Compares weighted features in SQL, as arrays and as rows, with a sum bit by bit.

mod tests {
    use pgrx::prelude::*;
    use simhash::fingerprint::hash::hash;
    use simhash::random::Random;

    /// The fingerprint by definition: +weight or -weight for each bit; a bit is 1 if the sum is above 0. None if no
    /// feature has a weight.
    fn by_definition(features: &[String], thousandths: &[u64]) -> Option<i64> {
        if thousandths.iter().all(|weight| *weight == 0) {
            return None;
        }
        let mut fingerprint = 0u64;
        for bit in 0..64 {
            let mut sum = 0i128;
            for (feature, weight) in features.iter().zip(thousandths) {
                let weight = i128::from(*weight);
                sum += if hash(feature.as_bytes()) >> bit & 1 == 1 { weight } else { -weight };
            }
            fingerprint |= u64::from(sum > 0) << bit;
        }
        Some(fingerprint.cast_signed())
    }

    #[pg_extern(sql = false)]
    fn random_arrays() {
        let mut random = Random(2);
        for _ in 0..500 {
            let (length, kinds) = (random.below(60), 1 + random.below(100));
            // Small weights make ties, and large ones the widest sums.
            let largest = *random.one_of(&[2, 4, 1_000, 1_000_000_000_001]);
            let features: Vec<String> = (0..length).map(|_| format!("feature {}", random.below(kinds))).collect();
            let thousandths: Vec<u64> = (0..length).map(|_| random.below(largest)).collect();
            let weights: Vec<f64> = thousandths.iter().map(|weight| *weight as f64 / 1000.0).collect();
            let expected = by_definition(&features, &thousandths);
            for query in [
                "SELECT simhash($1, $2)",
                "SELECT simhash_agg(feature, weight) FROM unnest($1, $2) AS rows (feature, weight)",
            ] {
                let found = Spi::get_one_with_args::<i64>(query, &[features.clone().into(), weights.clone().into()]);
                assert_eq!(found, Ok(expected), "{query}: {features:?} {thousandths:?}");
            }
            let plain = Spi::get_one_with_args::<i64>("SELECT simhash($1)", &[features.clone().into()]);
            assert_eq!(plain, Ok(by_definition(&features, &vec![1; features.len()])), "{features:?}");
        }
    }
}
