//! The sketches of the rows' texts, from which a [`Confirmation`](super::confirmation::Confirmation) begins. It has
//! only the sketches of most texts: it asks for a text itself later, if the sketches do not refute it.

use crate::criterion::TextCriterion;
use crate::error::{Error, MAX_ROWS, Result};
use crate::fingerprint::options::Options;
use crate::fingerprint::sketch::{Comparison, DifferenceSketch, Sketch};
use crate::memory::{push, with_capacity};

/// The sketch of each row. A row has none if its text is NULL or has no feature.
///
/// Takes 36 bytes for each row, and 4 for each of its bands.
pub struct TextSketches {
    pub(super) criterion: TextCriterion,
    pub(super) comparison: Comparison,
    /// For each row, its sketch without the bands.
    pub(super) sketches: Vec<DifferenceSketch>,
    /// The bands by their numbers, each with a value for each row; 0 for a row without a sketch.
    pub(super) bands: Vec<Vec<u32>>,
}

impl TextSketches {
    /// Allocates the memory for `rows` rows at once. The options are those with which the sketches are made. Fails for
    /// more than [`MAX_ROWS`].
    pub fn with_capacity(rows: usize, criterion: TextCriterion, options: &Options) -> Result<Self> {
        if rows > MAX_ROWS {
            return Err(Error::TooManyRows);
        }
        let (sketches, mut bands) = (with_capacity(rows)?, Vec::new());
        for _ in 0..criterion.bands {
            push(&mut bands, with_capacity(rows)?)?;
        }
        let comparison = Comparison::new(options);
        Ok(Self { criterion, comparison, sketches, bands })
    }

    /// Adds the next row. Its sketch has as many bands as the criterion, or more.
    pub fn push(&mut self, sketch: Option<&Sketch>) -> Result<()> {
        if self.len() >= MAX_ROWS {
            return Err(Error::TooManyRows);
        }
        for (number, bands) in self.bands.iter_mut().enumerate() {
            push(bands, sketch.map_or(0, |sketch| sketch.bands[number].cast_unsigned()))?;
        }
        push(&mut self.sketches, sketch.map(|sketch| sketch.difference).unwrap_or_default())
    }

    /// The number of rows, with or without a sketch.
    pub fn len(&self) -> usize {
        self.sketches.len()
    }

    pub fn is_empty(&self) -> bool {
        self.sketches.is_empty()
    }
}
