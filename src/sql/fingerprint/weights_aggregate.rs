//! `simhash_weights(content, options, features, sample)`: learns the value of the option `weights` from texts.
//!
//! The aggregate is not parallel: a worker would have to send its whole sample, and reading the texts takes most of the
//! time. Since few texts are needed, a query that reads a part of a large table (TABLESAMPLE) saves more.

use pgrx::datum::Internal;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use pgrx::{AnyElement, pg_extern};
use postgres::error::{algorithm_error, tick, user_error};
use postgres::json::{RawJsonb, to_jsonb};
use postgres::memory;
use postgres::text::{RawText, decode};
use simhash::fingerprint::learn::{MAX_LEARNT, MAX_SAMPLE_TEXTS, TextSample, to_json};
use simhash::fingerprint::options::Options;

use super::options::{MAX_OPTIONS_BYTES, OptionsDocument, read_options};
use crate::sql::arguments::required;

/// Larger numbers that were measured are no better: see `docs/accuracy.md`.
const DEFAULT_FEATURES: i32 = 500;
const DEFAULT_SAMPLE: i32 = 300;
/// Bytes of `jsonb` that are left for other options.
const OTHER_OPTIONS_BYTES: usize = 1024;

/// The state of the aggregate: the arguments of the first row, which must be the same for all rows, and the sample.
struct WeightsState {
    options: Options,
    features: i32,
    size: i32,
    sample: TextSample,
}

#[pg_extern(sql = false)]
fn simhash_weights_add(
    state: Internal,
    content: Option<RawText<'_>>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Result<Internal, ErrorReport> {
    add(state, content, Options::default(), DEFAULT_FEATURES, DEFAULT_SAMPLE, fcinfo)
}

#[pg_extern(sql = false)]
fn simhash_weights_add_options(
    state: Internal,
    content: Option<RawText<'_>>,
    options: Option<RawJsonb<'_>>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Result<Internal, ErrorReport> {
    let options = read_options(OptionsDocument::Jsonb(required(options, "options")?))?;
    add(state, content, options, DEFAULT_FEATURES, DEFAULT_SAMPLE, fcinfo)
}

#[pg_extern(sql = false)]
fn simhash_weights_add_sized(
    state: Internal,
    content: Option<RawText<'_>>,
    options: Option<RawJsonb<'_>>,
    features: Option<i32>,
    sample: Option<i32>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Result<Internal, ErrorReport> {
    let options = read_options(OptionsDocument::Jsonb(required(options, "options")?))?;
    let features = check_range(required(features, "features")?, "features", MAX_LEARNT)?;
    let sample = check_range(required(sample, "sample")?, "sample", MAX_SAMPLE_TEXTS)?;
    add(state, content, options, features, sample, fcinfo)
}

/// Offers a row's text to the sample; a row without a text adds nothing.
fn add(
    mut state: Internal,
    content: Option<RawText<'_>>,
    options: Options,
    features: i32,
    size: i32,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Result<Internal, ErrorReport> {
    if !state.initialized() {
        // SAFETY: `fcinfo` is the running call's.
        let mut memory = unsafe { memory::of_aggregate(fcinfo, "simhash_weights") }?;
        let new = WeightsState { options: options.clone(), features, size, sample: TextSample::new(size as usize) };
        let new = memory.leak_and_drop_on_delete(new);
        state = Internal::from(Some(pg_sys::Datum::from(new)));
    }
    // SAFETY: the state is one that this function has made. It lives as long as the aggregate, and only this call
    // refers to it.
    let Some(known) = (unsafe { state.get_mut::<WeightsState>() }) else {
        return Err(user_error(PgSqlErrorCode::ERRCODE_DATA_CORRUPTED, "state of simhash_weights is missing"));
    };
    if known.options != options || known.features != features || known.size != size {
        let message = "the arguments of simhash_weights differ between rows";
        return Err(user_error(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message)
            .set_hint("Only the text may differ. Use GROUP BY to learn weights for each group."));
    }
    if let Some(content) = content {
        known.sample.add(decode(content)?.as_str()).map_err(algorithm_error)?;
    }
    Ok(state)
}

#[pg_extern(sql = false)]
fn simhash_weights_final(state: Internal) -> Result<Option<AnyElement>, ErrorReport> {
    // SAFETY: SQL cannot make an `internal` value, so it comes from the functions here, which make only this state.
    let Some(state) = (unsafe { state.get::<WeightsState>() }) else {
        return Ok(None);
    };
    let learnt = state.sample.learn(&state.options, state.features as usize, &tick).map_err(algorithm_error)?;
    to_jsonb(&to_json(&learnt, MAX_OPTIONS_BYTES - OTHER_OPTIONS_BYTES))
}

fn check_range(value: i32, what: &str, most: usize) -> Result<i32, ErrorReport> {
    if (1..=most as i32).contains(&value) {
        return Ok(value);
    }
    let message = format!("{what} {value} is out of range");
    Err(user_error(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message)
        .set_detail(format!("It must be from 1 to {most}.")))
}
