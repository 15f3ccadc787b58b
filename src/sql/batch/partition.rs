//! A partition of a window. At its first row, a function computes for every row the row that represents it. The result
//! at a row is the key of the row that represents it.

use std::ffi::c_int;
use std::mem;

use pgrx::prelude::*;
use pgrx::{AnyElement, PgMemoryContexts};
use postgres::call::Call;
use postgres::error::{Explain, Result, algorithm_error, user_error};
use postgres::interrupts::tick;
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

// The numbers of rows whose results are not returned yet. If row 0 represents rows 0 and 2, row 1 has no fingerprint,
// and nothing is near row 3, their numbers are 2, 0, 3 and 1.

/// The number of a row whose result is NULL.
pub const NO_RESULT: u32 = 0;
/// The number of a row that represents only itself.
pub const ALONE: u32 = 1;
/// The number of a row that represents itself and others. When its own result is returned, its key is stored, and the
/// index of the key among those that are stored replaces this number.
const REPRESENTS_OTHERS: u32 = 2;
/// The number of a row that the first row of the partition represents; one more if the second one does, and so on.
const FIRST_REPRESENTATIVE: u32 = 3;

/// The result for a row that represents itself.
#[derive(Clone, Copy)]
pub enum OwnResult {
    Key,
    Null,
}

/// The key of the row that represents the current row; None if that key or the result is NULL.
///
/// At the first row of a partition, `compute` returns for each row the position of the row that represents it: an
/// earlier row that represents itself, or itself. It must also set the number of each row, to [`ALONE`] or
/// [`NO_RESULT`]. It returns None, and sets nothing, if all results are NULL. The partition's memory holds 4 bytes for
/// each row, and the keys of rows that represent others. `result_name` names the result in an error.
pub fn key_of_current_row(
    call: Call<'_>,
    result_name: &str,
    own_result: OwnResult,
    compute: impl FnOnce(&mut Window<'_>) -> Result<Option<Vec<u32>>>,
) -> Result<Option<AnyElement>> {
    let too_many = |rows| {
        let message = format!("cannot find {result_name} among {rows} rows");
        user_error(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, message)
            .with_detail(format!("A partition has at most {MAX_PARTITION_ROWS} rows."))
            .with_hint("Partition the window, or leave out rows that have no fingerprint.")
    };
    let mut window = Window::from_call(call, MAX_PARTITION_ROWS, too_many)?;
    if !window.memory.is_computed {
        if let Some(representatives) = compute(&mut window)? {
            number_rows(&mut window, &representatives);
        }
        window.memory.is_computed = true;
    }
    let number = window.numbers[window.current_position];
    if number >= FIRST_REPRESENTATIVE {
        let index = window.numbers[(number - FIRST_REPRESENTATIVE) as usize];
        return Ok(window.stored(index as usize));
    }
    if number == REPRESENTS_OTHERS {
        window.numbers[window.current_position] = window.store() as u32;
    }
    Ok(match own_result {
        OwnResult::Key if number != NO_RESULT => window.argument(KEY_ARGUMENT),
        _ => None,
    })
}

/// Numbers the rows that represent others, and those that are represented.
fn number_rows(window: &mut Window<'_>, representatives: &[u32]) {
    let mut representing = 0;
    for (position, &representative) in ticking(representatives.iter().enumerate(), tick) {
        if representative as usize != position {
            window.numbers[position] = FIRST_REPRESENTATIVE + representative;
            let before = mem::replace(&mut window.numbers[representative as usize], REPRESENTS_OTHERS);
            representing += usize::from(before != REPRESENTS_OTHERS);
        }
    }
    window.reserve(KEY_ARGUMENT, representing);
}

/// Reads the fingerprints of all rows, from an argument of type `bigint`.
pub fn read_fingerprints(window: &mut Window<'_>) -> Result<Rows> {
    // The fingerprint may be computed here, as in simhash_cluster(id, simhash(body)), so memory is freed after each
    // fetch: the texts of all rows would take too much.
    let mut context = PgMemoryContexts::new("simhash rows");
    let mut rows = Rows::with_capacity(window.row_count).map_err(algorithm_error)?;
    let mut fingerprints = [None; ROWS_AT_ONCE];
    while rows.len() < window.row_count {
        tick();
        let position = rows.len();
        let fingerprints = &mut fingerprints[..ROWS_AT_ONCE.min(window.row_count - position)];
        // SAFETY: a fingerprint is a number, not a pointer into the context, in which nothing is used any more.
        unsafe {
            context.switch_to(|_| window.bigints_from(CONTENT_ARGUMENT, position, fingerprints));
            context.reset();
        }
        for (number, fingerprint) in window.numbers[position..].iter_mut().zip(fingerprints) {
            *number = if fingerprint.is_some() { ALONE } else { NO_RESULT };
            rows.push(fingerprint.map(i64::cast_unsigned)).map_err(algorithm_error)?;
        }
    }
    Ok(rows)
}
