//! The compiled module of the Python package `pg_simhash`: the crate `simhash`, called from Python.
//!
//! [`fingerprint`], [`bands`], [`features`], [`resemblance`], [`passages`], [`markup`], [`distance`], [`pairs`] and
//! [`clusters`] have the functions. [`texts`] and [`fingerprints`] read columns: Python's own objects, [`numpy`] arrays
//! and [`pandas`] series. [`values`] returns columns in the same form, and [`results`] named tuples. [`arguments`]
//! reads single values, and [`options`] keyword arguments. [`error`] makes exceptions, and [`cancel`] releases the GIL
//! and looks for signals.

#![forbid(unsafe_code)]

mod arguments;
mod bands;
mod cancel;
mod clusters;
mod distance;
mod error;
mod features;
mod fingerprint;
mod fingerprints;
mod markup;
mod numpy;
mod options;
mod pairs;
mod pandas;
mod passages;
mod resemblance;
mod results;
mod texts;
mod values;

use pyo3::pymodule;

#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::bands::{band, bands, size};
    #[pymodule_export]
    use crate::clusters::{clusters, duplicate_of, text_clusters};
    #[pymodule_export]
    use crate::distance::hamming;
    #[pymodule_export]
    use crate::features::{features, simhash_of_features};
    #[pymodule_export]
    use crate::fingerprint::{format, simhash};
    #[pymodule_export]
    use crate::markup::without_markup;
    #[pymodule_export]
    use crate::pairs::pairs;
    #[pymodule_export]
    use crate::passages::{contains, coverage, matches, passages, runs};
    #[pymodule_export]
    use crate::resemblance::{containment, difference, near, resemblance};

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
