//! Functions of many fingerprints or texts.

use simhash::Error;
use simhash::pairs::{self, ConfirmedClusters, KeptRows, Outcome, Pairs, RowFingerprints};

use crate::input::{text, with_inputs};
use crate::options;
use crate::output::{Exception, write_output};

/// The near pairs of fingerprints. Inputs: the fingerprints, an i64 for each row; and a byte for each row, which is not
/// 0 if the row has none. The second input may be empty: then all rows have one. Output: for each pair both positions,
/// two u32, and the distance, a u32.
#[unsafe(no_mangle)]
pub extern "C" fn pairs(max_distance: i32) -> u32 {
    write_output(|output| {
        let rows = with_inputs(|[fingerprints, missing, _]| read_rows(fingerprints, missing))?;
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
    write_output(|output| {
        with_inputs(|[fingerprints, missing, _]| {
            let firsts = pairs::clusters(read_rows(fingerprints, missing)?, max_distance, &|| ())?;
            for (row, first) in firsts.into_iter().enumerate() {
                // A module has 4 GB of memory, and a row takes 40 bytes: a position fits 31 bits.
                let cluster = if is_missing(missing, row) { -1 } else { first.cast_signed() };
                output.push(&cluster.to_le_bytes())?;
            }
            Ok(true)
        })
    })
}

/// The clusters of texts. Inputs: all texts, one after the other; the length of each in bytes, an i32, or -1 for none;
/// and a criterion. Output: for each text an i32, the position of the first text of its cluster; -1 for a text without
/// a feature.
#[unsafe(no_mangle)]
pub extern "C" fn text_clusters() -> u32 {
    write_representatives::<ConfirmedClusters>(|_, first| first)
}

/// Which texts stay. Inputs: as for `text_clusters`. Output: for each text an i32, the position of the earlier text
/// that it duplicates; -1 for a text that stays.
#[unsafe(no_mangle)]
pub extern "C" fn duplicate_of() -> u32 {
    write_representatives::<KeptRows>(|row, first| first.filter(|&first| first as usize != row))
}

/// Writes an i32 for each text: what `choose` returns for its position and that of the text that represents it, which
/// is None for a text without a feature; -1 for None.
fn write_representatives<O: Outcome>(choose: impl Fn(usize, Option<u32>) -> Option<u32>) -> u32 {
    write_output(|output| {
        with_inputs(|[content, lengths, document]| {
            let document = options::read_criterion(document)?;
            let texts = split_texts(text(content)?, lengths)?;
            let firsts = pairs::representatives::<O>(&texts, document.for_texts()?, &document.options, &|| ())?;
            for (row, first) in firsts.into_iter().enumerate() {
                output.push(&choose(row, first).map_or(-1, u32::cast_signed).to_le_bytes())?;
            }
            Ok(true)
        })
    })
}

/// Cuts the texts out of their concatenation. A text that does not fit would be None, but arguments.js has made the
/// lengths of these texts.
fn split_texts<'a>(mut content: &'a str, lengths: &[u8]) -> Result<Vec<Option<&'a str>>, Exception> {
    let lengths = lengths.as_chunks().0;
    let mut texts = Vec::new();
    texts.try_reserve_exact(lengths.len()).map_err(Error::from)?;
    for length in lengths {
        let length = usize::try_from(i32::from_le_bytes(*length)).ok();
        texts.push(length.and_then(|length| {
            let (text, rest) = content.split_at_checked(length)?;
            content = rest;
            Some(text)
        }));
    }
    Ok(texts)
}

/// The fingerprints as rows. Inputs: as for `pairs`.
fn read_rows(fingerprints: &[u8], missing: &[u8]) -> Result<RowFingerprints, Error> {
    let fingerprints = fingerprints.as_chunks().0;
    let mut rows = RowFingerprints::with_capacity(fingerprints.len())?;
    for (row, fingerprint) in fingerprints.iter().enumerate() {
        rows.push((!is_missing(missing, row)).then(|| u64::from_le_bytes(*fingerprint)))?;
    }
    Ok(rows)
}

fn is_missing(missing: &[u8], row: usize) -> bool {
    missing.get(row).is_some_and(|missing| *missing != 0)
}
