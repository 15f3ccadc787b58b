//! What the commands that build indexes share: which tables they name, the names of indexes, and the statistics.

use std::collections::HashSet;
use std::ffi::CStr;

use pgrx::prelude::*;
use postgres::catalog::target::Target;
use postgres::error::{Result, notice};
use postgres::spi::execute;
use postgres::text::{from_server, to_server};

use crate::sql::indexed::scope::Scope;

/// The tables that a command must name. A command on a partitioned table, which comes first in its family, covers all
/// partitions; one on another parent does not cover its inheritors.
pub fn tables_to_name(family: &[Target]) -> impl Iterator<Item = &Target> {
    let members = if family[0].is_partitioned() { &family[..1] } else { family };
    members.iter().filter(|member| member.is_indexable() || member.is_partitioned())
}

/// The tables that ANALYZE must name. In a family with foreign tables, these are the ordinary tables: before version
/// 16, PostgreSQL fetches all rows of a foreign table, and still does of one that inherits from an ordinary table.
pub fn tables_to_analyze(family: &[Target]) -> Vec<&Target> {
    if family.iter().any(Target::is_foreign) {
        family.iter().filter(|member| member.is_indexable()).collect()
    } else {
        tables_to_name(family).collect()
    }
}

/// Analyzes tables. Without statistics, the planner assumes that each search finds a 200th of the table, and prefers a
/// sequential scan. If columns are named, PostgreSQL does not analyze the expressions of indexes.
pub fn analyze(family: &[Target], columns: &str) -> Result<()> {
    for member in tables_to_analyze(family) {
        notice(format!("analyzing table \"{}\"", member.name));
        execute(&format!("ANALYZE {}{columns}", member.sql()?))?;
    }
    Ok(())
}

/// Chooses index names as PostgreSQL would, avoiding existing ones and those chosen before.
#[derive(Default)]
pub struct IndexNames {
    chosen: HashSet<(pg_sys::Oid, String)>,
    /// The names of indexes that are dropped first.
    dropped: HashSet<(pg_sys::Oid, String)>,
}

impl IndexNames {
    /// A name for an index, made of the names of its table, of a key and of the scope's columns, or shortened.
    pub fn choose(&mut self, table: &Target, key: &str, scope: &Scope) -> Result<String> {
        let key_and_scope = [&[key.to_owned()], scope.names()].concat().join("_");
        let (table_name, key_and_scope) = (to_server(&table.name)?, to_server(&key_and_scope)?);
        for number in 0u32.. {
            let suffix = to_server(&if number == 0 { "idx".to_owned() } else { format!("idx{number}") })?;
            // SAFETY: the names are NUL-terminated; makeObjectName returns a palloc'd, NUL-terminated name.
            let (name, exists) = unsafe {
                let name = pg_sys::makeObjectName(table_name.as_ptr(), key_and_scope.as_ptr(), suffix.as_ptr());
                (from_server(name)?, table.relation_named(CStr::from_ptr(name)).is_some())
            };
            let in_schema = (table.schema, name.clone());
            if (!exists || self.dropped.contains(&in_schema)) && self.chosen.insert(in_schema) {
                return Ok(name);
            }
        }
        unreachable!("there are fewer than 2^32 indexes")
    }

    /// Notes that an index of a table is dropped first.
    pub fn note_dropped(&mut self, table: &Target, name: String) {
        self.dropped.insert((table.schema, name));
    }
}
