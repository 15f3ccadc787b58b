//! Lists of the named tuples in `pg_simhash._results`.

use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyType};

use crate::cancel::interruptible;

/// A list of named tuples of one type; each item has the fields of a tuple.
pub fn named_tuples<'py>(
    tuple_type: &Bound<'py, PyType>,
    items: impl Iterator<Item = impl PyCallArgs<'py>>,
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(tuple_type.py());
    for fields in interruptible(tuple_type.py(), items) {
        list.append(tuple_type.call1(fields?)?)?;
    }
    Ok(list)
}
