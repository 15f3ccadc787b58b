//! The trigger function `simhash_dedup`. Its trigger fires BEFORE INSERT OR UPDATE, FOR EACH ROW, with the arguments
//! that [`crate::sql::guard::definition::arguments`] describes.

use pgrx::datum::Internal;
use pgrx::pg_sys::Datum;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use postgres::call::Call;
use postgres::trigger::RowEvent;

use super::decision::decide;
use super::statement::Statement;
use crate::sql::guard::definition::arguments::USAGE;

#[pg_extern(sql = false)]
fn simhash_dedup(fcinfo: pg_sys::FunctionCallInfo) -> Result<Internal, ErrorReport> {
    // SAFETY: `fcinfo` belongs to the running call.
    let event = RowEvent::from_call(unsafe { Call::new(fcinfo) }, "simhash_dedup", USAGE)?;
    // SAFETY: `fcinfo` belongs to the running call, and only this function has written to its `fn_extra`.
    let row = unsafe { decide(Statement::from_call(fcinfo, &event)?, &event)? };
    Ok(Internal::from(Some(Datum::from(row))))
}
