//! `without_markup`: the text that an HTML document shows. The report uses it.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use simhash::fingerprint::options::Markup;
use simhash::text::markup::{text_of_html, text_of_main};

use crate::cancel::detached_unless_small;
use crate::options;
use crate::texts::text_argument;

/// Return what an HTML document shows, or its main part, by the option markup. Without this option, return the text
/// unchanged. Other options have no effect.
#[pyfunction]
#[pyo3(signature = (text, /, **options))]
pub fn without_markup(text: &Bound<'_, PyAny>, options: Option<&Bound<'_, PyDict>>) -> PyResult<String> {
    let options = options::read_options(options)?;
    let py = text.py();
    let text = text_argument(text, "text")?;
    let extract = match options.markup {
        None => return Ok(text.to_owned()),
        Some(Markup::Html) => text_of_html,
        Some(Markup::Main) => text_of_main,
    };
    detached_unless_small(py, text.len(), |tick| {
        let mut shown = String::new();
        extract(text, &mut shown, tick).map(|()| shown)
    })
}
