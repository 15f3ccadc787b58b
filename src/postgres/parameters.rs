//! Parameters in a text, as the functions of full text search have them: `Name = value, ..`.

use std::ffi::CStr;

use pgrx::prelude::*;

use super::error::Result;
use super::list::nodes;
use super::text::{TextArgument, check_length, decode};

/// The names and values of the parameters in the argument of this name. PostgreSQL raises an error if it cannot read
/// the text.
pub fn parameters(text: TextArgument<'_>, name: &str) -> Result<Vec<(String, String)>> {
    check_length(text.detoast(), name)?;
    // SAFETY: the argument is a `text`, of which PostgreSQL makes a list of definitions, each with a name and a value.
    // Both are NUL-terminated.
    unsafe {
        let to_utf8 = |text| decode(CStr::from_ptr(text).to_bytes()).map(|text| text.as_str().to_owned());
        let read_parameter = |definition: *mut pg_sys::DefElem| {
            Ok((to_utf8((*definition).defname)?, to_utf8(pg_sys::defGetString(definition))?))
        };
        nodes(pg_sys::deserialize_deflist(text.datum())).into_iter().map(read_parameter).collect()
    }
}
