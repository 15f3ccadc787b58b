//! Parameters in a text, as the functions of full text search have them: `Name = value, ..`.

use std::ffi::{CStr, c_char};

use pgrx::prelude::*;

use super::error::Result;
use super::list::nodes;
use super::text::{TextArgument, decode};

/// The names and values of the parameters. PostgreSQL raises an error if it cannot read the text.
pub fn parameters(text: TextArgument<'_>) -> Result<Vec<(String, String)>> {
    // SAFETY: the argument is a `text`, of which PostgreSQL makes a list of definitions.
    let definitions = unsafe { nodes::<pg_sys::DefElem>(pg_sys::deserialize_deflist(text.datum())) };
    let decoded = |text: *const c_char| {
        // SAFETY: the names in the list and what defGetString returns are NUL-terminated.
        decode(unsafe { CStr::from_ptr(text) }.to_bytes()).map(|text| text.as_str().to_owned())
    };
    let parameter = |definition: *mut pg_sys::DefElem| {
        // SAFETY: an element of the list, which has a value.
        let (name, value) = unsafe { ((*definition).defname, pg_sys::defGetString(definition)) };
        Ok((decoded(name)?, decoded(value)?))
    };
    definitions.into_iter().map(parameter).collect()
}
