//! `resemblance`, `near`, `containment` and `difference`: what two texts have in common, and what they do not.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyType};
use simhash::fingerprint;

use crate::error::invalid_options;
use crate::fingerprint::with_texts;
use crate::options;
use crate::results::named_tuples;
use crate::texts::text_argument;

/// Return the Jaccard resemblance of two texts, 0 to 1, as SQL's simhash_resemblance does: the share of features and
/// pairs of neighbouring features that they have in common.
///
/// None if one of them has no feature. Costs as much as two to three fingerprints of each text, in time and in memory.
///
/// >>> resemblance("one two three four", "One two, three four!")
/// 1.0
#[pyfunction]
#[pyo3(signature = (a, b, /, **options))]
pub fn resemblance<'py>(
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Option<f64>> {
    let texts = [text_argument(a, "a")?, text_argument(b, "b")?];
    with_texts(a.py(), texts, options, |fingerprinter, [a, b]| {
        fingerprint::resemblance::resemblance(fingerprinter, a, b)
    })
}

/// Return whether two texts are near-duplicates, as SQL's simhash_near does.
///
/// The keyword arguments are the keys of a criterion. None if one of the texts has no feature. Costs as much as the
/// features of both; and their bands, if they resemble each other.
///
/// >>> near("one two three four", "One two, three four!"), near("one two three four", "five six seven eight")
/// (True, False)
#[pyfunction]
#[pyo3(signature = (a, b, /, **criterion))]
pub fn near<'py>(
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    criterion: Option<&Bound<'py, PyDict>>,
) -> PyResult<Option<bool>> {
    let criterion = options::read_criterion(criterion)?;
    let texts = [text_argument(a, "a")?, text_argument(b, "b")?];
    with_texts(a.py(), texts, None, |fingerprinter, [a, b]| Ok(criterion.near(fingerprinter, a, b)))?
        .map_err(|invalid| invalid_options(&invalid))
}

/// Return the share of the first text that the second one has too, 0 to 1, as SQL's simhash_containment does: of its
/// features and pairs of neighbouring features, by weight.
///
/// 1 if the first text is an excerpt of the second. None if the first text has no feature. The option same has no
/// effect. Costs as much as the fingerprints of both, in time and in memory.
///
/// >>> containment("two three", "one two three four")
/// 1.0
#[pyfunction]
#[pyo3(signature = (a, b, /, **options))]
pub fn containment<'py>(
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Option<f64>> {
    let texts = [text_argument(a, "a")?, text_argument(b, "b")?];
    with_texts(a.py(), texts, options, |fingerprinter, [a, b]| {
        fingerprint::difference::containment(fingerprinter, a, b)
    })
}

/// Return the features that only one of two texts has, or that weigh more in it, as SQL's simhash_difference does.
///
/// The features are named tuples (side, feature, weight): first those of the text "a", then those of "b", each in the
/// order in which they first end in the text. The weight is the difference of the two weights. The option same has no
/// effect. Needs about 300 bytes for each feature of the texts.
///
/// >>> [(side, feature) for side, feature, weight in difference("one two", "one three") if " " not in feature]
/// [('a', 'two'), ('b', 'three')]
#[pyfunction]
#[pyo3(signature = (a, b, /, **options))]
pub fn difference<'py>(
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyList>> {
    static DIFFERENCE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let texts = [text_argument(a, "a")?, text_argument(b, "b")?];
    let lists = with_texts(a.py(), texts, options, |fingerprinter, [a, b]| {
        fingerprint::difference::difference(fingerprinter, a, b)
    })?;
    let fields = ["a", "b"].into_iter().zip(&lists).flat_map(|(side, list)| {
        let one = list.unit_weight() as f64;
        list.iter().map(move |feature| (side, feature.text, feature.weight as f64 / one))
    });
    named_tuples(DIFFERENCE.import(a.py(), "pg_simhash._results", "Difference")?, fields)
}
