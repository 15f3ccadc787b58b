//! The texts of rows, each by its sketch.

use crate::criterion::TextCriterion;
use crate::error::{Error, MAX_ROWS, Result};
use crate::fingerprint::options::Options;
use crate::fingerprint::sketch::{Comparison, DifferenceSketch, Sketch};
use crate::memory::push;

/// The sketches of rows, and when two rows are near-duplicates. A row may have none.
///
/// Takes 36 bytes for each row, and 4 for each of its bands.
pub struct Texts {
    pub(super) least_resemblance: f64,
    pub(super) comparison: Comparison,
    pub(super) sketches: Vec<DifferenceSketch>,
    /// For each band, the key of each row: rows whose keys differ are not near by this band.
    pub(super) keys: Vec<Vec<u32>>,
}

impl Texts {
    /// Allocates the memory for `rows` sketches at once, which are made with these options. Fails if memory is refused,
    /// or for more than [`MAX_ROWS`].
    pub fn with_capacity(rows: usize, criterion: TextCriterion, options: &Options) -> Result<Self> {
        if rows > MAX_ROWS {
            return Err(Error::TooManyRows);
        }
        let (mut sketches, mut keys) = (Vec::new(), Vec::new());
        sketches.try_reserve_exact(rows)?;
        for _ in 0..criterion.bands {
            let mut of_band = Vec::new();
            of_band.try_reserve_exact(rows)?;
            push(&mut keys, of_band)?;
        }
        let comparison = Comparison::new(options);
        Ok(Self { least_resemblance: criterion.resemblance, comparison, sketches, keys })
    }

    /// Adds a row, with at least the bands of the criterion; None for a row without a text.
    pub fn push(&mut self, sketch: Option<&Sketch>) -> Result<()> {
        if self.len() >= MAX_ROWS {
            return Err(Error::TooManyRows);
        }
        for (band, keys) in self.keys.iter_mut().enumerate() {
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
