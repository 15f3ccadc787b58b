//! `without_markup`, the text of a document, for the page about a table.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use simhash::fingerprint::options::Markup;
use simhash::text::markup::text_of_html;

use crate::cancel::detached_unless_small;
use crate::error::algorithm_error;
use crate::options;
use crate::texts::required;

/// Return what is compared of a text with these options: that of an HTML document, without its tags.
#[pyfunction]
#[pyo3(signature = (text, /, **options))]
pub fn without_markup(text: &Bound<'_, PyAny>, options: Option<&Bound<'_, PyDict>>) -> PyResult<String> {
    let options = options::read(options)?;
    let py = text.py();
    let text = required(text, "text")?;
    match options.markup {
        None => Ok(text.to_owned()),
        Some(Markup::Html) => detached_unless_small(py, text.len(), |signals| {
            let mut without = String::new();
            text_of_html(text, &mut without, &|| signals.tick()).map(|()| without)
        })?
        .map_err(algorithm_error),
    }
}
