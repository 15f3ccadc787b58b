//! Options as keyword arguments.

use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use simhash::criterion::CriterionDocument;
use simhash::fingerprint::options::Options;

use crate::error::invalid_options;

/// The options that keyword arguments give.
///
/// The keyword arguments become JSON, so that the same options and values are valid as in SQL.
pub fn read_options(keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Options> {
    let Some(keywords) = keywords else { return Ok(Options::default()) };
    Options::from_json(&to_json(keywords)?).map_err(|invalid| invalid_options(&invalid))
}

/// The criterion that keyword arguments give, options among them.
pub fn read_criterion(keywords: Option<&Bound<'_, PyDict>>) -> PyResult<CriterionDocument> {
    let Some(keywords) = keywords else { return Ok(CriterionDocument::default()) };
    let criterion = CriterionDocument::from_json(&to_json(keywords)?).map_err(|invalid| invalid_options(&invalid))?;
    if criterion.weights_of_table {
        return Err(PyValueError::new_err("There is no table here to learn weights from. SQL's functions learn them."));
    }
    Ok(criterion)
}

fn to_json(keywords: &Bound<'_, PyDict>) -> PyResult<String> {
    let py = keywords.py();
    // json.dumps would write NaN, which is not JSON.
    let settings = PyDict::new(py);
    settings.set_item(intern!(py, "allow_nan"), false)?;
    // Surrogates stay, and are a UnicodeEncodeError below.
    settings.set_item(intern!(py, "ensure_ascii"), false)?;
    let plain = py.import(intern!(py, "pg_simhash._options"))?.getattr(intern!(py, "plain"))?;
    settings.set_item(intern!(py, "default"), plain)?;
    let json = py.import(intern!(py, "json"))?.call_method(intern!(py, "dumps"), (keywords,), Some(&settings))?;
    json.extract()
}
