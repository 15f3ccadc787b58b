//! A partition of a window. For each of its rows, the row that names it is computed at the first row.

use std::ffi::c_int;

use pgrx::prelude::*;
use pgrx::{AnyElement, PgMemoryContexts};
use postgres::call::Call;
use postgres::error::{Result, algorithm_error, push, tick, user_error};
use postgres::window::Window;
use simhash::pairs::Rows;
use simhash::ticking::ticking;

/// The limit on the rows in a partition: their numbers are one palloc'd array, of up to 1 GB.
const MAX_PARTITION_ROWS: usize = (1 << 28) - 16;

/// The number of rows whose fingerprints are fetched at once: a call into PostgreSQL takes longer than its work for one
/// row.
const ROWS_AT_ONCE: usize = 16;

/// The positions of the arguments that all functions have: the key of a row, and its fingerprint or text.
const KEY_ARGUMENT: c_int = 0;
pub const CONTENT_ARGUMENT: c_int = 1;

/// The result for a row, in the partition's numbers: NULL, its own key, or a key that was kept, counted from here.
pub const NULL: u32 = 0;
pub const OWN_KEY: u32 = 1;
const FIRST_KEPT_KEY: u32 = 2;

/// The key of the row that represents the current row; None if that key or the result is NULL.
///
/// At the first row of a partition, `compute` returns for each row the position of the row that represents it: an
/// earlier row, or itself. None if all results are NULL. The partition's memory holds 4 bytes for each row, and the
/// keys of rows that represent others. `alone`, [`NULL`] or [`OWN_KEY`], is the result for a row with a fingerprint
/// that no other row represents. `result_name` names the result in an error.
pub fn key_of_current_row(
    call: Call<'_>,
    result_name: &str,
    alone: u32,
    compute: impl FnOnce(&mut Window<'_>) -> Result<Option<Vec<u32>>>,
) -> Result<Option<AnyElement>> {
    let too_many = |rows| {
        let message = format!("cannot find {result_name} among {rows} rows");
        user_error(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, message)
            .set_detail(format!("A partition has at most {MAX_PARTITION_ROWS} rows."))
            .set_hint("Partition the window, or leave out rows that have no fingerprint.")
    };
    let mut window = Window::from_call(call, MAX_PARTITION_ROWS, too_many)?;
    if !window.memory.is_computed {
        if let Some(representatives) = compute(&mut window)? {
            keep_keys(&mut window, alone, &representatives);
        }
        window.memory.is_computed = true;
    }
    Ok(match window.numbers[window.current] {
        NULL => None,
        OWN_KEY => window.argument(KEY_ARGUMENT),
        kept => window.kept(KEY_ARGUMENT, (kept - FIRST_KEPT_KEY) as usize),
    })
}

/// Keeps the keys of the rows that represent others. The numbers of rows with a fingerprint are [`OWN_KEY`].
fn keep_keys(window: &mut Window<'_>, alone: u32, representatives: &[u32]) {
    let numbers = &mut *window.numbers;
    let represented = || (0..).zip(representatives).filter(|(row, representative)| row != *representative);
    for (_, &representative) in ticking(represented(), tick) {
        numbers[representative as usize] = FIRST_KEPT_KEY;
    }
    let mut kept = Vec::new();
    for (row, number) in ticking((0..).zip(numbers.iter_mut()), tick) {
        if *number == FIRST_KEPT_KEY {
            *number += kept.len() as u32;
            push(&mut kept, row);
        }
    }
    // From the last row to the first: a row gets its result after all rows that it represents, which are later ones.
    for (row, &representative) in ticking(representatives.iter().enumerate().rev(), tick) {
        if representative as usize != row {
            numbers[row] = numbers[representative as usize];
        } else if numbers[row] != NULL {
            numbers[row] = alone;
        }
    }
    window.keep(KEY_ARGUMENT, &kept, tick);
}

/// Reads the fingerprints of all rows, from an argument of type `bigint`.
pub fn read_fingerprints(window: &mut Window<'_>) -> Result<Rows> {
    // The fingerprint may be computed here, as in simhash_cluster(id, simhash(body)), so memory is freed after each
    // fetch: the texts of all rows would take too much.
    let mut context = PgMemoryContexts::new("simhash rows");
    let mut rows = Rows::with_capacity(window.rows).map_err(algorithm_error)?;
    let mut fingerprints = [None; ROWS_AT_ONCE];
    while rows.len() < window.rows {
        tick();
        let position = rows.len();
        let fingerprints = &mut fingerprints[..ROWS_AT_ONCE.min(window.rows - position)];
        // SAFETY: a fingerprint is a number, not a pointer into the context, in which nothing is used any more.
        unsafe {
            context.switch_to(|_| window.bigints_from(CONTENT_ARGUMENT, position, fingerprints));
            context.reset();
        }
        for (number, fingerprint) in window.numbers[position..].iter_mut().zip(fingerprints) {
            *number = if fingerprint.is_some() { OWN_KEY } else { NULL };
            rows.push(fingerprint.map(i64::cast_unsigned)).map_err(algorithm_error)?;
        }
    }
    Ok(rows)
}
