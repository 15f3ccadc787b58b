//! `simhash_agg(feature, weight)`: the fingerprint of a group of rows, computed in parallel in a parallel plan.
//!
//! The state is a [`Tally`], the weighted sum over the rows: about 1 kB per group, in the memory of the aggregate.

use pgrx::datum::Internal;
use pgrx::prelude::*;
use pgrx::{PgMemoryContexts, pg_extern};
use postgres::call::Call;
use postgres::error::{Result, algorithm_error, user_error};
use postgres::text::RawText;
use simhash::fingerprint::tally::Tally;

use super::simhash::{hash_of, weight_of};

// palloc aligns the state to 8 bytes, and PostgreSQL frees it without dropping it.
const _: () = assert!(align_of::<Tally>() <= 8 && !std::mem::needs_drop::<Tally>());

/// Adds a row to the state; a row with a NULL adds nothing.
#[pg_extern(sql = false)]
fn simhash_agg_add(
    state: Internal,
    feature: Option<RawText<'_>>,
    weight: Option<f64>,
    call: Call<'_>,
) -> Result<Internal> {
    let (Some(feature), Some(weight)) = (feature, weight) else {
        return Ok(state);
    };
    let (hash, weight) = (hash_of(feature)?, weight_of(weight)?);
    let (state, tally) = tally_or_new(state, call)?;
    tally.add(hash, weight).map_err(algorithm_error)?;
    Ok(state)
}

#[pg_extern(sql = false)]
fn simhash_agg_combine(state: Internal, other: Internal, call: Call<'_>) -> Result<Internal> {
    let Some(other) = tally_of(&other) else {
        return Ok(state);
    };
    let (state, tally) = tally_or_new(state, call)?;
    tally.merge(other).map_err(algorithm_error)?;
    Ok(state)
}

#[pg_extern(sql = false)]
fn simhash_agg_serialize(state: Internal) -> Option<Vec<u8>> {
    tally_of(&state).map(Tally::to_bytes)
}

#[pg_extern(sql = false)]
fn simhash_agg_deserialize(bytes: &[u8], _unused: Internal) -> Result<Internal> {
    let tally = Tally::from_bytes(bytes)
        .ok_or_else(|| user_error(PgSqlErrorCode::ERRCODE_DATA_CORRUPTED, "state of simhash_agg is corrupted"))?;
    // The state is combined immediately and then not needed, so it need not be in the aggregate's memory.
    let state = store(tally, PgMemoryContexts::CurrentMemoryContext);
    Ok(Internal::from(Some(pg_sys::Datum::from(state))))
}

#[pg_extern(sql = false)]
fn simhash_agg_final(state: Internal) -> Option<i64> {
    tally_of(&state)?.clone().fingerprint().map(u64::cast_signed)
}

fn tally_of(state: &Internal) -> Option<&Tally> {
    // SAFETY: SQL cannot make an `internal` value, so it comes from the functions here, which make only tallies.
    unsafe { state.get() }
}

/// The state's tally; if there is no state yet, a new tally in the memory of the aggregate.
fn tally_or_new<'a>(state: Internal, call: Call<'a>) -> Result<(Internal, &'a mut Tally)> {
    // SAFETY: the state is a tally that the functions here have made.
    unsafe { call.aggregate_state(state, "simhash_agg", |context| store(Tally::default(), context)) }
}

fn store(tally: Tally, mut context: PgMemoryContexts) -> *mut Tally {
    // SAFETY: the context is alive, and palloc_struct returns memory of the size and alignment of a tally.
    unsafe {
        let state: *mut Tally = context.palloc_struct();
        state.write(tally);
        state
    }
}
