//! The window functions that compare the texts of near rows.

use std::ffi::c_int;

use pgrx::PgMemoryContexts;
use pgrx::pg_sys;
use pgrx::pg_sys::panic::ErrorReport;
use postgres::error::{algorithm_error, tick};
use postgres::json::RawJsonb;
use postgres::text::decode;
use postgres::window::Window;
use simhash::criterion::Criterion;
use simhash::fingerprint::feature_set::FeatureSet;
use simhash::fingerprint::options::Options;
use simhash::pairs::{Component, Rows, Verification};

use super::progress::Reporter;
use crate::sql::arguments::{check_distance, check_resemblance};
use crate::sql::fingerprint::fingerprint_cache::with_fingerprinter;
use crate::sql::fingerprint::options::{OptionsDocument, read_options};
use crate::sql::radii::check_radii;

/// The positions of the arguments, after the fingerprint.
pub const CONTENT_ARGUMENT: c_int = 1;
const MAX_DISTANCE_ARGUMENT: c_int = 2;
const RESEMBLANCE_ARGUMENT: c_int = 3;
const OPTIONS_ARGUMENT: c_int = 4;
const PROGRESS_ARGUMENT: c_int = 5;
const RADII_ARGUMENT: c_int = 6;

/// Bytes of features that are in memory at once, unless `work_mem` is larger. With a tenth of this, the rows of a
/// window would be read ten times as often.
const MIN_FEATURE_BUDGET_BYTES: usize = 256 << 20;

/// The arguments of a function, at the first row of the partition.
pub struct VerifiedArguments {
    pub criterion: Criterion,
    pub progress: bool,
    options: Options,
}

impl VerifiedArguments {
    /// Reads the arguments; None if the distance, the radii or the options are NULL.
    pub fn read(window: &Window) -> Result<Option<Self>, ErrorReport> {
        let max_distance = window.argument(MAX_DISTANCE_ARGUMENT).map(check_distance).transpose()?;
        let resemblance = window.argument(RESEMBLANCE_ARGUMENT).map(check_resemblance).transpose()?;
        let options = window
            .argument::<RawJsonb<'_>>(OPTIONS_ARGUMENT)
            .map(OptionsDocument::Jsonb)
            .map(read_options)
            .transpose()?;
        let progress = window.argument(PROGRESS_ARGUMENT).unwrap_or(false);
        let radii = max_distance.zip(window.array(RADII_ARGUMENT));
        let near = radii.map(|(distance, radii)| check_radii(distance, &radii)).transpose()?;
        Ok(near.zip(options).map(|(near, options)| Self {
            criterion: Criterion { near, resemblance },
            progress,
            options,
        }))
    }

    /// For each row, the position of the row that represents it: the first row of its cluster, or the row that it
    /// duplicates.
    pub fn verify<C: Component>(
        &self,
        window: &Window,
        rows: Rows,
        reporter: &Reporter,
    ) -> Result<Vec<u32>, ErrorReport> {
        // SAFETY: the setting is a plain number, of kilobytes.
        let work_mem = usize::try_from(unsafe { pg_sys::work_mem }).unwrap_or(0).saturating_mul(1024);
        let report = |progress| reporter.tick(progress);
        let verification =
            Verification::<C>::new(rows, self.criterion, work_mem.max(MIN_FEATURE_BUDGET_BYTES), &report);
        let mut verification = verification.map_err(algorithm_error)?;
        // A text is freed before the next is read.
        let mut text_context = PgMemoryContexts::new("simhash text");
        while let Some(row) = verification.row_to_read(&report) {
            let mut features = None;
            if self.criterion.resemblance.is_some() {
                // SAFETY: features are not in the context.
                features = unsafe { text_context.switch_to(|_| self.features(window, row as usize)) }?;
                // SAFETY: nothing in the context is used any more.
                unsafe { text_context.reset() };
            }
            verification.push(features, &report).map_err(algorithm_error)?;
        }
        Ok(verification.into_results())
    }

    fn features(&self, window: &Window, row: usize) -> Result<Option<FeatureSet>, ErrorReport> {
        let read = window.with_text(CONTENT_ARGUMENT, row, |text| {
            let text = decode(text)?;
            with_fingerprinter(|fingerprinter| FeatureSet::new(fingerprinter, &text, &self.options, &tick))
                .map_err(algorithm_error)
        });
        Ok(read.transpose()?.flatten())
    }
}
