//! `without_markup`, the text of a document, for the page about a table.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use simhash::fingerprint::options::Markup;
use simhash::text::markup::{text_of_html, text_of_main};

use crate::cancel::detached_unless_small;
use crate::error::algorithm_error;
use crate::options;
use crate::texts::required;

/// Return a text without its markup, by the option markup: what an HTML document, or its main part, shows. Other
/// options have no effect.
#[pyfunction]
#[pyo3(signature = (text, /, **options))]
pub fn without_markup(text: &Bound<'_, PyAny>, options: Option<&Bound<'_, PyDict>>) -> PyResult<String> {
    let options = options::read_options(options)?;
    let py = text.py();
    let text = required(text, "text")?;
    let read = match options.markup {
        None => return Ok(text.to_owned()),
        Some(Markup::Html) => text_of_html,
        Some(Markup::Main) => text_of_main,
    };
    detached_unless_small(py, text.len(), |signals| {
        let mut without = String::new();
        read(text, &mut without, &|| signals.tick()).map(|()| without)
    })?
    .map_err(algorithm_error)
}
