//! Functions of one or two texts.

use std::cell::Cell;

use simhash::fingerprint::{Fingerprinter, Scratch, difference, resemblance};
use simhash::within::matches::{self, MAX_CHANGED, Match, Unit};
use simhash::within::passages::{self, ShortClue};
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
    write_for_texts(|fingerprinter, [content], output| {
        output.push_if_some(fingerprinter.fingerprint(content)?.map(u64::to_le_bytes))
    })
}

/// The first bands of a text. Inputs: text, options. Output: an i32 for each.
#[unsafe(no_mangle)]
pub extern "C" fn bands(count: usize) -> u32 {
    write_for_texts(|fingerprinter, [content], output| {
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
    write_for_texts(|fingerprinter, [content], output| {
        output.push_if_some(fingerprinter.summary(content, 0)?.map(|summary| summary.size.to_le_bytes()))
    })
}

/// The features of a text. Inputs: text, options. Output: each feature, with its hash.
#[unsafe(no_mangle)]
pub extern "C" fn features() -> u32 {
    write_for_texts(|fingerprinter, [content], output| {
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
    write_share(resemblance::resemblance)
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
    write_share(difference::containment)
}

/// The difference of two texts. Inputs: both texts, options. Output: each feature, with 0 if the first text has it, and
/// 1 if the second one has it.
#[unsafe(no_mangle)]
pub extern "C" fn difference() -> u32 {
    write_for_texts(|fingerprinter, [a, b], output| {
        for (side, list) in (0..).zip(&difference::difference(fingerprinter, a, b)?) {
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
    write_for_texts(|fingerprinter, [content], output| {
        for hash in passages::passages(fingerprinter, content)? {
            output.push(&hash.to_le_bytes())?;
        }
        Ok(true)
    })
}

/// Whether a text contains a clue: both have a passage in common, and matches cover at least the share `share` of the
/// clue's words. Inputs: text, clue, options. Output: 1 or 0, a byte. A clue that is too short is a RangeError.
#[unsafe(no_mangle)]
pub extern "C" fn contains(share: f64) -> u32 {
    write_for_texts(|fingerprinter, [content, clue], output| {
        let contains = passages::contains(fingerprinter, content, clue, share)?
            .map_err(|short| Exception::Range(format!("{short}. {}", ShortClue::detail())))?;
        output.push_if_some(Some([u8::from(contains)]))
    })
}

/// The share of a clue that is in matches with a text. Inputs: text, clue, options. Output: the coverage, an f64.
#[unsafe(no_mangle)]
pub extern "C" fn coverage() -> u32 {
    write_share(matches::coverage)
}

/// The matches of a text and a clue. Inputs: text, clue, options. Output: six u32 for each: where it begins and ends in
/// the text and in the clue, the words and the changed words.
#[unsafe(no_mangle)]
pub extern "C" fn matches() -> u32 {
    write_for_texts(|fingerprinter, [content, clue], output| {
        let found = matches::matches(fingerprinter, content, clue, MAX_CHANGED, Unit::Utf16)?;
        for Match { content, clue, words, changed } in found {
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
    write_for_texts(|fingerprinter, [a, b], output| {
        output.push_if_some(share_of(fingerprinter, a, b)?.map(f64::to_le_bytes))
    })
}

/// Writes the output that `compute` makes of texts. It returns false if the result is null. Inputs: the texts, options.
fn write_for_texts<const N: usize>(
    compute: impl FnOnce(&mut Fingerprinter, [&str; N], &mut Output) -> Result<bool, Exception>,
) -> u32 {
    write_output(|output| {
        with_inputs(|inputs| {
            let options = options::read_options(inputs[N])?;
            let mut texts = [""; N];
            for (content, input) in texts.iter_mut().zip(inputs) {
                *content = text(input)?;
            }
            with_fingerprinter(&options, |fingerprinter| compute(fingerprinter, texts, output))
        })
    })
}

fn with_fingerprinter<T>(options: &Options, compute: impl FnOnce(&mut Fingerprinter) -> T) -> T {
    let mut scratch = SCRATCH.take();
    let result = compute(&mut Fingerprinter::new(&mut scratch, options, &|| ()));
    SCRATCH.set(scratch);
    result
}

/// Adds a feature to the output: its hash or its side (0 or 1), an i64; its weight, an f64; the length of its text in
/// bytes, a u32; and its text.
fn push_feature(output: &mut Output, hash_or_side: u64, weight: f64, text: &str) -> Result<(), Error> {
    output.push(&hash_or_side.to_le_bytes())?;
    output.push(&weight.to_le_bytes())?;
    output.push(&(text.len() as u32).to_le_bytes())?;
    output.push(text.as_bytes())
}
