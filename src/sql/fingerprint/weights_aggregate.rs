//! `simhash_weights(content, options)`: learns the value of the option `weights` from texts.
//!
//! The aggregate is not parallel: a worker would have to send its whole sample, and reading the texts takes most of the
//! time. Few texts are needed, so a query that reads a part of a large table (TABLESAMPLE) saves more time.

use pgrx::datum::Internal;
use pgrx::{AnyElement, PgMemoryContexts, pg_extern};
use postgres::call::Call;
use postgres::error::{Explain, Result, algorithm_error, invalid_parameter};
use postgres::interrupts::tick;
use postgres::json::{RawJsonb, to_jsonb};
use postgres::text::{RawText, decode, is_encodable};
use simhash::fingerprint::learn::{TABLE_SAMPLE, TextSample, WEIGHT_BYTES, to_json};
use simhash::fingerprint::options::Options;

use super::options::{JsonDocument, read_options};
use crate::sql::arguments::required;

/// The limit on the weights, in bytes as `jsonb`: about 110 features. The expressions of an index on a band have the
/// options three times, in one row of pg_index. With these weights, any such row fits into a page.
const MAX_JSONB_BYTES: usize = 3584;

/// The state of the aggregate: the options of the first row, which must be the same for all rows, and the sample.
struct WeightsState {
    options: Options,
    sample: TextSample,
}

/// Offers a row's text to the sample; a row without a text adds nothing.
#[pg_extern(sql = false)]
fn simhash_weights_add(
    state: Internal,
    content: Option<RawText<'_>>,
    options: Option<RawJsonb<'_>>,
    call: Call<'_>,
) -> Result<Internal> {
    let options = read_options(JsonDocument::Jsonb(required(options, "options")?))?;
    let create = |mut memory: PgMemoryContexts| {
        let new_state = WeightsState { options: options.clone(), sample: TextSample::new(TABLE_SAMPLE) };
        memory.leak_and_drop_on_delete(new_state)
    };
    // SAFETY: only this function makes the state, and nothing else refers to it during the call.
    let (state, weights) = unsafe { call.aggregate_state(state, "simhash_weights", create) }?;
    if weights.options != options {
        return Err(invalid_parameter("the options of simhash_weights differ between rows")
            .with_hint("Use GROUP BY to learn weights for each group."));
    }
    if let Some(content) = content {
        weights.sample.add(decode(content)?.as_str()).map_err(algorithm_error)?;
    }
    Ok(state)
}

#[pg_extern(sql = false)]
fn simhash_weights_final(state: Internal) -> Result<Option<AnyElement>> {
    // SAFETY: SQL cannot make an `internal` value, so it comes from the functions here, which make only this state.
    let Some(state) = (unsafe { state.get::<WeightsState>() }) else {
        return Ok(None);
    };
    let learn = state.sample.learn(&state.options, MAX_JSONB_BYTES / WEIGHT_BYTES, &tick);
    let mut learnt = learn.map_err(algorithm_error)?;
    learnt.retain(|learnt| is_encodable(&learnt.feature));
    to_jsonb(&to_json(&learnt, MAX_JSONB_BYTES)).map(Some)
}
