//! Options as keyword arguments.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use simhash::fingerprint::options::Options;

use crate::error::invalid_options;

/// The options that keyword arguments give.
///
/// They go through JSON, so that the same options and values are valid as in SQL.
pub fn read(keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Options> {
    let Some(keywords) = keywords.filter(|keywords| !keywords.is_empty()) else { return Ok(Options::default()) };
    let py = keywords.py();
    // json.dumps would write NaN, which is no JSON.
    let settings = PyDict::new(py);
    settings.set_item(intern!(py, "allow_nan"), false)?;
    let json = py.import(intern!(py, "json"))?.call_method(intern!(py, "dumps"), (keywords,), Some(&settings))?;
    Options::from_json(json.extract()?).map_err(|invalid| invalid_options(&invalid))
}
