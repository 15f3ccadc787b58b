//! The names of the objects that attach makes, all with one prefix, so that a table can have several fingerprints; and
//! the comments that label the objects. Users see the comments in `\d+`, dumps include them, and detach relies on them.
//! The label begins a line of the comment, so that other tools can add lines of their own.

use std::ffi::CStr;

use pgrx::prelude::*;
use pgrx::spi::{quote_identifier, quote_literal};
use postgres::error::{Explain, Result, user_error};
use postgres::server_string::{server_string_from_c, to_server_cstring};

use crate::sql::arguments::required_name;

/// The longest prefix with which PostgreSQL does not cut the longest of the names, a block column's.
const MAX_PREFIX_BYTES: usize = pg_sys::NAMEDATALEN as usize - 1 - "_block0".len();

/// The beginning of all labels, before the prefix.
const MADE_UNDER: &str = "made by simhash_attach, prefix ";

/// Who made a relation or a column of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Maker {
    /// `simhash_attach`, with this prefix.
    ThisPrefix,
    /// `simhash_attach`, with another prefix.
    OtherPrefix,
    Other,
}

/// A prefix that is not empty, and short enough for all names.
pub struct Prefix(String);

impl Prefix {
    pub fn read(prefix: Option<&CStr>) -> Result<Self> {
        let prefix = required_name(prefix, "prefix")?;
        if prefix.is_empty() {
            return Err(user_error(PgSqlErrorCode::ERRCODE_INVALID_NAME, "prefix must not be empty"));
        }
        if to_server_cstring(&prefix)?.count_bytes() > MAX_PREFIX_BYTES {
            return Err(user_error(PgSqlErrorCode::ERRCODE_NAME_TOO_LONG, format!("prefix \"{prefix}\" is too long"))
                .with_detail(format!("A prefix has at most {MAX_PREFIX_BYTES} bytes.")));
        }
        Ok(Self(prefix))
    }

    /// The name of the fingerprint column: the prefix itself.
    pub fn fingerprint_name(&self) -> &str {
        &self.0
    }

    pub fn block_name(&self, block: i32) -> String {
        format!("{}_block{block}", self.0)
    }

    /// The beginning of the comments on what attach makes under this prefix.
    pub fn label(&self) -> String {
        format!("{MADE_UNDER}{}: ", quote_identifier(self.fingerprint_name()))
    }

    /// The command that labels an object with a comment. `object` is its kind and name, as COMMENT ON takes them.
    pub fn comment_command(&self, object: &str, description: &str) -> String {
        format!("COMMENT ON {object} IS {}", quote_literal(format!("{}{description}", self.label())))
    }

    /// Who made a relation, or a column of it if `column` is not 0, by its comment.
    pub fn maker_of(&self, relation: pg_sys::Oid, column: pg_sys::AttrNumber) -> Result<Maker> {
        // SAFETY: reads the catalog; any OID may be asked for. The comment is null or NUL-terminated.
        let comment = unsafe {
            let comment = pg_sys::GetComment(relation, pg_sys::RelationRelationId, column.into());
            if comment.is_null() { return Ok(Maker::Other) } else { server_string_from_c(comment)? }
        };
        let has_line_with = |label: &str| comment.starts_with(label) || comment.contains(&format!("\n{label}"));
        if has_line_with(&self.label()) {
            return Ok(Maker::ThisPrefix);
        }
        Ok(if has_line_with(MADE_UNDER) { Maker::OtherPrefix } else { Maker::Other })
    }
}

/// Names for a message, each in quotes.
pub fn in_quotes(names: &[impl AsRef<str>]) -> String {
    names.iter().map(|name| format!("\"{}\"", name.as_ref())).collect::<Vec<_>>().join(", ")
}
