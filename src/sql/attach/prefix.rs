//! The names of the objects that attach makes. All begin with one prefix, so that a table can have several
//! fingerprints.

use std::ffi::CStr;

use pgrx::prelude::*;
use postgres::error::{Result, user_error};
use postgres::text::to_server;

use crate::sql::arguments::name;

/// The number of bytes that the longest of these names, a block's, adds to the prefix.
const LONGEST_ADDITION: usize = "_block0".len();
const MAX_NAME_BYTES: usize = pg_sys::NAMEDATALEN as usize - 1;

pub struct Prefix(String);

impl Prefix {
    pub fn read(prefix: Option<&CStr>) -> Result<Self> {
        let prefix = name(prefix, "prefix")?;
        let longest = MAX_NAME_BYTES - LONGEST_ADDITION;
        if prefix.is_empty() {
            return Err(user_error(PgSqlErrorCode::ERRCODE_INVALID_NAME, "prefix must not be empty"));
        }
        if to_server(&prefix)?.count_bytes() > longest {
            return Err(user_error(PgSqlErrorCode::ERRCODE_NAME_TOO_LONG, format!("prefix \"{prefix}\" is too long"))
                .set_detail(format!("A prefix has at most {longest} bytes.")));
        }
        Ok(Self(prefix))
    }

    /// The name of the fingerprint column.
    pub fn fingerprint(&self) -> &str {
        &self.0
    }

    /// The name of the column with the text's size.
    pub fn size(&self) -> String {
        format!("{}_size", self.0)
    }

    /// The name of a block column.
    pub fn block(&self, block: i32) -> String {
        format!("{}_block{block}", self.0)
    }
}

/// Names for a message, each in quotes.
pub fn in_quotes(names: &[impl AsRef<str>]) -> String {
    names.iter().map(|name| format!("\"{}\"", name.as_ref())).collect::<Vec<_>>().join(", ")
}
