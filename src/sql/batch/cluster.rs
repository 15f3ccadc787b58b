//! `simhash_cluster() OVER (...)`: the cluster of near-duplicates that a row of a window belongs to.

use std::ffi::c_int;

use pgrx::PgMemoryContexts;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use simhash::pairs::{Phase, Progress, Rows, clusters};

use super::progress::Reporter;
use crate::postgres::call::Call;
use crate::postgres::error::{algorithm_error, user_error};
use crate::postgres::window::Window;
use crate::sql::arguments::check_distance;

/// The limit on the rows in a partition: their clusters are one palloc'd array, of up to 1 GB.
const MAX_ROWS: usize = (1 << 28) - 16;

/// The number of rows whose fingerprints are fetched at once: a call into PostgreSQL takes longer than its work for one
/// row.
const AT_ONCE: usize = 16;

/// The positions of the arguments.
const FINGERPRINT: c_int = 0;
const MAX_DISTANCE: c_int = 1;
const PROGRESS: c_int = 2;

/// Returns the cluster of the current row: the position, from 1, of the cluster's first row; NULL for a row without a
/// fingerprint.
///
/// All clusters are computed at the first row of a partition and kept in the partition's memory, 4 bytes per row. The
/// number before the rows' numbers tells whether they are computed.
#[pg_extern(sql = false)]
fn simhash_cluster(fcinfo: pg_sys::FunctionCallInfo) -> Result<Option<i64>, ErrorReport> {
    let too_many = |rows| {
        let message = format!("cannot find clusters among {rows} rows");
        user_error(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, message)
            .set_detail(format!("A partition has at most {MAX_ROWS} rows."))
            .set_hint("Partition the window, or leave out rows that have no fingerprint.")
    };
    // SAFETY: `fcinfo` belongs to the running call.
    let mut window = Window::from_call(unsafe { Call::new(fcinfo) }, MAX_ROWS, too_many)?;
    if window.numbers()[0] == 0 {
        compute(&mut window)?;
    }
    let current = window.current;
    match window.numbers().get(current + 1) {
        None | Some(0) => Ok(None),
        Some(&cluster) => Ok(Some(cluster.into())),
    }
}

fn compute(window: &mut Window) -> Result<(), ErrorReport> {
    let max_distance = window.argument(MAX_DISTANCE).map(check_distance).transpose()?;
    let reporter = Reporter::new("simhash_cluster", window.rows, window.argument(PROGRESS).unwrap_or(false));
    // If the distance is NULL, so are all clusters.
    if let Some(max_distance) = max_distance {
        let mut rows = Rows::with_capacity(window.rows).map_err(algorithm_error)?;
        // The fingerprint may be computed here, as in simhash_cluster(simhash(body)), so memory is freed after each
        // fetch: the texts of all rows would take too much.
        let mut rows_context = PgMemoryContexts::new("simhash_cluster rows");
        let mut fingerprints = [None; AT_ONCE];
        while rows.len() < window.rows {
            let position = rows.len();
            reporter.tick(Progress { phase: Phase::Read, share: position as f64 / window.rows as f64 });
            let fingerprints = &mut fingerprints[..AT_ONCE.min(window.rows - position)];
            // SAFETY: a fingerprint is a number, not a pointer into the context.
            unsafe { rows_context.switch_to(|_| window.bigints_from(FINGERPRINT, position, fingerprints)) };
            // SAFETY: nothing in the context is used any more.
            unsafe { rows_context.reset() };
            for (number, fingerprint) in window.numbers()[position + 1..].iter_mut().zip(fingerprints) {
                *number = fingerprint.is_some().into();
                rows.push(fingerprint.map(i64::cast_unsigned)).map_err(algorithm_error)?;
            }
        }
        let clusters = clusters(rows, max_distance.cast_unsigned(), &|progress| reporter.tick(progress))
            .map_err(algorithm_error)?;
        for (number, first) in window.numbers()[1..].iter_mut().zip(clusters) {
            *number *= first + 1;
        }
    }
    window.numbers()[0] = 1;
    Ok(())
}
