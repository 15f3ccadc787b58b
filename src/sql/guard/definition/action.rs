//! The actions of a guard.

use pgrx::prelude::*;
use postgres::error::{Result, shorten, user_error};

/// What a guard does with a near-duplicate: reject it with an error, skip it silently, or store it with a mark, which
/// is the key of the near row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Reject,
    Skip,
    Mark,
}

impl Action {
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "reject" => Ok(Self::Reject),
            "skip" => Ok(Self::Skip),
            "mark" => Ok(Self::Mark),
            _ => {
                let message = format!("unknown action \"{}\"", shorten(name));
                Err(user_error(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message)
                    .set_hint("The actions are reject, skip and mark."))
            }
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Reject => "reject",
            Self::Skip => "skip",
            Self::Mark => "mark",
        }
    }
}
