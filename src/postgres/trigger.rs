//! Reads the call of a trigger function, and the triggers of a table.

use std::ffi::{CStr, c_char};

use pgrx::prelude::*;

use super::call::Call;
use super::catalog::names::find_row;
use super::catalog::relation::Relation;
use super::error::{ErrorReport, Explain, Result, user_error};
use super::heap::row::Row;
use super::server_string::server_string_from_c;

/// An INSERT or UPDATE of a row, before which a trigger function is called. Valid until the call ends.
pub struct RowEvent<'a> {
    trigger_data: &'a pg_sys::TriggerData,
}

impl<'a> RowEvent<'a> {
    /// Reads a call of `function`. An error, with the hint `usage`, unless it is by a BEFORE INSERT OR UPDATE row
    /// trigger.
    pub fn from_call(call: Call<'a>, function: &str, usage: &'static str) -> Result<Self> {
        let violation = |problem: &str| protocol_violated(format!("{function} {problem}"), usage);
        let Some(context) = call.context(pg_sys::NodeTag::T_TriggerData) else {
            return Err(violation("was not called as a trigger"));
        };
        // SAFETY: a node of this type, which the trigger manager passes and which outlives the call.
        let trigger_data = unsafe { &*context.cast::<pg_sys::TriggerData>() };
        if trigger_data.tg_event & pg_sys::TRIGGER_EVENT_ROW == 0 {
            return Err(violation("must be fired for each row"));
        }
        if trigger_data.tg_event & pg_sys::TRIGGER_EVENT_TIMINGMASK != pg_sys::TRIGGER_EVENT_BEFORE {
            return Err(violation("must be fired before the event"));
        }
        match trigger_data.tg_event & pg_sys::TRIGGER_EVENT_OPMASK {
            pg_sys::TRIGGER_EVENT_INSERT | pg_sys::TRIGGER_EVENT_UPDATE => Ok(Self { trigger_data }),
            _ => Err(violation("must be fired for INSERT or UPDATE")),
        }
    }

    fn is_update(&self) -> bool {
        // An INSERT has no `tg_newtuple`: its new row is `tg_trigtuple`.
        !self.trigger_data.tg_newtuple.is_null()
    }

    /// The row to be stored, in the form that a trigger function returns.
    pub fn new_tuple(&self) -> pg_sys::HeapTuple {
        if self.is_update() { self.trigger_data.tg_newtuple } else { self.trigger_data.tg_trigtuple }
    }

    /// The row to be stored.
    pub fn new_row(&self) -> Row<'_> {
        let slot = if self.is_update() { self.trigger_data.tg_newslot } else { self.trigger_data.tg_trigslot };
        // SAFETY: the slot is the trigger manager's, which holds the row until the call ends.
        unsafe { Row::new(slot) }
    }

    /// The row before an UPDATE; None for an INSERT.
    pub fn old_row(&self) -> Option<Row<'_>> {
        // SAFETY: the slot is the trigger manager's, which holds the row until the call ends.
        self.is_update().then(|| unsafe { Row::new(self.trigger_data.tg_trigslot) })
    }

    /// Whether the UPDATE statement sets this column. Other triggers may change further columns.
    pub fn writes(&self, column: i16) -> bool {
        let member = i32::from(column) - pg_sys::FirstLowInvalidHeapAttributeNumber;
        // SAFETY: the trigger manager passes the columns of the table that the UPDATE writes.
        unsafe { pg_sys::bms_is_member(member, self.trigger_data.tg_updatedcols) }
    }

    pub fn table(&self) -> Relation {
        // SAFETY: the trigger's table is open until the call ends.
        unsafe { Relation::opened_by_server(self.trigger_data.tg_relation) }
    }

    /// A copy of the row to be stored, with another value in one column; None for NULL.
    ///
    /// # Safety
    /// The row's table has that column, and the value is of its type.
    pub unsafe fn with_value(&self, column: i32, value: Option<pg_sys::Datum>) -> pg_sys::HeapTuple {
        let (mut column, mut is_null) = (column, value.is_none());
        let mut value = value.unwrap_or_else(pg_sys::Datum::null);
        // SAFETY: the trigger's table is open, and the caller's value is of its column's type.
        unsafe {
            let descriptor = (*self.trigger_data.tg_relation).rd_att;
            let row = self.new_tuple();
            pg_sys::heap_modify_tuple_by_cols(row, descriptor, 1, &mut column, &mut value, &mut is_null)
        }
    }

    pub fn trigger(&self) -> &pg_sys::Trigger {
        // SAFETY: the data of a call points to its trigger.
        unsafe { &*self.trigger_data.tg_trigger }
    }

    pub fn trigger_name(&self) -> Result<String> {
        // SAFETY: a trigger has a NUL-terminated name.
        unsafe { server_string_from_c(self.trigger().tgname) }
    }

    pub fn arguments(&self) -> Vec<&CStr> {
        // SAFETY: the trigger is PostgreSQL's.
        unsafe { arguments(self.trigger()) }
    }
}

/// The error for a wrong call of a trigger function; the hint says how to use it.
pub fn protocol_violated(message: String, usage: &'static str) -> ErrorReport {
    user_error(PgSqlErrorCode::ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED, message).with_hint(usage)
}

/// The arguments of a trigger, in the server's encoding.
///
/// # Safety
/// The trigger is PostgreSQL's, so it has `tgnargs` arguments, which are NUL-terminated.
pub unsafe fn arguments(trigger: &pg_sys::Trigger) -> Vec<&CStr> {
    let read_argument = |position| unsafe { CStr::from_ptr((*trigger.tgargs.add(position)).cast::<c_char>()) };
    (0..trigger.tgnargs as usize).map(read_argument).collect()
}

pub fn triggers(table: &Relation) -> &[pg_sys::Trigger] {
    // SAFETY: an open table has `numtriggers` triggers, or no description of triggers. They live as long as it is open.
    unsafe {
        let trigdesc = table.trigdesc.as_ref();
        trigdesc.map_or(&[], |trigdesc| std::slice::from_raw_parts(trigdesc.triggers, trigdesc.numtriggers as usize))
    }
}

/// Whether the trigger fires before each row, and its condition refers to OLD or NEW as a whole.
pub fn reads_whole_row(trigger: &pg_sys::Trigger) -> bool {
    let before_each_row = pg_sys::TRIGGER_TYPE_BEFORE | pg_sys::TRIGGER_TYPE_ROW;
    if trigger.tgqual.is_null() || trigger.tgtype as u32 & before_each_row != before_each_row {
        return false;
    }
    // SAFETY: the condition is a stored expression, in which OLD and NEW have these varnos. Attnum 0 is a whole row.
    unsafe {
        let condition = pg_sys::stringToNode(trigger.tgqual).cast();
        let mut columns = std::ptr::null_mut();
        pg_sys::pull_varattnos(condition, pg_sys::PRS2_OLD_VARNO, &mut columns);
        pg_sys::pull_varattnos(condition, pg_sys::PRS2_NEW_VARNO, &mut columns);
        pg_sys::bms_is_member(-pg_sys::FirstLowInvalidHeapAttributeNumber, columns)
    }
}

/// The table of the topmost trigger, from which a partition's trigger was cloned; None if that was dropped.
pub fn table_of_original(mut trigger: pg_sys::Oid) -> Option<pg_sys::Oid> {
    let catalog = Relation::open(pg_sys::TriggerRelationId);
    // The statement's snapshot may be older than the trigger.
    let current = std::ptr::null_mut();
    loop {
        // SAFETY: this catalog has OIDs, and its rows are of this form.
        let row = unsafe {
            let row = find_row(&catalog, trigger, current)?;
            &*pg_sys::heap_tuple_get_struct::<pg_sys::FormData_pg_trigger>(row)
        };
        if row.tgparentid == pg_sys::Oid::INVALID {
            return Some(row.tgrelid);
        }
        trigger = row.tgparentid;
    }
}

/// Whether a trigger with this `tgtype` fires before each INSERT and UPDATE of a row, and on nothing else. With a WHEN
/// or a list of columns, a trigger `is_conditional`.
pub fn fires_before_each_row(tgtype: i16, is_conditional: bool) -> bool {
    let before_insert_or_update = pg_sys::TRIGGER_TYPE_ROW
        | pg_sys::TRIGGER_TYPE_BEFORE
        | pg_sys::TRIGGER_TYPE_INSERT
        | pg_sys::TRIGGER_TYPE_UPDATE;
    tgtype as u32 == before_insert_or_update && !is_conditional
}

/// Whether a trigger with this `tgenabled` fires in ordinary sessions.
pub fn is_enabled(tgenabled: u8) -> bool {
    [pg_sys::TRIGGER_FIRES_ON_ORIGIN, pg_sys::TRIGGER_FIRES_ALWAYS].contains(&tgenabled)
}
