//! `pairs` and `clusters`: functions of many fingerprints.

use simhash::Error;
use simhash::pairs::{Pairs, Rows, clusters as clusters_of};

use crate::input::with_inputs;
use crate::output::answer;

/// The near pairs of fingerprints. Inputs: an i64 for each row; and a byte for each row, which is not 0 if the row has
/// no fingerprint, or nothing. Output: for each pair both positions, two u32, and the distance, a u32.
#[unsafe(no_mangle)]
pub extern "C" fn pairs(max_distance: i32) -> u32 {
    answer(|output| {
        let rows = with_inputs(|[fingerprints, missing, _]| rows(fingerprints, missing))?;
        let mut pairs = Pairs::new(rows, max_distance, &|| ())?;
        while let Some(pair) = pairs.next(&|| ())? {
            for number in [pair.a, pair.b, pair.distance] {
                output.push(&number.to_le_bytes())?;
            }
        }
        Ok(true)
    })
}

/// The clusters of fingerprints. Inputs: as for `pairs`. Output: for each row an i32, the position of the first row of
/// its cluster; -1 for a row without a fingerprint.
#[unsafe(no_mangle)]
pub extern "C" fn clusters(max_distance: i32) -> u32 {
    answer(|output| {
        with_inputs(|[fingerprints, missing, _]| {
            let firsts = clusters_of(rows(fingerprints, missing)?, max_distance, &|| ())?;
            for (row, first) in firsts.into_iter().enumerate() {
                // A module has 4 GB of memory, and a row takes 40 bytes: a position fits 31 bits.
                let cluster = if is_missing(missing, row) { -1 } else { first.cast_signed() };
                output.push(&cluster.to_le_bytes())?;
            }
            Ok(true)
        })
    })
}

fn rows(fingerprints: &[u8], missing: &[u8]) -> Result<Rows, Error> {
    let fingerprints = fingerprints.as_chunks().0;
    let mut rows = Rows::with_capacity(fingerprints.len())?;
    for (row, fingerprint) in fingerprints.iter().enumerate() {
        rows.push((!is_missing(missing, row)).then(|| u64::from_le_bytes(*fingerprint)))?;
    }
    Ok(rows)
}

fn is_missing(missing: &[u8], row: usize) -> bool {
    missing.get(row).is_some_and(|missing| *missing != 0)
}
