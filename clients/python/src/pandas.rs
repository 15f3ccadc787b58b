//! Series of pandas. In a data frame, a list with None becomes a column of float64, which loses bits of fingerprints.
//! So the fingerprints of a series are a series of `Int64`, which can have missing values.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::numpy::{array, is_of_loaded};
use crate::values::FingerprintValues;

/// Whether an object is a series of pandas. Without pandas in the process, none is.
pub fn is_series(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    is_of_loaded(object, intern!(py, "pandas"), intern!(py, "Series"))
}

pub fn is_frame(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    is_of_loaded(object, intern!(py, "pandas"), intern!(py, "DataFrame"))
}

/// The elements of a series. Missing elements (None, NaN or NA, by the dtype) are None.
pub fn to_list<'py>(series: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = series.py();
    let list = series.call_method0(intern!(py, "tolist"))?.cast_into::<PyList>()?;
    let missing = series.call_method0(intern!(py, "isna"))?.call_method0(intern!(py, "to_numpy"))?;
    let missing = missing.call_method0(intern!(py, "nonzero"))?.get_item(0)?;
    for row in missing.call_method0(intern!(py, "tolist"))?.try_iter()? {
        list.set_item(row?.extract()?, py.None())?;
    }
    Ok(list.into_any())
}

/// A series of `Int64` with the index and the name of `like`.
pub fn series<'py>(like: &Bound<'py, PyAny>, fingerprints: FingerprintValues) -> PyResult<Bound<'py, PyAny>> {
    let py = like.py();
    let FingerprintValues { values, is_missing } = fingerprints;
    let pandas = py.import(intern!(py, "pandas"))?;
    let arrays = pandas.getattr(intern!(py, "arrays"))?;
    let integers = arrays.call_method1(intern!(py, "IntegerArray"), (array(py, values)?, array(py, is_missing)?))?;
    let arguments = PyDict::new(py);
    for attribute in [intern!(py, "index"), intern!(py, "name")] {
        arguments.set_item(attribute, like.getattr(attribute)?)?;
    }
    pandas.call_method(intern!(py, "Series"), (integers,), Some(&arguments))
}
