//! Names for block indexes, as PostgreSQL would choose them.

use std::collections::HashSet;
use std::ffi::{CStr, CString};

use pgrx::pg_sys;
use pgrx::pg_sys::panic::ErrorReport;
use postgres::catalog::target::Target;
use postgres::text::{from_server, to_server};

use super::prefix::Prefix;

/// The suffix that REINDEX CONCURRENTLY has added to an index's name: `ccnew` or `ccold`, with a number if that name
/// existed.
pub fn leftover_label(name: &str) -> Option<&str> {
    let (_, label) = name.rsplit_once('_')?;
    let number = label.strip_prefix("ccnew").or_else(|| label.strip_prefix("ccold"))?;
    number.bytes().all(|digit| digit.is_ascii_digit()).then_some(label)
}

/// The name that PostgreSQL composes of other names, shortened if it is too long.
pub fn object_name(table: &CStr, column: Option<&CStr>, label: &str) -> Result<CString, ErrorReport> {
    let label = to_server(label)?;
    // SAFETY: the names are NUL-terminated; makeObjectName returns a palloc'd, NUL-terminated name.
    unsafe {
        let column = column.map_or(std::ptr::null(), CStr::as_ptr);
        Ok(CStr::from_ptr(pg_sys::makeObjectName(table.as_ptr(), column, label.as_ptr())).to_owned())
    }
}

/// Chooses index names as PostgreSQL would, avoiding existing ones and those chosen before.
#[derive(Default)]
pub struct IndexNames {
    given: HashSet<(pg_sys::Oid, String)>,
}

impl IndexNames {
    /// A name for the index of a block; `block` is what [`name_of_block`] returns.
    pub fn choose(&mut self, table: &Target, block: &str) -> Result<String, ErrorReport> {
        let (table_name, block) = (to_server(&table.name)?, to_server(block)?);
        for number in 0u32.. {
            let label = if number == 0 { "idx".to_owned() } else { format!("idx{number}") };
            let name = object_name(&table_name, Some(&block), &label)?;
            let exists = table.is_name_taken(&name);
            // SAFETY: the name is a CString, and so NUL-terminated.
            let name = unsafe { from_server(name.as_ptr()) }?;
            if !exists && self.given.insert((table.schema, name.clone())) {
                return Ok(name);
            }
        }
        unreachable!("there are fewer than 2^32 indexes")
    }

    /// Whether the index of a block may have been named `name`, with or without a suffix of REINDEX CONCURRENTLY.
    pub fn gives(table: &Target, block: &str, name: &str) -> Result<bool, ErrorReport> {
        /// A shortened name may have lost its number, so try the first few.
        const MAX_TRIED_NUMBERS: u32 = 10;
        let (table_name, block) = (to_server(&table.name)?, to_server(block)?);
        let leftover = leftover_label(name);
        let base = leftover.map_or(name, |label| &name[..name.len() - label.len() - 1]);
        let written = base.rsplit_once("_idx").and_then(|(_, number)| number.parse::<u32>().ok());
        for number in (0..MAX_TRIED_NUMBERS).chain(written) {
            let label = if number == 0 { "idx".to_owned() } else { format!("idx{number}") };
            let given = object_name(&table_name, Some(&block), &label)?;
            let given = match leftover {
                Some(label) => object_name(&given, None, label)?,
                None => given,
            };
            if given.as_c_str() == to_server(name)?.as_c_str() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The part of an index name after the name of the table: the block, then the columns of the scope. The block comes
/// first because PostgreSQL shortens names at their end.
pub fn name_of_block(prefix: &Prefix, block: i32, scope: &[String]) -> String {
    [&[prefix.block(block)], scope].concat().join("_")
}
