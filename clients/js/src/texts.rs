//! `simhash`, `bands`, `size`, `features`, `resemblance`, `near`, `containment`, `difference`, `passages`,
//! `contains`, `coverage` and `matches`: functions of texts.

use std::cell::Cell;

use simhash::fingerprint::difference::{containment as containment_of, difference as difference_of};
use simhash::fingerprint::resemblance::resemblance as resemblance_of;
use simhash::fingerprint::{Fingerprinter, Scratch};
use simhash::within::matches::{MAX_CHANGED, Match, Unit, coverage as coverage_of, matches as matches_of};
use simhash::within::passages::{ShortClue, contains as contains_of, passages as passages_of};
use simhash::{Error, FINGERPRINT_FORMAT, Options};

use crate::input::{text, with_inputs};
use crate::options;
use crate::output::{Exception, Output, write_output};

thread_local! {
    /// Scratch memory, up to 1 MB.
    static SCRATCH: Cell<Scratch> = Cell::default();
}

/// The fingerprint of a text. Inputs: text, options. Output: the fingerprint, an i64.
#[unsafe(no_mangle)]
pub extern "C" fn simhash() -> u32 {
    write_for_text(|fingerprinter, content, output| {
        output.push_if_some(fingerprinter.fingerprint(content)?.map(u64::to_le_bytes))
    })
}

/// The first bands of a text. Inputs: text, options. Output: an i32 for each.
#[unsafe(no_mangle)]
pub extern "C" fn bands(count: usize) -> u32 {
    write_for_text(|fingerprinter, content, output| {
        let Some(summary) = fingerprinter.summary(content, count)? else { return Ok(false) };
        for band in summary.bands {
            output.push(&band.to_le_bytes())?;
        }
        Ok(true)
    })
}

/// The size of a text. Inputs: text, options. Output: the size, an i32.
#[unsafe(no_mangle)]
pub extern "C" fn size() -> u32 {
    write_for_text(|fingerprinter, content, output| {
        output.push_if_some(fingerprinter.summary(content, 0)?.map(|summary| summary.size.to_le_bytes()))
    })
}

/// The features of a text. Inputs: text, options. Output: each feature, with its hash.
#[unsafe(no_mangle)]
pub extern "C" fn features() -> u32 {
    write_for_text(|fingerprinter, content, output| {
        let list = fingerprinter.features(content)?;
        for feature in list.iter() {
            push_feature(output, feature.hash, feature.weight as f64 / list.unit_weight() as f64, feature.text)?;
        }
        Ok(true)
    })
}

/// The resemblance of two texts. Inputs: both texts, options. Output: the resemblance, an f64.
#[unsafe(no_mangle)]
pub extern "C" fn resemblance() -> u32 {
    write_share(resemblance_of)
}

/// Whether two texts are near-duplicates. Inputs: both texts, criterion. Output: 1 or 0, a byte.
#[unsafe(no_mangle)]
pub extern "C" fn near() -> u32 {
    write_output(|output| {
        with_inputs(|[a, b, document]| {
            let [a, b] = [text(a)?, text(b)?];
            let criterion = options::read_criterion(document)?;
            let is_near = with_fingerprinter(&criterion.options, |fingerprinter| criterion.near(fingerprinter, a, b))?;
            output.push_if_some(is_near.map(|is_near| [u8::from(is_near)]))
        })
    })
}

/// The containment of a text in another one. Inputs: both texts, options. Output: the containment, an f64.
#[unsafe(no_mangle)]
pub extern "C" fn containment() -> u32 {
    write_share(containment_of)
}

/// The difference of two texts. Inputs: both texts, options. Output: each feature, with 0 if the first text has it, and
/// 1 if the second one has it.
#[unsafe(no_mangle)]
pub extern "C" fn difference() -> u32 {
    write_for_texts(|fingerprinter, a, b, output| {
        for (side, list) in (0..).zip(&difference_of(fingerprinter, a, b)?) {
            for feature in list.iter() {
                push_feature(output, side, feature.weight as f64 / list.unit_weight() as f64, feature.text)?;
            }
        }
        Ok(true)
    })
}

/// The passages of a text. Inputs: text, options. Output: an i64 for each.
#[unsafe(no_mangle)]
pub extern "C" fn passages() -> u32 {
    write_for_text(|fingerprinter, content, output| {
        for hash in passages_of(fingerprinter, content)? {
            output.push(&hash.to_le_bytes())?;
        }
        Ok(true)
    })
}

/// Whether a text has a passage in common with a clue's runs, and at least this share of its words. Inputs: text, clue,
/// options. Output: 1 or 0, a byte. A clue that is too short is a RangeError.
#[unsafe(no_mangle)]
pub extern "C" fn contains(share: f64) -> u32 {
    write_for_texts(|fingerprinter, content, clue, output| {
        let contains = contains_of(fingerprinter, content, clue, share)?
            .map_err(|short| Exception::Range(format!("{short}. {}", ShortClue::detail())))?;
        output.push_if_some(Some([u8::from(contains)]))
    })
}

/// The share of a clue that is in matches with a text. Inputs: text, clue, options. Output: the coverage, an f64.
#[unsafe(no_mangle)]
pub extern "C" fn coverage() -> u32 {
    write_share(coverage_of)
}

/// The matches of a text and a clue. Inputs: text, clue, options. Output: six u32 for each: where it begins and ends in
/// the text and in the clue, the words and the changed words.
#[unsafe(no_mangle)]
pub extern "C" fn matches() -> u32 {
    write_for_texts(|fingerprinter, content, clue, output| {
        let matches = matches_of(fingerprinter, content, clue, MAX_CHANGED, Unit::Utf16)?;
        for Match { content, clue, words, changed } in matches {
            for number in [content.start, content.end, clue.start, clue.end, words, changed] {
                output.push(&number.to_le_bytes())?;
            }
        }
        Ok(true)
    })
}

/// The version of the fingerprint format.
#[unsafe(no_mangle)]
pub extern "C" fn format() -> i32 {
    FINGERPRINT_FORMAT
}

/// Writes a share of two texts, or null. Inputs: both texts, options.
fn write_share(share_of: impl FnOnce(&mut Fingerprinter, &str, &str) -> Result<Option<f64>, Error>) -> u32 {
    write_for_texts(|fingerprinter, a, b, output| {
        output.push_if_some(share_of(fingerprinter, a, b)?.map(f64::to_le_bytes))
    })
}

/// Writes the output that `compute` makes of a text. Inputs: text, options.
fn write_for_text(compute: impl FnOnce(&mut Fingerprinter, &str, &mut Output) -> Result<bool, Exception>) -> u32 {
    write_output(|output| {
        with_inputs(|[content, document, _]| {
            let options = options::read_options(document)?;
            with_fingerprinter(&options, |fingerprinter| compute(fingerprinter, text(content)?, output))
        })
    })
}

/// Writes the output that `compute` makes of two texts. Inputs: both texts, options.
fn write_for_texts(
    compute: impl FnOnce(&mut Fingerprinter, &str, &str, &mut Output) -> Result<bool, Exception>,
) -> u32 {
    write_output(|output| {
        with_inputs(|[a, b, document]| {
            let options = options::read_options(document)?;
            with_fingerprinter(&options, |fingerprinter| compute(fingerprinter, text(a)?, text(b)?, output))
        })
    })
}

fn with_fingerprinter<T>(options: &Options, compute: impl FnOnce(&mut Fingerprinter) -> T) -> T {
    let mut scratch = SCRATCH.take();
    let result = compute(&mut Fingerprinter::new(&mut scratch, options, &|| ()));
    SCRATCH.set(scratch);
    result
}

/// Adds a feature to the output: a number, an i64; its weight, an f64; the length of its text in bytes, a u32; and its
/// text.
fn push_feature(output: &mut Output, number: u64, weight: f64, text: &str) -> Result<(), Error> {
    output.push(&number.to_le_bytes())?;
    output.push(&weight.to_le_bytes())?;
    output.push(&(text.len() as u32).to_le_bytes())?;
    output.push(text.as_bytes())
}
