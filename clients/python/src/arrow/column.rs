//! A column of fingerprints that Arrow's consumers read.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use simhash::error::Error;

use super::capsule::{ARRAY, SCHEMA};
use super::interface::{ArrowArray, ArrowSchema, Owned, Release};

/// The fingerprints of rows.
#[derive(Default)]
pub struct FingerprintValues {
    /// 0 for a row without a fingerprint.
    pub values: Vec<i64>,
    /// Positions of the rows without a fingerprint, ascending.
    pub missing: Vec<usize>,
}

impl FingerprintValues {
    /// Adds a row.
    pub fn push(&mut self, fingerprint: Option<i64>) -> Result<(), Error> {
        self.values.try_reserve(1)?;
        if fingerprint.is_none() {
            self.missing.try_reserve(1)?;
            self.missing.push(self.values.len());
        }
        self.values.push(fingerprint.unwrap_or_default());
        Ok(())
    }
}

/// What exported arrays share.
struct Shared {
    values: Vec<i64>,
    /// A bit for each row, 0 if it has no fingerprint; empty if all have one.
    validity: Vec<u8>,
    nulls: usize,
}

/// A column of fingerprints, some of which may be None: an Arrow array of int64.
///
/// pyarrow.array(column), polars.Series(column) and others read it without a copy, by Arrow's PyCapsule interface.
/// list(column) makes a list of it. Takes 8 bytes for each row.
#[pyclass(frozen, sequence, module = "pg_simhash")]
pub struct FingerprintArray(Arc<Shared>);

impl FingerprintArray {
    pub fn new(column: FingerprintValues) -> Self {
        let FingerprintValues { values, missing } = column;
        let mut validity = Vec::new();
        if !missing.is_empty() {
            validity.resize(values.len().div_ceil(8), u8::MAX);
            for row in &missing {
                validity[row / 8] &= !(1 << (row % 8));
            }
        }
        Self(Arc::new(Shared { values, validity, nulls: missing.len() }))
    }

    fn is_valid(&self, row: usize) -> bool {
        self.0.validity.get(row / 8).is_none_or(|byte| byte >> (row % 8) & 1 == 1)
    }
}

#[pymethods]
impl FingerprintArray {
    fn __len__(&self) -> usize {
        self.0.values.len()
    }

    fn __getitem__(&self, index: isize) -> PyResult<Option<i64>> {
        let length = self.0.values.len();
        let row = if index < 0 { length.checked_sub(index.unsigned_abs()) } else { Some(index.unsigned_abs()) };
        match row.and_then(|row| Some((row, self.0.values.get(row)?))) {
            Some((row, value)) => Ok(self.is_valid(row).then_some(*value)),
            None => Err(PyIndexError::new_err(format!("index {index} is out of range"))),
        }
    }

    fn __iter__(&self) -> FingerprintIterator {
        FingerprintIterator { array: Self(Arc::clone(&self.0)), next: 0 }
    }

    fn __repr__(&self) -> String {
        format!("<pg_simhash.FingerprintArray of {} rows, {} without a fingerprint>", self.0.values.len(), self.0.nulls)
    }

    /// Return the type, int64, as a capsule of Arrow's interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule(py, schema(), SCHEMA)
    }

    /// Return the type and the rows as capsules of Arrow's interface. A requested type is ignored.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        Ok((capsule(py, schema(), SCHEMA)?, capsule(py, exported(&self.0), ARRAY)?))
    }
}

/// What `iter(column)` returns.
#[pyclass(module = "pg_simhash._native")]
struct FingerprintIterator {
    array: FingerprintArray,
    next: usize,
}

#[pymethods]
impl FingerprintIterator {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&mut self) -> Option<Option<i64>> {
        let (row, value) = (self.next, *self.array.0.values.get(self.next)?);
        self.next += 1;
        Some(self.array.is_valid(row).then_some(value))
    }
}

/// A capsule that owns a structure until a consumer takes it.
fn capsule<'py, T: Release + 'static>(
    py: Python<'py>,
    structure: Owned<T>,
    name: &'static std::ffi::CStr,
) -> PyResult<Bound<'py, PyCapsule>> {
    // The value is at the start of what the capsule points to, and `Owned` is nothing but the structure.
    PyCapsule::new_with_value(py, structure, name)
}

fn schema() -> Owned<ArrowSchema> {
    unsafe extern "C" fn release(schema: *mut ArrowSchema) {
        // SAFETY: the consumer passes the schema that it releases. All that it points to is static.
        unsafe { (*schema).release = None };
    }
    const NULLABLE: i64 = 2;
    let mut schema = ArrowSchema::released();
    schema.format = c"l".as_ptr();
    schema.name = c"".as_ptr();
    schema.flags = NULLABLE;
    schema.release = Some(release);
    Owned(schema)
}

/// What an exported array owns: the list of its buffers, and a share of them.
struct Exported {
    buffers: [*const c_void; 2],
    _shared: Arc<Shared>,
}

fn exported(shared: &Arc<Shared>) -> Owned<ArrowArray> {
    unsafe extern "C" fn release(array: *mut ArrowArray) {
        // SAFETY: the consumer passes an array that is not released, whose private data `exported` has made.
        unsafe {
            drop(Box::from_raw((*array).private_data.cast::<Exported>()));
            (*array).release = None;
        }
    }
    let validity = if shared.validity.is_empty() { ptr::null() } else { shared.validity.as_ptr().cast() };
    let buffers = [validity, shared.values.as_ptr().cast()];
    let own = Box::into_raw(Box::new(Exported { buffers, _shared: Arc::clone(shared) }));
    let mut array = ArrowArray::released();
    array.length = shared.values.len() as i64;
    array.null_count = shared.nulls as i64;
    array.n_buffers = 2;
    // SAFETY: `own` points to what was just allocated.
    array.buffers = unsafe { &raw mut (*own).buffers }.cast();
    array.private_data = own.cast();
    array.release = Some(release);
    Owned(array)
}
