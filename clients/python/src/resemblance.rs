//! `resemblance`: how many features two texts have in common.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use simhash::fingerprint::resemblance::resemblance as resemblance_of;

use crate::cancel::detached_unless_small;
use crate::error::algorithm_error;
use crate::fingerprint::with_fingerprinter;
use crate::options;
use crate::texts::required;

/// Return the Jaccard resemblance of the features of two texts, 0 to 1, as SQL's simhash_resemblance does.
///
/// None if one of them has no feature. Costs as much as the fingerprints of both, in time and in memory.
#[pyfunction]
#[pyo3(signature = (a, b, /, **options))]
pub fn resemblance<'py>(
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Option<f64>> {
    let py = a.py();
    let options = options::read(options)?;
    let (a, b) = (required(a, "a")?, required(b, "b")?);
    let found = detached_unless_small(py, a.len() + b.len(), |signals| {
        with_fingerprinter(|fingerprinter| resemblance_of(fingerprinter, a, b, &options, &|| signals.tick()))
    })?;
    found.map_err(algorithm_error)
}
