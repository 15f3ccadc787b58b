//! `simhash_duplicate_of() OVER (ORDER BY ...)`: the earlier row that a row of a window duplicates.

use pgrx::AnyElement;
use pgrx::pg_sys;
use pgrx::prelude::*;
use postgres::call::Call;
use postgres::error::ErrorReport;
use simhash::pairs::Kept;

use super::partition::{Alone, key_of_current_row};
use super::texts::TextArguments;

/// Returns the key of the earlier row that the current row duplicates, which itself duplicates none. NULL if there is
/// no such row.
#[pg_extern(sql = false)]
fn simhash_duplicate_of(fcinfo: pg_sys::FunctionCallInfo) -> Result<Option<AnyElement>, ErrorReport> {
    // SAFETY: `fcinfo` belongs to the running call.
    key_of_current_row(unsafe { Call::new(fcinfo) }, "duplicates", Alone::Null, |window| {
        let texts = TextArguments::read(window)?;
        texts.map(|texts| texts.compare::<Kept>(window, "simhash_duplicate_of")).transpose()
    })
}
