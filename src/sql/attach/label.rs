//! The comments that label what attach made: users see them in `\d+`, dumps include them, and detach relies on them.
//! The label begins a line of the comment, so that other tools can add lines of their own.

use pgrx::prelude::*;
use pgrx::spi::{quote_identifier, quote_literal};
use postgres::error::Result;
use postgres::text::from_server;

use super::prefix::Prefix;

const MADE_UNDER: &str = "made by simhash_attach, prefix ";

/// Who made a relation or a column of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Maker {
    /// `simhash_attach`, with the prefix in question.
    Attach,
    /// `simhash_attach`, with another prefix.
    OtherPrefix,
    Other,
}

impl Prefix {
    /// The beginning of the comments on what attach makes under this prefix.
    pub fn label(&self) -> String {
        format!("{MADE_UNDER}{}: ", quote_identifier(self.fingerprint()))
    }

    /// The command that labels an object with a comment. `object` is its kind and name, as COMMENT ON takes them.
    pub fn comment(&self, object: &str, description: &str) -> String {
        format!("COMMENT ON {object} IS {}", quote_literal(format!("{}{description}", self.label())))
    }

    /// Who made a relation, or a column of it if `column` is not 0, by its comment.
    pub fn maker_of(&self, relation: pg_sys::Oid, column: pg_sys::AttrNumber) -> Result<Maker> {
        // SAFETY: reads the catalog; any OID may be asked for. The comment is null or NUL-terminated.
        let comment = unsafe {
            let comment = pg_sys::GetComment(relation, pg_sys::RelationRelationId, column.into());
            if comment.is_null() { return Ok(Maker::Other) } else { from_server(comment)? }
        };
        let has_line = |label: &str| comment.starts_with(label) || comment.contains(&format!("\n{label}"));
        Ok(match () {
            () if has_line(&self.label()) => Maker::Attach,
            () if has_line(MADE_UNDER) => Maker::OtherPrefix,
            () => Maker::Other,
        })
    }
}
