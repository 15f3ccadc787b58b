//! `simhash_cluster() OVER (...)`: the cluster of near-duplicates that a row of a window belongs to.

use std::ffi::c_int;

use pgrx::pg_sys;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use postgres::call::Call;
use postgres::error::{algorithm_error, shorten, user_error};
use postgres::text::decode;
use postgres::window::Window;
use simhash::pairs::{Confirmed, Rows, clusters};
use simhash::search::nearness::Nearness;

use super::partition::{number_of_current_row, read_fingerprints};
use super::progress::Reporter;
use super::verified::{CONTENT_ARGUMENT, VerifiedArguments};
use crate::sql::arguments::check_distance;

const NAME: &str = "simhash_cluster";
/// The result, as an error names it.
const RESULT_NAME: &str = "clusters";

/// The positions of the arguments without texts.
const DISTANCE_ARGUMENT_WITHOUT_TEXT: c_int = 1;
const PROGRESS_ARGUMENT_WITHOUT_TEXT: c_int = 2;

/// Returns the cluster of the current row: the position, from 1, of the cluster's first row; NULL for a row without a
/// fingerprint.
#[pg_extern(sql = false)]
fn simhash_cluster(fcinfo: pg_sys::FunctionCallInfo) -> Result<Option<i64>, ErrorReport> {
    // SAFETY: `fcinfo` belongs to the running call.
    number_of_current_row(unsafe { Call::new(fcinfo) }, RESULT_NAME, |window| {
        // If the distance is NULL, so are all clusters.
        let Some(max_distance) = window.argument(DISTANCE_ARGUMENT_WITHOUT_TEXT).map(check_distance).transpose()?
        else {
            return Ok(());
        };
        let reporter =
            Reporter::new(NAME, window.rows, window.argument(PROGRESS_ARGUMENT_WITHOUT_TEXT).unwrap_or(false));
        let rows = read_fingerprints(window, &reporter)?;
        number_rows(window, &unverified(rows, Nearness::within(max_distance), &reporter)?);
        Ok(())
    })
}

/// Like [`simhash_cluster`], but only pairs that are confirmed by their texts are connected.
#[pg_extern(sql = false)]
fn simhash_cluster_verified(fcinfo: pg_sys::FunctionCallInfo) -> Result<Option<i64>, ErrorReport> {
    // SAFETY: `fcinfo` belongs to the running call.
    let call = unsafe { Call::new(fcinfo) };
    number_of_current_row(call, RESULT_NAME, |window| {
        let Some(verified) = VerifiedArguments::read(window)? else { return Ok(()) };
        // If the content is the constant NULL, so are all clusters, as with a NULL distance.
        if verified.criterion.resemblance.is_some() && !has_content(call, window)? {
            return Ok(());
        }
        let reporter = Reporter::new(NAME, window.rows, verified.progress);
        let rows = read_fingerprints(window, &reporter)?;
        let firsts = match verified.criterion.resemblance {
            Some(_) => verified.verify::<Confirmed>(window, rows, &reporter)?,
            None => unverified(rows, verified.criterion.near, &reporter)?,
        };
        number_rows(window, &firsts);
        Ok(())
    })
}

fn unverified(rows: Rows, near: Nearness, reporter: &Reporter) -> Result<Vec<u32>, ErrorReport> {
    clusters(rows, near, &|progress| reporter.tick(progress)).map_err(algorithm_error)
}

/// Numbers the rows that have a fingerprint by the first rows of their clusters.
fn number_rows(window: &mut Window, firsts: &[u32]) {
    for (number, first) in window.partition_memory()[1..].iter_mut().zip(firsts) {
        *number *= first + 1;
    }
}

/// Whether there is a content argument; an error if the content is a distance. PostgreSQL takes a second argument of
/// unknown type for the content: a literal in quotes, NULL, or a parameter without a type.
fn has_content(call: Call<'_>, window: &Window) -> Result<bool, ErrorReport> {
    let arguments = call.expression().and_then(|call| call.window_arguments()).unwrap_or_default();
    if !arguments.get(CONTENT_ARGUMENT as usize).is_some_and(|content| content.is_fixed()) {
        return Ok(true);
    }
    let content = window.with_text(CONTENT_ARGUMENT, window.current, |text| decode(text).map(|text| text.into_owned()));
    let Some(content) = content.transpose()? else { return Ok(false) };
    if content.trim().parse::<i32>().is_err() {
        return Ok(true);
    }
    let message = format!("content of simhash_cluster is the constant \"{}\"", shorten(&content));
    Err(user_error(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message)
        .set_hint("If it is the maximum distance, cast it to integer."))
}
