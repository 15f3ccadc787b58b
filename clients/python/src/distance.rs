//! `hamming` and `similarity`, of two fingerprints or of NumPy arrays of them.

use pyo3::BoundObject;
use pyo3::prelude::*;
use simhash::distance;

use crate::arguments::Fingerprint;
use crate::numpy;

/// Return the number of bits in which two fingerprints differ, 0 to 64.
///
/// Of NumPy arrays of int64, or of an array and a fingerprint: an array of int32, of their common shape. It needs 12
/// bytes for each element.
#[pyfunction]
#[pyo3(signature = (a, b, /))]
pub fn hamming<'py>(a: &Bound<'py, PyAny>, b: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    elementwise(a, b, |differing| differing.count_ones().cast_signed())
}

/// Return the cosine similarity that the distance of two fingerprints estimates, 1 to -1: cos(pi * distance / 64).
///
/// Of NumPy arrays of int64, or of an array and a fingerprint: an array of float64, of their common shape. It needs 16
/// bytes for each element.
#[pyfunction]
#[pyo3(signature = (a, b, /))]
pub fn similarity<'py>(a: &Bound<'py, PyAny>, b: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    elementwise(a, b, |differing| distance::similarity(differing, 0))
}

/// Computes a result of the differing bits of two fingerprints, or of the elements of arrays.
fn elementwise<'py, T>(
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    result: impl Fn(u64) -> T + Sync + Send,
) -> PyResult<Bound<'py, PyAny>>
where
    T: numpy::Element + IntoPyObject<'py> + Send,
{
    let py = a.py();
    if numpy::is_array(a)? || numpy::is_array(b)? {
        return numpy::map_differing(a, b, result);
    }
    let (a, b): (Fingerprint, Fingerprint) = (a.extract()?, b.extract()?);
    result(a.0 ^ b.0).into_pyobject(py).map(|number| number.into_any().into_bound()).map_err(Into::into)
}
