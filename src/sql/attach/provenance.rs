//! The comments that label what attach made: users see them in `\d+`, dumps include them, and detach relies on them.
//! The label begins a line of the comment, so that other tools can add lines before it.

use std::iter;

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use pgrx::spi::quote_literal;
use postgres::text::from_server;

use super::prefix::Prefix;

/// The function that made an object.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Maker {
    Attach,
    Online,
}

impl Maker {
    pub const ALL: [Self; 2] = [Self::Attach, Self::Online];

    /// The beginning of the comments on its objects.
    pub fn label(self) -> &'static str {
        match self {
            Self::Attach => "made by simhash_attach: ",
            Self::Online => "made by simhash_attach_online: ",
        }
    }

    /// The command that labels an object with a comment. `object` is its kind and name, as COMMENT ON takes them.
    pub fn comment(self, object: &str, description: &str) -> String {
        format!("COMMENT ON {object} IS {}", quote_literal(format!("{}{description}", self.label())))
    }
}

/// Which function made a relation, or a column of it if `column` is not 0, by its comment.
pub fn maker_of(relation: pg_sys::Oid, column: pg_sys::AttrNumber) -> Result<Option<Maker>, ErrorReport> {
    labelled_by(relation, pg_sys::RelationRelationId, column)
}

/// Whether attach made a relation, or a column of it if `column` is not 0.
pub fn is_labelled_relation(relation: pg_sys::Oid, column: pg_sys::AttrNumber) -> Result<bool, ErrorReport> {
    Ok(maker_of(relation, column)?.is_some())
}

pub fn is_labelled_trigger(trigger: pg_sys::Oid) -> Result<bool, ErrorReport> {
    Ok(labelled_by(trigger, pg_sys::TriggerRelationId, 0)?.is_some())
}

/// Whether attach made an index under this prefix, on an expression of a column that may have any name.
pub fn is_labelled_for(index: pg_sys::Oid, prefix: &Prefix) -> Result<bool, ErrorReport> {
    let comment = comment(index, pg_sys::RelationRelationId, 0)?;
    Ok(comment.as_deref().and_then(label).is_some_and(|(_, description)| {
        description.split_once(UNDER_PREFIX).is_some_and(|(_, under)| under == prefix.fingerprint())
    }))
}

/// The part of an index's comment that names the prefix.
pub fn under_prefix(prefix: &Prefix) -> String {
    format!("{UNDER_PREFIX}{}", prefix.fingerprint())
}

const UNDER_PREFIX: &str = ", prefix ";

fn labelled_by(
    object: pg_sys::Oid,
    catalog: pg_sys::Oid,
    column: pg_sys::AttrNumber,
) -> Result<Option<Maker>, ErrorReport> {
    Ok(comment(object, catalog, column)?.and_then(|comment| label(&comment).map(|(maker, _)| maker)))
}

/// The first label that begins a line of a comment, and the text after it.
fn label(comment: &str) -> Option<(Maker, &str)> {
    let lines = iter::once(0).chain(comment.match_indices('\n').map(|(end, _)| end + 1));
    lines
        .map(|start| &comment[start..])
        .find_map(|line| Maker::ALL.into_iter().find_map(|maker| Some((maker, line.strip_prefix(maker.label())?))))
}

fn comment(
    object: pg_sys::Oid,
    catalog: pg_sys::Oid,
    column: pg_sys::AttrNumber,
) -> Result<Option<String>, ErrorReport> {
    // SAFETY: the comment is null or NUL-terminated.
    unsafe {
        let comment = pg_sys::GetComment(object, catalog, column.into());
        if comment.is_null() { Ok(None) } else { from_server(comment).map(Some) }
    }
}

/// Whether a relation, or a column of it if `column` is not 0, has any comment.
pub fn has_comment(relation: pg_sys::Oid, column: pg_sys::AttrNumber) -> bool {
    // SAFETY: reads the catalog; any OID may be asked for.
    unsafe { !pg_sys::GetComment(relation, pg_sys::RelationRelationId, column.into()).is_null() }
}
