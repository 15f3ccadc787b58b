//! The limit on the length of expressions and parameters that a user writes.

use pgrx::prelude::*;

use super::error::{Explain, Result, user_error};
use super::text::RawText;

/// The limit on the length, in bytes. Code that handles an argument may allocate its length without checking.
const MAX_ARGUMENT_BYTES: usize = 1 << 16;

/// An error, with the name of the argument, if its text is too long.
pub fn check_argument_length(text: RawText<'_>, name: &str) -> Result<()> {
    if text.len() <= MAX_ARGUMENT_BYTES {
        return Ok(());
    }
    let message = format!("{name} is {} bytes long", text.len());
    Err(user_error(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, message)
        .with_detail(format!("At most {MAX_ARGUMENT_BYTES} are read.")))
}
