//! Parameters as `ts_headline` takes them: a text such as `MaxWords = 20, MinWords = 5`.

use std::ffi::CStr;

use pgrx::prelude::*;

use super::argument_length::check_argument_length;
use super::error::Result;
use super::list::nodes;
use super::text::{TextArgument, decode};

/// Reads the names and values of the parameters in a text. An error, with the argument's name, if the text is too long.
/// PostgreSQL raises an error if it cannot read it.
pub fn read_parameters(text: TextArgument<'_>, argument_name: &str) -> Result<Vec<(String, String)>> {
    check_argument_length(text.detoast(), argument_name)?;
    // SAFETY: PostgreSQL makes a list of definitions of a `text`, each with a name and a value. Both are C strings.
    unsafe {
        let to_utf8 = |string| decode(CStr::from_ptr(string).to_bytes()).map(|utf8| utf8.as_str().to_owned());
        let read_parameter = |definition: *mut pg_sys::DefElem| {
            Ok((to_utf8((*definition).defname)?, to_utf8(pg_sys::defGetString(definition))?))
        };
        nodes(pg_sys::deserialize_deflist(text.datum())).into_iter().map(read_parameter).collect()
    }
}
