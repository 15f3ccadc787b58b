//! Finds, for the window functions, which row represents each row, by a criterion for texts: first by sketches, which
//! are in memory, and then by the features of the candidates, whose texts are read again.

use std::ffi::c_int;

use pgrx::PgMemoryContexts;
use pgrx::prelude::*;
use postgres::error::{Explain, Result, algorithm_error};
use postgres::interrupts::tick;
use postgres::json::RawJsonb;
use postgres::settings::work_mem;
use postgres::text::decode;
use postgres::window::Window;
use simhash::Error;
use simhash::criterion::CriterionDocument;
use simhash::fingerprint::Fingerprinter;
use simhash::fingerprint::feature_set::FeatureSet;
use simhash::fingerprint::learn::{TABLE_SAMPLE, TextSample};
use simhash::fingerprint::options::Options;
use simhash::fingerprint::sketch::Sketch;
use simhash::pairs::{Confirmation, Outcome, TextSketches};

use super::window_results::{ALONE, CONTENT_ARGUMENT, NO_RESULT};
use crate::sql::fingerprint::fingerprint_cache::with_fingerprinter;
use crate::sql::fingerprint::options::{JsonDocument, read_criterion, unfit_criterion};

const CRITERION_ARGUMENT: c_int = 2;

/// Bytes of features that are in memory at once, unless `work_mem` is larger. With a tenth of this, the rows of a
/// window would be read ten times as often.
const MIN_FEATURE_MEMORY: usize = 256 << 20;

/// Texts that are read between two messages about the progress.
const TEXTS_BETWEEN_MESSAGES: usize = 100_000;

/// For each row of the partition, the position of the row that represents it: the first row of its cluster, or the row
/// that it duplicates. None if the criterion is NULL.
pub fn representatives<O: Outcome>(window: &mut Window<'_>) -> Result<Option<Vec<u32>>> {
    let Some(document) = window.argument::<RawJsonb<'_>>(CRITERION_ARGUMENT) else { return Ok(None) };
    let document = read_criterion(JsonDocument::Jsonb(document))?;
    let criterion = document.for_texts().map_err(|invalid| {
        unfit_criterion(invalid).with_hint("To compare fingerprints, write simhash_cluster(key, simhash(content), 3).")
    })?;
    let row_count = window.row_count;
    let mut context = PgMemoryContexts::new("simhash text");
    let comparison_options = learn_comparison_options(&document, window, &mut context)?;
    let mut sketches =
        TextSketches::with_capacity(row_count, criterion, &comparison_options).map_err(algorithm_error)?;
    for position in 0..row_count {
        tick();
        report_progress(position, || format!("read {position} of {row_count} texts"));
        let sketch = with_text(window, position, &document.options, &mut context, |fingerprinter, text| {
            let sketch = fingerprinter.sketch(text, criterion.bands)?;
            if !document.weights_of_table {
                return Ok(sketch);
            }
            // Weights of the table count in the resemblance and the fingerprint, and not in the bands.
            let weighted = fingerprinter.with_options(&comparison_options).sketch(text, 0)?;
            Ok(sketch.zip(weighted).map(|(sketch, Sketch { difference, .. })| Sketch { difference, ..sketch }))
        })?;
        window.numbers[position] = if sketch.is_some() { ALONE } else { NO_RESULT };
        sketches.push(sketch.as_ref()).map_err(algorithm_error)?;
    }
    let confirmation = Confirmation::<O>::new(sketches, work_mem().max(MIN_FEATURE_MEMORY), &tick);
    let mut confirmation = confirmation.map_err(algorithm_error)?;
    let mut read_count = 0;
    while let Some(position) = confirmation.row_to_read(&tick).map_err(algorithm_error)? {
        report_progress(read_count, || format!("compared {read_count} texts, up to row {position} of {row_count}"));
        read_count += 1;
        let features = with_text(window, position as usize, &comparison_options, &mut context, FeatureSet::new)?;
        confirmation.push(features, &tick).map_err(algorithm_error)?;
    }
    confirmation.into_results(&tick).map_err(algorithm_error).map(Some)
}

/// Shows the progress to a client that asks for messages of the level DEBUG1.
fn report_progress(text_count: usize, message: impl FnOnce() -> String) {
    if text_count > 0 && text_count.is_multiple_of(TEXTS_BETWEEN_MESSAGES) {
        debug1!("{}", message());
    }
}

/// The options by which texts are compared. If the criterion asks for the weights of the table, these are learnt from
/// rows at equal intervals.
fn learn_comparison_options(
    CriterionDocument { options, weights_of_table, .. }: &CriterionDocument,
    window: &Window<'_>,
    context: &mut PgMemoryContexts,
) -> Result<Options> {
    if !weights_of_table {
        return Ok(options.clone());
    }
    let mut sample = TextSample::new(TABLE_SAMPLE);
    for position in (0..window.row_count).step_by(window.row_count.div_ceil(TABLE_SAMPLE).max(1)) {
        with_text(window, position, options, context, |_, text| sample.add(text).map(Some))?;
    }
    let weights = sample.learn_table(options, &tick).map_err(algorithm_error)?;
    options.with_weights(&weights).map_err(unfit_criterion)
}

/// Calls `read` with the text at a position, and frees the text; None if it is NULL.
fn with_text<T: 'static>(
    window: &Window<'_>,
    position: usize,
    options: &Options,
    context: &mut PgMemoryContexts,
    read: impl FnOnce(&mut Fingerprinter, &str) -> Result<Option<T>, Error>,
) -> Result<Option<T>> {
    let read_decoded = |text: &[u8]| {
        let text = decode(text)?.as_str();
        with_fingerprinter(options, |fingerprinter| read(fingerprinter, text))
    };
    // SAFETY: the result is not in the context, and nothing in the context is used any more.
    unsafe {
        let result = context.switch_to(|_| window.with_text(CONTENT_ARGUMENT, position, read_decoded).transpose());
        context.reset();
        result.map(Option::flatten)
    }
}
