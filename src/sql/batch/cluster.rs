//! `simhash_cluster() OVER (...)`: the cluster of near-duplicates that a row of a window belongs to. And
//! `simhash_duplicate_of() OVER (ORDER BY ...)`: the earlier row that it duplicates.

use std::ffi::c_int;

use pgrx::AnyElement;
use pgrx::prelude::*;
use postgres::call::Call;
use postgres::error::{Result, algorithm_error};
use postgres::interrupts::tick;
use simhash::pairs::{ConfirmedClusters, KeptRows, clusters};

use super::texts::representatives;
use super::window_results::{OwnResult, key_of_representative, read_fingerprints};
use crate::sql::arguments::check_max_distance;

const MAX_DISTANCE_ARGUMENT: c_int = 2;

/// Returns the key of the first row in the cluster of the current row; NULL for a row without a fingerprint.
#[pg_extern(sql = false)]
fn simhash_cluster(call: Call<'_>) -> Result<Option<AnyElement>> {
    key_of_representative(call, OwnResult::Key, |window| {
        // If the distance is NULL, so are all clusters.
        let Some(max_distance) = window.argument(MAX_DISTANCE_ARGUMENT).map(check_max_distance).transpose()? else {
            return Ok(None);
        };
        let rows = read_fingerprints(window)?;
        clusters(rows, max_distance, &tick).map_err(algorithm_error).map(Some)
    })
}

/// Like [`simhash_cluster`], for texts: near-duplicates by a criterion are connected.
#[pg_extern(sql = false)]
fn simhash_cluster_texts(call: Call<'_>) -> Result<Option<AnyElement>> {
    key_of_representative(call, OwnResult::Key, representatives::<ConfirmedClusters>)
}

/// Returns the key of the earlier row that the current row duplicates, which itself duplicates none. NULL if there is
/// no such row.
#[pg_extern(sql = false)]
fn simhash_duplicate_of(call: Call<'_>) -> Result<Option<AnyElement>> {
    key_of_representative(call, OwnResult::Null, representatives::<KeptRows>)
}
