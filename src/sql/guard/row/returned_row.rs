//! The guard's action: the tuple that the trigger returns (the new row, a copy with another mark, or null if the row is
//! skipped), or the error of a rejected row, with the fields that drivers read.

use pgrx::pg_sys::HeapTuple;
use pgrx::prelude::*;
use postgres::catalog::names::schema_name;
use postgres::catalog::relation::foreign_keys;
use postgres::error::{ErrorReport, Explain, Result, user_error};
use postgres::heap::row::Row;
use postgres::raised::{ErrorNames, raise_with_names};
use postgres::row_movement::may_complete_move;
use postgres::server_string::to_server_cstring;
use postgres::trigger::RowEvent;

use super::disclosure::Disclosure;
use super::near_rows::NearDuplicate;
use super::statement::NewRow;
use crate::sql::guard::definition::arguments::Action;
use crate::sql::guard::definition::distribution::{name_without_shard, names_without_shard};

/// Takes the guard's action for a row with a near-duplicate.
pub fn take_action(row: NewRow<'_>, nearest: &NearDuplicate) -> Result<HeapTuple> {
    let NewRow { statement, event } = row;
    let action = statement.guard.action;
    if action != Action::Reject && !nearest.is_visible {
        let name = name_without_shard(&event.table())?;
        // A row that the snapshot does not see must not affect the transaction, as with INSERT .. ON CONFLICT.
        let detail = format!("A near-duplicate in table \"{name}\" was committed after this transaction began.");
        return Err(cannot_serialize(detail));
    }
    // SAFETY: the statement's memory context exists.
    let may_be_moved = || unsafe { may_complete_move(event, statement.evaluator.memory()) };
    match action {
        // Two kinds of rows are rejected instead of skipped. An UPDATE that a foreign key may have made (ON UPDATE
        // CASCADE, ON DELETE SET NULL): the row would still refer to a key that is gone. And a row that an UPDATE has
        // deleted in another partition: it would be lost.
        Action::Skip if !changes_foreign_key(event) && !may_be_moved() => Ok(std::ptr::null_mut()),
        Action::Mark => with_mark(row, nearest),
        Action::Skip | Action::Reject => reject(row, &Disclosure::new(nearest)?),
    }
}

/// The error for a row that depends on one which another transaction has written meanwhile, as PostgreSQL words it.
pub fn cannot_serialize(detail: String) -> ErrorReport {
    let message = "could not serialize access due to concurrent update";
    user_error(PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE, message)
        .with_detail(detail)
        .with_hint("The transaction might succeed if retried.")
}

/// The new row with a mark that names its near-duplicate.
fn with_mark(row: NewRow<'_>, nearest: &NearDuplicate) -> Result<HeapTuple> {
    let (Some(own_mark), Some(nearest_mark)) = (&row.statement.own_table().mark, &nearest.searched.mark) else {
        return Ok(row.without_mark());
    };
    let value = nearest_mark.value(&nearest.searched.primary_key, &nearest.primary_key)?;
    // SAFETY: the trigger's table has this column, and the value is of its type, as `set_mark_columns` has checked.
    Ok(unsafe { row.event.with_value(own_mark.column.into(), value) })
}

/// The new row with the old mark, if an UPDATE leaves the source unchanged and writes both the source and the mark
/// column. An application that saves whole rows writes the mark that it has read before, or none. An UPDATE that writes
/// the mark column but not the source sets the mark.
pub fn with_old_mark(row: NewRow<'_>, old: Row<'_>) -> Option<HeapTuple> {
    let own = row.statement.own_table();
    let mark = own.mark.as_ref()?.column;
    let writes_source = || own.expressions.source.new_row_columns.iter().any(|&column| row.event.writes(column));
    if row.as_row().has_same_values(old, std::iter::once(mark)) || !writes_source() {
        return None;
    }
    // SAFETY: the trigger's table has this column, and the value is of the same column.
    Some(unsafe { row.event.with_value(mark.into(), old.value(mark)) })
}

/// Always fails: raises an exclusion_violation with the table's schema and name. Its constraint name is the trigger's
/// name. Its data type name is the report about the near-duplicate: of the fields that drivers read, only this one has
/// no other use in an error about a constraint.
fn reject(NewRow { statement, event }: NewRow<'_>, disclosure: &Disclosure) -> Result<HeapTuple> {
    const CODE: PgSqlErrorCode = PgSqlErrorCode::ERRCODE_EXCLUSION_VIOLATION;
    let (table, name) = names_without_shard(&event.table(), event.trigger_name()?)?;
    let names = ErrorNames {
        schema: to_server_cstring(&schema_name(event.table().schema())?)?,
        table: to_server_cstring(&table)?,
        constraint: to_server_cstring(&name)?,
        data_type: to_server_cstring(&disclosure.to_json())?,
    };
    let mut hint = match statement.guard.action {
        Action::Skip => "A row whose foreign key changes, or that may come from another partition, is not skipped.",
        _ => "Skip the row, or change the existing one.",
    }
    .to_owned();
    if let Some(unless) = &statement.guard.unless {
        hint += &format!(" It is stored all the same if this holds: {unless}.");
    }
    let report = user_error(CODE, format!("near-duplicate violates guard \"{name}\" of table \"{table}\""))
        .with_detail(disclosure.to_sentence())
        .with_hint(hint);
    raise_with_names(CODE, &report, &names)
}

/// Whether the event is an UPDATE that changes a column of a foreign key.
fn changes_foreign_key(event: &RowEvent) -> bool {
    let Some(old) = event.old_row() else { return false };
    let columns = foreign_keys(&event.table()).into_iter().flat_map(|key| key.columns);
    !event.new_row().has_same_values(old, columns)
}
