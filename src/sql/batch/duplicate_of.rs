//! `simhash_duplicate_of() OVER (ORDER BY ...)`: the earlier row that a row of a window duplicates.

use pgrx::pg_sys;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use postgres::call::Call;
use simhash::pairs::Kept;

use super::partition::{number_of_current_row, read_fingerprints};
use super::progress::Reporter;
use super::verified::VerifiedArguments;

/// Returns the position, from 1, of the earlier row that the current row duplicates, which itself duplicates none. NULL
/// if there is no such row.
#[pg_extern(sql = false)]
fn simhash_duplicate_of(fcinfo: pg_sys::FunctionCallInfo) -> Result<Option<i64>, ErrorReport> {
    // SAFETY: `fcinfo` belongs to the running call.
    let call = unsafe { Call::new(fcinfo) };
    number_of_current_row(call, "duplicates", |window| {
        let Some(verified) = VerifiedArguments::read(window)? else { return Ok(()) };
        let reporter = Reporter::new("simhash_duplicate_of", window.rows, verified.progress);
        let rows = read_fingerprints(window, &reporter)?;
        let kept = verified.verify::<Kept>(window, rows, &reporter)?;
        for (row, (number, kept)) in (0..).zip(window.partition_memory()[1..].iter_mut().zip(kept)) {
            *number = if kept == row { 0 } else { kept + 1 };
        }
        Ok(())
    })
}
