//! The results of window functions that return, for each row, the key of the row that represents it. The first call in
//! a partition finds the representatives of all its rows.

use std::ffi::c_int;
use std::mem;

use pgrx::{AnyElement, PgMemoryContexts};
use postgres::call::Call;
use postgres::error::{Result, algorithm_error};
use postgres::interrupts::tick;
use postgres::window::Window;
use simhash::pairs::RowFingerprints;
use simhash::ticking::ticking;

/// The number of rows whose fingerprints are fetched at once: a call into PostgreSQL takes longer than its work for one
/// row.
const ROWS_AT_ONCE: usize = 16;

// The positions of the arguments that all functions have: the key of a row, and its fingerprint or text.
const KEY_ARGUMENT: c_int = 0;
pub const CONTENT_ARGUMENT: c_int = 1;

// While the results of a partition are returned, the number of a row is one of these. Example: if row 0 represents rows
// 0 and 2, row 1 has no fingerprint, and nothing is near row 3, their numbers are 2, 0, 3 and 1.

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
/// At the first row of a partition, `compute` returns for each row the position of its representative: an earlier row,
/// or the row itself. It also sets each number to [`ALONE`] or [`NO_RESULT`]. It returns None if all results are NULL.
pub fn key_of_representative(
    call: Call<'_>,
    own_result: OwnResult,
    compute: impl FnOnce(&mut Window<'_>) -> Result<Option<Vec<u32>>>,
) -> Result<Option<AnyElement>> {
    let mut window = Window::from_call(call)?;
    if !window.memory.is_computed {
        if let Some(representatives) = compute(&mut window)? {
            number_rows(&mut window, &representatives);
        }
        window.memory.is_computed = true;
    }
    let number = window.numbers[window.current_position];
    if number >= FIRST_REPRESENTATIVE {
        let stored_index = window.numbers[(number - FIRST_REPRESENTATIVE) as usize];
        return Ok(window.stored(stored_index as usize));
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
    let mut representative_count = 0;
    for (position, &representative) in ticking(representatives.iter().enumerate(), tick) {
        if representative as usize != position {
            window.numbers[position] = FIRST_REPRESENTATIVE + representative;
            let previous = mem::replace(&mut window.numbers[representative as usize], REPRESENTS_OTHERS);
            representative_count += usize::from(previous != REPRESENTS_OTHERS);
        }
    }
    window.reserve(KEY_ARGUMENT, representative_count);
}

/// Reads the fingerprints of all rows, from an argument of type `bigint`.
pub fn read_fingerprints(window: &mut Window<'_>) -> Result<RowFingerprints> {
    // The fingerprint may be computed here, as in simhash_cluster(id, simhash(body)), so memory is freed after each
    // fetch: the texts of all rows would take too much.
    let mut context = PgMemoryContexts::new("simhash rows");
    let mut rows = RowFingerprints::with_capacity(window.row_count).map_err(algorithm_error)?;
    let mut fingerprints = [None; ROWS_AT_ONCE];
    while rows.len() < window.row_count {
        tick();
        let position = rows.len();
        let fingerprints = &mut fingerprints[..ROWS_AT_ONCE.min(window.row_count - position)];
        // SAFETY: fingerprints are numbers, so nothing in the context is used any more.
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
