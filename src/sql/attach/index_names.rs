//! Names for block indexes, as PostgreSQL would choose them.

use std::collections::HashSet;
use std::ffi::CStr;

use pgrx::pg_sys;
use postgres::catalog::target::Target;
use postgres::error::Result;
use postgres::text::{from_server, to_server};

/// Chooses index names as PostgreSQL would, avoiding existing ones and those chosen before.
#[derive(Default)]
pub struct IndexNames {
    given: HashSet<(pg_sys::Oid, String)>,
}

impl IndexNames {
    /// A name for an index of a table, made of the table's name and `part`, and shortened if it is too long.
    pub fn choose(&mut self, table: &Target, part: &str) -> Result<String> {
        let (table_name, part) = (to_server(&table.name)?, to_server(part)?);
        for number in 0u32.. {
            let label = to_server(&if number == 0 { "idx".to_owned() } else { format!("idx{number}") })?;
            // SAFETY: the names are NUL-terminated; makeObjectName returns a palloc'd, NUL-terminated name.
            let (name, exists) = unsafe {
                let name = pg_sys::makeObjectName(table_name.as_ptr(), part.as_ptr(), label.as_ptr());
                (from_server(name)?, table.is_name_taken(CStr::from_ptr(name)))
            };
            if !exists && self.given.insert((table.schema, name.clone())) {
                return Ok(name);
            }
        }
        unreachable!("there are fewer than 2^32 indexes")
    }
}
