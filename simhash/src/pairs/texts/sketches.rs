//! The texts of rows, each by its sketch.

use crate::criterion::TextCriterion;
use crate::error::{Error, MAX_ROWS, Result};
use crate::fingerprint::options::Options;
use crate::fingerprint::sketch::{Comparison, DifferenceSketch, Sketch};
use crate::memory::{push, with_capacity};

/// The sketches of rows, and the least resemblance of near-duplicates. A row may have no sketch.
///
/// Takes 36 bytes for each row, and 4 for each of its bands.
pub struct Texts {
    pub(super) least_resemblance: f64,
    pub(super) comparison: Comparison,
    pub(super) sketches: Vec<DifferenceSketch>,
    /// For each band, that of each row; 0 for a row without a text.
    pub(super) bands: Vec<Vec<u32>>,
}

impl Texts {
    /// Allocates the memory for `rows` sketches at once, which are made with these options. Fails for more than
    /// [`MAX_ROWS`].
    pub fn with_capacity(rows: usize, criterion: TextCriterion, options: &Options) -> Result<Self> {
        if rows > MAX_ROWS {
            return Err(Error::TooManyRows);
        }
        let (sketches, mut bands) = (with_capacity(rows)?, Vec::new());
        for _ in 0..criterion.bands {
            push(&mut bands, with_capacity(rows)?)?;
        }
        let comparison = Comparison::new(options);
        Ok(Self { least_resemblance: criterion.resemblance, comparison, sketches, bands })
    }

    /// Adds a row, with at least the bands of the criterion; None for a row without a text.
    pub fn push(&mut self, sketch: Option<&Sketch>) -> Result<()> {
        if self.len() >= MAX_ROWS {
            return Err(Error::TooManyRows);
        }
        for (band, keys) in self.bands.iter_mut().enumerate() {
            push(keys, sketch.map_or(0, |sketch| sketch.bands[band].cast_unsigned()))?;
        }
        push(&mut self.sketches, sketch.map(|sketch| sketch.difference).unwrap_or_default())
    }

    /// Number of rows, with or without a text.
    pub fn len(&self) -> usize {
        self.sketches.len()
    }

    pub fn is_empty(&self) -> bool {
        self.sketches.is_empty()
    }
}
