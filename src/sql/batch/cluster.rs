//! `simhash_cluster() OVER (...)`: the cluster of near-duplicates that a row of a window is in.

use std::ffi::c_int;

use pgrx::PgMemoryContexts;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use super::progress::Reporter;
use super::window::Window;
use crate::simhash::pairs::{Rows, clusters};
use crate::sql::arguments::check_distance;
use crate::sql::error::{tick, user_error};

/// Most rows of a partition: their clusters are one palloc'd array, of up to 1 GB.
const MAX_ROWS: usize = (1 << 28) - 16;

/// The arguments.
const FINGERPRINT: c_int = 0;
const MAX_DISTANCE: c_int = 1;
const PROGRESS: c_int = 2;

/// Behind a row's cluster, which is the position of the cluster's first row, from 1; 0 for a row without a fingerprint.
///
/// All is computed at the first row of a partition, and remembered in its memory, 4 bytes a row. What is there before the
/// rows tells whether it is.
#[pg_extern(sql = false)]
fn simhash_cluster(fcinfo: pg_sys::FunctionCallInfo) -> Result<Option<i64>, ErrorReport> {
    let mut window = Window::of_call(fcinfo)?;
    let rows = window.rows();
    if rows > MAX_ROWS {
        let message = format!("cannot find clusters among {rows} rows");
        return Err(user_error(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, message)
            .set_detail(format!("A partition has at most {MAX_ROWS} rows."))
            .set_hint("Partition the window, or leave out rows that have no fingerprint."));
    }
    let current = window.current();
    if window.numbers(rows + 1)[0] == 0 {
        compute(&mut window, rows)?;
    }
    match window.numbers(rows + 1).get(current + 1) {
        None | Some(0) => Ok(None),
        Some(&cluster) => Ok(Some(cluster.into())),
    }
}

fn compute(window: &mut Window, len: usize) -> Result<(), ErrorReport> {
    let max_distance = window.argument(MAX_DISTANCE).map(check_distance).transpose()?;
    let reporter = Reporter::new("simhash_cluster", window.argument(PROGRESS).unwrap_or(false));
    // With an unknown distance, nothing is known.
    if let Some(max_distance) = max_distance {
        let mut rows = Rows::with_capacity(len)?;
        // The fingerprint may be computed here, as in simhash_cluster(simhash(body)): the texts of all rows would not do.
        let mut row_context = PgMemoryContexts::new("simhash_cluster row");
        for position in 0..len {
            tick();
            // SAFETY: a fingerprint is no pointer.
            let fingerprint: Option<i64> =
                unsafe { row_context.switch_to(|_| window.argument_at(FINGERPRINT, position as c_int)) };
            // SAFETY: nothing of it is used.
            unsafe { row_context.reset() };
            rows.push(fingerprint.map(i64::cast_unsigned))?;
            window.numbers(len + 1)[position + 1] = fingerprint.is_some().into();
        }
        let clusters = clusters(rows, max_distance.cast_unsigned(), &|progress| reporter.tick(progress))?;
        for (number, first) in window.numbers(len + 1)[1..].iter_mut().zip(clusters) {
            *number *= first + 1;
        }
    }
    window.numbers(len + 1)[0] = 1;
    Ok(())
}
