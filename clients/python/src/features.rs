//! `features`, what a fingerprint is made of; and `simhash_of_features`, the fingerprint of features of the caller.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyFloat, PyList, PyString, PyType};
use simhash::fingerprint::hash::hash;
use simhash::fingerprint::tally::Tally;
use simhash::fingerprint::weights::{MAX_WEIGHT, from_float};
use simhash::ticking::ITEMS_BETWEEN_TICKS;

use crate::error::{algorithm_error, wrong_type};
use crate::fingerprint::of_text;
use crate::texts::required;

/// Return the features that the fingerprint of a text is made of, as SQL's simhash_features does.
///
/// They are named tuples (feature, weight, hash), in the order in which they first end in the text. Needs about 300
/// bytes for each.
///
/// >>> [feature for feature, weight, hash in features("one two three", ngram=2)]
/// ['one two', 'two three']
#[pyfunction]
#[pyo3(signature = (text, /, **options))]
pub fn features<'py>(text: &Bound<'py, PyAny>, options: Option<&Bound<'py, PyDict>>) -> PyResult<Bound<'py, PyList>> {
    static FEATURE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let py = text.py();
    let feature_type = FEATURE.import(py, "pg_simhash._results", "Feature")?;
    let features = of_text(text, options, |fingerprinter, text| fingerprinter.features(text))?;
    let one = features.one() as f64;
    let list = PyList::empty(py);
    for position in 0..features.positions() {
        if position % ITEMS_BETWEEN_TICKS == 0 {
            py.check_signals()?;
        }
        if let Some(feature) = features.get(position) {
            let (weight, hash) = (feature.weight as f64 / one, feature.hash.cast_signed());
            list.append(feature_type.call1((feature.text, weight, hash))?)?;
        }
    }
    Ok(list)
}

/// Return the fingerprint of features that the caller has made, as SQL's simhash_of_features(features, weights) does.
///
/// A feature that occurs twice counts twice. Without weights, each weighs 1; a weight is from 0 to 1e9. None if no
/// feature weighs anything. Both arguments may be any iterables, and their elements are not stored.
///
/// >>> simhash_of_features(["a", "b"]) == simhash_of_features(["b", "a"], [2, 2])
/// True
#[pyfunction]
#[pyo3(signature = (features, /, weights = None))]
pub fn simhash_of_features(features: &Bound<'_, PyAny>, weights: Option<&Bound<'_, PyAny>>) -> PyResult<Option<i64>> {
    if features.is_instance_of::<PyString>() {
        return Err(wrong_type("features", "an iterable of str", features));
    }
    let mut tally = Tally::default();
    let mut weights = weights.map(|weights| weights.try_iter()).transpose()?;
    for (count, feature) in features.try_iter()?.enumerate() {
        if count % ITEMS_BETWEEN_TICKS == ITEMS_BETWEEN_TICKS - 1 {
            features.py().check_signals()?;
        }
        let feature = feature?;
        let hash = hash(required(&feature, &format!("features[{count}]"))?.as_bytes());
        match &mut weights {
            None => tally.vote(hash, true),
            Some(weights) => match weights.next() {
                Some(weight) => tally.add(hash, weight_of(&weight?, count)?).map_err(algorithm_error)?,
                None => return Err(lengths_differ("more features than weights")),
            },
        }
    }
    match weights.and_then(|mut weights| weights.next()) {
        Some(_) => Err(lengths_differ("more weights than features")),
        None => Ok(tally.fingerprint().map(u64::cast_signed)),
    }
}

fn lengths_differ(how: &str) -> PyErr {
    PyValueError::new_err(format!("there are {how}. Give both the same length."))
}

/// A weight in the units of a tally.
fn weight_of(weight: &Bound<'_, PyAny>, index: usize) -> PyResult<u64> {
    let Ok(number) = weight.extract::<f64>() else {
        return Err(wrong_type(&format!("weights[{index}]"), "a number", weight));
    };
    from_float(number).ok_or_else(|| {
        let shown = PyFloat::new(weight.py(), number);
        PyValueError::new_err(format!(
            "feature weight {shown} is out of range. A weight must be from 0 to {MAX_WEIGHT}."
        ))
    })
}
