//! Parameters in a text, as the functions of full text search have them: `Name = value, ..`.

use std::ffi::CStr;

use pgrx::prelude::*;

use super::error::{Explain, Result, user_error};
use super::list::nodes;
use super::text::{TextArgument, decode};

/// The limit on the length of the parameters, in bytes: code that handles them may allocate it without asking.
const MAX_BYTES: usize = 1 << 16;

/// The names and values of the parameters. PostgreSQL raises an error if it cannot read the text.
pub fn parameters(text: TextArgument<'_>) -> Result<Vec<(String, String)>> {
    let len = text.detoast().len();
    if len > MAX_BYTES {
        return Err(user_error(
            PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            format!("headline is {len} bytes long"),
        )
        .with_detail(format!("At most {MAX_BYTES} are read.")));
    }
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
