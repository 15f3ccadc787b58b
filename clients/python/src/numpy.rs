//! NumPy arrays. NumPy is imported only if a caller passes an array, or calls a function that returns one.
//!
//! The stable ABI of Python 3.10 has no buffer protocol. What is read is copied, so that no other thread can change it
//! while the GIL is released; what is returned is handed over without a copy, through `__array_interface__`.

use std::any::Any;

use pyo3::exceptions::{PyImportError, PyModuleNotFoundError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

use crate::values::FingerprintValues;

/// NumPy, or an exception that says how to install it.
pub fn require(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import(intern!(py, "numpy")).map_err(|error| {
        if error.is_instance_of::<PyModuleNotFoundError>(py) {
            PyImportError::new_err("this function needs NumPy: pip install 'pg_simhash[numpy]'")
        } else {
            error
        }
    })
}

/// Whether an object is a NumPy array. Without NumPy in the process, none is.
pub fn is_array(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    is_of_loaded(object, intern!(py, "numpy"), intern!(py, "ndarray"))
}

/// Whether an object is of a module's class. If the process has not loaded the module, none is.
pub fn is_of_loaded<'py>(
    object: &Bound<'py, PyAny>,
    module: &Bound<'py, PyString>,
    class: &Bound<'py, PyString>,
) -> PyResult<bool> {
    let py = object.py();
    let modules = py.import(intern!(py, "sys"))?.getattr(intern!(py, "modules"))?;
    let Some(module) = modules.cast::<PyDict>()?.get_item(module)? else { return Ok(false) };
    // Another thread may still be importing the module.
    module.getattr_opt(class)?.map_or(Ok(false), |class| object.is_instance(&class))
}

/// The elements of an array of any shape, as a list of Python's objects. A masked element is None.
pub fn to_list<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    array.call_method0(intern!(py, "ravel"))?.call_method0(intern!(py, "tolist"))
}

/// The fingerprints of a one-dimensional array, and a byte for each, which is 1 if it is masked.
pub fn read_fingerprints<'py>(
    array: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>)> {
    let py = array.py();
    check_type(array)?;
    let dimensions: usize = array.getattr(intern!(py, "ndim"))?.extract()?;
    if dimensions != 1 {
        return Err(PyValueError::new_err(format!(
            "fingerprints must be a one-dimensional array, not one of {dimensions} dimensions"
        )));
    }
    let ma = require(py)?.getattr(intern!(py, "ma"))?;
    let mask = if array.is_instance(&ma.getattr(intern!(py, "MaskedArray"))?)? {
        Some(to_bytes(&ma.call_method1(intern!(py, "getmaskarray"), (array,))?)?)
    } else {
        None
    };
    // The bytes below a mask do not matter.
    let plain = require(py)?.call_method1(intern!(py, "asarray"), (array, intern!(py, "int64")))?;
    Ok((to_bytes(&plain)?, mask))
}

/// An exception unless an array has elements of int64.
fn check_type(array: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = array.py();
    let dtype = array.getattr(intern!(py, "dtype"))?;
    let kind: String = dtype.getattr(intern!(py, "kind"))?.extract()?;
    let size: usize = dtype.getattr(intern!(py, "itemsize"))?.extract()?;
    match (kind.as_str(), size) {
        ("i", 8) => Ok(()),
        ("u", 8) => Err(PyTypeError::new_err(
            "fingerprints must be an array of int64, not uint64. To keep their bits, use .view('int64').",
        )),
        _ => Err(PyTypeError::new_err(format!("fingerprints must be an array of int64, not {dtype}"))),
    }
}

fn to_bytes<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let py = array.py();
    Ok(array.call_method0(intern!(py, "tobytes"))?.cast_into::<PyBytes>()?)
}

/// A masked array with the shape of `like`, in which rows without a fingerprint are masked.
pub fn masked<'py>(like: &Bound<'py, PyAny>, fingerprints: FingerprintValues) -> PyResult<Bound<'py, PyAny>> {
    let py = like.py();
    let FingerprintValues { values, is_missing } = fingerprints;
    let shape = like.getattr(intern!(py, "shape"))?;
    let reshape = intern!(py, "reshape");
    let data = array(py, values)?.call_method1(reshape, (&shape,))?;
    let mask = array(py, is_missing)?.call_method1(reshape, (&shape,))?;
    require(py)?.getattr(intern!(py, "ma"))?.call_method1(intern!(py, "MaskedArray"), (data, mask))
}

/// A type of an array's elements.
pub trait Element: Send + Sync + 'static {
    /// The type in NumPy's array interface.
    const TYPE: &str;
}

impl Element for i64 {
    const TYPE: &str = if cfg!(target_endian = "big") { ">i8" } else { "<i8" };
}

impl Element for i32 {
    const TYPE: &str = if cfg!(target_endian = "big") { ">i4" } else { "<i4" };
}

impl Element for bool {
    const TYPE: &str = "|b1";
}

/// The memory of a NumPy array. The array refers to this object, and so keeps it alive.
#[pyclass(frozen, module = "pg_simhash._native")]
struct ArrayMemory {
    kind: &'static str,
    length: usize,
    address: usize,
    _elements: Box<dyn Any + Send + Sync>,
}

#[pymethods]
impl ArrayMemory {
    #[getter(__array_interface__)]
    fn array_interface<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("typestr", self.kind)?;
        interface.set_item("shape", (self.length,))?;
        interface.set_item("data", (self.address, false))?;
        Ok(interface)
    }
}

/// A NumPy array of these elements, which are not copied.
pub fn array<T: Element>(py: Python<'_>, mut elements: Vec<T>) -> PyResult<Bound<'_, PyAny>> {
    let memory = ArrayMemory {
        kind: T::TYPE,
        length: elements.len(),
        address: elements.as_mut_ptr().expose_provenance(),
        _elements: Box::new(elements),
    };
    require(py)?.call_method1(intern!(py, "asarray"), (memory,))
}
