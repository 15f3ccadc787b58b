//! A partition of a window. The numbers of all its rows are computed at its first row.

use std::ffi::c_int;

use pgrx::PgMemoryContexts;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use postgres::call::Call;
use postgres::error::{algorithm_error, user_error};
use postgres::raised::forward_errors;
use postgres::window::Window;
use simhash::pairs::{Phase, Progress, Rows};

use super::progress::Reporter;

/// The limit on the rows in a partition: their numbers are one palloc'd array, of up to 1 GB.
const MAX_PARTITION_ROWS: usize = (1 << 28) - 16;

/// The number of rows whose fingerprints are fetched at once: a call into PostgreSQL takes longer than its work for one
/// row.
const ROWS_AT_ONCE: usize = 16;

/// The position of the argument that is the fingerprint.
const FINGERPRINT_ARGUMENT: c_int = 0;

/// Returns the number of the current row; NULL if that is 0.
///
/// At the first row of a partition, `compute` sets the numbers of all its rows. They are stored in the partition's
/// memory, 4 bytes per row. The number before them is 1 once they are computed. `result_name` names the result in an
/// error.
pub fn number_of_current_row(
    call: Call<'_>,
    result_name: &str,
    compute: impl FnOnce(&mut Window) -> Result<(), ErrorReport>,
) -> Result<Option<i64>, ErrorReport> {
    let too_many = |rows| {
        let message = format!("cannot find {result_name} among {rows} rows");
        user_error(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, message)
            .set_detail(format!("A partition has at most {MAX_PARTITION_ROWS} rows."))
            .set_hint("Partition the window, or leave out rows that have no fingerprint.")
    };
    forward_errors(|| {
        let mut window = Window::from_call(call, MAX_PARTITION_ROWS, too_many)?;
        if window.partition_memory()[0] == 0 {
            compute(&mut window)?;
            window.partition_memory()[0] = 1;
        }
        let current = window.current;
        match window.partition_memory().get(current + 1) {
            None | Some(0) => Ok(None),
            Some(&number) => Ok(Some(number.into())),
        }
    })
}

/// Reads the fingerprints of all rows. Sets the number of each row that has one to 1.
pub fn read_fingerprints(window: &mut Window, reporter: &Reporter) -> Result<Rows, ErrorReport> {
    let mut rows = Rows::with_capacity(window.rows).map_err(algorithm_error)?;
    // The fingerprint may be computed here, as in simhash_cluster(simhash(body)), so memory is freed after each fetch:
    // the texts of all rows would take too much.
    let mut rows_context = PgMemoryContexts::new("simhash rows");
    let mut fingerprints = [None; ROWS_AT_ONCE];
    while rows.len() < window.rows {
        let position = rows.len();
        reporter.tick(Progress { phase: Phase::Read, share: position as f64 / window.rows as f64 });
        let fingerprints = &mut fingerprints[..ROWS_AT_ONCE.min(window.rows - position)];
        // SAFETY: a fingerprint is a number, not a pointer into the context.
        unsafe { rows_context.switch_to(|_| window.bigints_from(FINGERPRINT_ARGUMENT, position, fingerprints)) };
        // SAFETY: nothing in the context is used any more.
        unsafe { rows_context.reset() };
        for (number, fingerprint) in window.partition_memory()[position + 1..].iter_mut().zip(fingerprints) {
            *number = fingerprint.is_some().into();
            rows.push(fingerprint.map(i64::cast_unsigned)).map_err(algorithm_error)?;
        }
    }
    Ok(rows)
}
