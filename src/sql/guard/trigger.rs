//! The trigger `simhash_dedup(action, max distance, fingerprint column [, mark column [, scope column ...]])`, whose
//! arguments may go on with a log: an empty argument, the log's schema and name, and the columns that it gets; and with
//! the condition under which existing rows count: another empty argument, and the condition.
//!
//! It fires BEFORE INSERT OR UPDATE, FOR EACH ROW.

use pgrx::datum::Internal;
use pgrx::pg_sys::Datum;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use super::decision::Statement;
use super::definition::USAGE;
use crate::postgres::call::Call;
use crate::postgres::raised::unchanged;
use crate::postgres::trigger::RowEvent;

#[pg_extern(sql = false)]
fn simhash_dedup(fcinfo: pg_sys::FunctionCallInfo) -> Result<Internal, ErrorReport> {
    unchanged(|| {
        // SAFETY: `fcinfo` belongs to the running call.
        let event = RowEvent::from_call(unsafe { Call::new(fcinfo) }, "simhash_dedup", USAGE)?;
        // SAFETY: `fcinfo` belongs to the running call, and only this function has written to its `fn_extra`.
        let row = unsafe { Statement::from_call(fcinfo, &event)?.decide(&event)? };
        Ok(Internal::from(Some(Datum::from(row))))
    })
}
