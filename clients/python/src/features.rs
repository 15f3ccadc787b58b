//! `features`: what a fingerprint is made of; `simhash_of_features`: the fingerprint of the caller's features.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyFloat, PyList, PyString, PyType};
use simhash::fingerprint::hash::hash;
use simhash::fingerprint::tally::Tally;
use simhash::fingerprint::weights::{MAX_WEIGHT, billionths_from_float};

use crate::cancel::interruptible;
use crate::error::{algorithm_error, wrong_type};
use crate::fingerprint::with_texts;
use crate::results::named_tuples;
use crate::texts::text_argument;

/// Return the features that the fingerprint of a text is made of, as SQL's simhash_features does.
///
/// The features are named tuples (feature, weight, hash), in the order in which they first end in the text. Needs about
/// 300 bytes for each.
///
/// >>> [feature for feature, weight, hash in features("one two three", ngram=2)]
/// ['one two', 'two three']
#[pyfunction]
#[pyo3(signature = (text, /, **options))]
pub fn features<'py>(text: &Bound<'py, PyAny>, options: Option<&Bound<'py, PyDict>>) -> PyResult<Bound<'py, PyList>> {
    static FEATURE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let texts = [text_argument(text, "text")?];
    let list = with_texts(text.py(), texts, options, |fingerprinter, [text]| fingerprinter.features(text))?;
    let one = list.unit_weight() as f64;
    let fields = list.iter().map(|feature| (feature.text, feature.weight as f64 / one, feature.hash.cast_signed()));
    named_tuples(FEATURE.import(text.py(), "pg_simhash._results", "Feature")?, fields)
}

/// Return the fingerprint of features that the caller has made, as SQL's simhash_of_features(features, weights) does.
///
/// A feature that occurs twice counts twice. Without weights, each feature weighs 1; a weight is from 0 to 1e9. None if
/// no feature weighs anything. Both arguments may be any iterables, and their elements are not stored.
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
    for (index, feature) in interruptible(features.py(), features.try_iter()?).enumerate() {
        let feature = feature??;
        let hash = hash(text_argument(&feature, &format!("features[{index}]"))?.as_bytes());
        match &mut weights {
            None => tally.vote(hash, true),
            Some(weights) => match weights.next() {
                Some(weight) => tally.add(hash, weight_of(&weight?, index)?).map_err(algorithm_error)?,
                None => return Err(length_mismatch("more features than weights")),
            },
        }
    }
    match weights.and_then(|mut weights| weights.next()) {
        Some(_) => Err(length_mismatch("more weights than features")),
        None => Ok(tally.fingerprint().map(u64::cast_signed)),
    }
}

fn length_mismatch(what: &str) -> PyErr {
    PyValueError::new_err(format!("there are {what}. Give both the same length."))
}

/// A weight in the units of a tally.
fn weight_of(weight: &Bound<'_, PyAny>, index: usize) -> PyResult<u64> {
    let number = weight.extract::<f64>().map_err(|error| {
        let is_wrong_type = error.is_instance_of::<PyTypeError>(weight.py());
        if is_wrong_type { wrong_type(&format!("weights[{index}]"), "a number", weight) } else { error }
    })?;
    billionths_from_float(number).ok_or_else(|| {
        let shown = PyFloat::new(weight.py(), number);
        PyValueError::new_err(format!(
            "feature weight {shown} is out of range. A weight must be from 0 to {MAX_WEIGHT}."
        ))
    })
}
