//! The tuple that the trigger returns: the new row, a copy with another mark, or null if the row is skipped.

use pgrx::pg_sys::HeapTuple;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use postgres::catalog::foreign_key::foreign_keys;
use postgres::error::user_error;
use postgres::heap::row::Row;
use postgres::trigger::RowEvent;

use super::disclosure::Disclosure;
use super::near_duplicate::NearDuplicate;
use super::rejection::reject;
use super::statement::Statement;
use crate::sql::guard::definition::action::Action;
use crate::sql::guard::definition::distribution::user_name_of;

impl Statement {
    /// Takes the guard's action for a row with a near-duplicate. `may_have_moved` says whether an UPDATE may have
    /// deleted the row in another partition.
    pub fn act(
        &self,
        event: &RowEvent,
        nearest: &NearDuplicate,
        may_have_moved: bool,
    ) -> Result<HeapTuple, ErrorReport> {
        let action = self.guard.action;
        if action != Action::Reject && !nearest.is_visible {
            let name = user_name_of(&event.table())?;
            // As with INSERT .. ON CONFLICT, a row that the transaction's snapshot does not see must not affect the
            // transaction.
            return Err(user_error(
                PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE,
                "could not serialize access due to concurrent update",
            )
            .set_detail(format!("A near-duplicate in table \"{name}\" was committed after this transaction began.")));
        }
        match action {
            // Never skip an UPDATE by a foreign key: the row would still refer to a row that is gone. Never skip a row
            // that has been deleted in another partition: it would be lost.
            Action::Skip if !changes_foreign_key(event) && !may_have_moved => Ok(std::ptr::null_mut()),
            Action::Mark => self.with_mark(event, Some(nearest)),
            Action::Skip | Action::Reject => match reject(event, &Disclosure::new(nearest)?)? {},
        }
    }

    /// The new row with a mark that names its near-duplicate, or with NULL in the mark column if it has none.
    pub fn with_mark(&self, event: &RowEvent, near: Option<&NearDuplicate>) -> Result<HeapTuple, ErrorReport> {
        let Some(own) = self.guard.own_mark_column() else { return Ok(event.new_tuple()) };
        let of_near = |near: &NearDuplicate| {
            self.guard.mark_column(near.searched.oid).map(|mark| mark.value(near.searched, &near.key))
        };
        let value = near.and_then(of_near).transpose()?.flatten();
        if value.is_none() && event.new_row().value(own.column).is_none() {
            return Ok(event.new_tuple());
        }
        // SAFETY: the trigger's table has this column, and the value is of its type, as `MarkColumn::of` has checked.
        Ok(unsafe { event.with_value(own.column.into(), value) })
    }

    /// The new row with the old mark, if an UPDATE leaves the text unchanged and writes both the text and the mark
    /// column. An application that saves whole rows writes the mark that it has read before, or none. An UPDATE that
    /// writes the mark column but not the text sets the mark.
    pub fn with_old_mark(&self, event: &RowEvent, old: Row<'_>) -> Option<HeapTuple> {
        let mark = self.guard.own_mark_column()?.column;
        let writes_text = || self.guard.own_table().made_from.iter().any(|&column| event.writes(column));
        if event.new_row().has_same_values(old, std::iter::once(mark)) || !writes_text() {
            return None;
        }
        // SAFETY: the trigger's table has this column, and the value is of the same column.
        Some(unsafe { event.with_value(mark.into(), old.value(mark)) })
    }
}

/// Whether the event is an UPDATE that changes a column of a foreign key.
fn changes_foreign_key(event: &RowEvent) -> bool {
    let Some(old) = event.old_row() else { return false };
    let columns = foreign_keys(&event.table()).into_iter().flat_map(|key| key.columns);
    !event.new_row().has_same_values(old, columns)
}
