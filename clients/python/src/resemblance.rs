//! `resemblance`, `near`, `containment` and `difference`: what two texts have in common, and what they do not.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyType};
use simhash::criterion::CriterionDocument;
use simhash::error::Error;
use simhash::fingerprint::Fingerprinter;
use simhash::fingerprint::difference::{containment as containment_of, difference as difference_of};
use simhash::fingerprint::resemblance::resemblance as resemblance_of;
use simhash::ticking::ITEMS_BETWEEN_TICKS;

use crate::cancel::detached_unless_small;
use crate::error::{algorithm_error, invalid_options};
use crate::fingerprint::with_fingerprinter;
use crate::options;
use crate::texts::required;

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
    of_both((a, "a"), (b, "b"), options, resemblance_of)
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
    let criterion = criterion.map_or_else(|| Ok(CriterionDocument::default()), options::read_criterion)?;
    let found = of_both((a, "a"), (b, "b"), None, |fingerprinter, a, b| Ok(criterion.near(fingerprinter, a, b)))?;
    found.map_err(|invalid| invalid_options(&invalid))
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
    of_both((a, "a"), (b, "b"), options, containment_of)
}

/// Return the features that only one of two texts has, or that weigh more in it, as SQL's simhash_difference does.
///
/// They are named tuples (side, feature, weight): first those of the text "a", then those of "b", each in the order in
/// which they first end in the text. The weight is the difference of the two weights. The option same has no effect.
/// Needs about 300 bytes for each feature of the texts.
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
    let py = a.py();
    let difference_type = DIFFERENCE.import(py, "pg_simhash._results", "Difference")?;
    let lists = of_both((a, "a"), (b, "b"), options, difference_of)?;
    let list = PyList::empty(py);
    for (side, features) in ["a", "b"].into_iter().zip(&lists) {
        let one = features.one() as f64;
        for position in 0..features.positions() {
            if position % ITEMS_BETWEEN_TICKS == 0 {
                py.check_signals()?;
            }
            if let Some(feature) = features.get(position) {
                list.append(difference_type.call1((side, feature.text, feature.weight as f64 / one))?)?;
            }
        }
    }
    Ok(list)
}

/// Calls `work` with two texts, which have these names as arguments, and the options: without the GIL, unless the texts
/// are small.
pub fn of_both<T: Send>(
    (a, name_of_a): (&Bound<'_, PyAny>, &str),
    (b, name_of_b): (&Bound<'_, PyAny>, &str),
    options: Option<&Bound<'_, PyDict>>,
    work: impl FnOnce(&mut Fingerprinter, &str, &str) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let py = a.py();
    let options = options::read_options(options)?;
    let (a, b) = (required(a, name_of_a)?, required(b, name_of_b)?);
    let found = detached_unless_small(py, a.len() + b.len(), |signals| {
        with_fingerprinter(&options, signals, |fingerprinter| work(fingerprinter, a, b))
    })?;
    found.map_err(algorithm_error)
}
