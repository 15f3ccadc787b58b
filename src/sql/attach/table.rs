//! `simhash_attach`: adds the fingerprint, its blocks and their btrees to a table, unless they exist.
//!
//! All checks come before the first command, so that an error changes nothing.

use std::ffi::CStr;

use pgrx::AnyArray;
use pgrx::prelude::*;
use pgrx::spi::quote_identifier;
use postgres::call::Call;
use postgres::catalog::target::{Lock, Target};
use postgres::error::{Result, notice};
use postgres::json::RawJsonb;
use postgres::spi::execute;

use super::columns::Columns;
use super::command;
use super::indexes::{BlockIndexes, IndexNames, one_by_one, to_analyze};
use crate::sql::arguments::{name, required};
use crate::sql::fingerprint::blocks::check_layout;
use crate::sql::indexed::scope::Scope;
use crate::sql::indexed::source::Source;

#[pg_extern(sql = false)]
#[allow(clippy::too_many_arguments)] // The SQL function has as many.
fn simhash_attach(
    target: Option<pg_sys::Oid>,
    source: Option<&CStr>,
    options: Option<RawJsonb<'_>>,
    blocks: Option<i32>,
    scope: Option<AnyArray>,
    columns: Option<bool>,
    prefix: Option<&CStr>,
    call: Call<'_>,
) -> Result<()> {
    let target = required(target, "target")?;
    let source = name(source, "source")?;
    let blocks = check_layout(required(blocks, "blocks")?)?;
    let scope = Scope::read(scope)?;
    let columns = required(columns, "columns")?;
    // Without columns, the lock of CREATE INDEX suffices, made stronger so that two calls wait for each other.
    let lock = if columns { pg_sys::AccessExclusiveLock } else { pg_sys::ShareRowExclusiveLock };
    command::run(call, target, prefix, lock as Lock, |schema, prefix, table, family| {
        let source = Source::read(table, source, options, columns)?;
        let has_columns = columns && !source.kind.is_fingerprint();
        let wanted = BlockIndexes { schema, prefix, source: &source, blocks, scope: &scope, has_columns };
        attach(&wanted, table, family)
    })
}

fn attach(wanted: &BlockIndexes<'_>, table: &Target, family: &[Target]) -> Result<()> {
    wanted.check(table, family)?;
    let columns = Columns::new(wanted);
    let (mut is_new, mut analyzed) = (false, String::new());
    if wanted.has_columns {
        table.check_is_no_partition()?;
        is_new = columns.add(table, family)?;
        let names = columns.names().into_iter().chain(wanted.scope.names().iter().map(String::as_str));
        analyzed = format!(" ({})", names.map(quote_identifier).collect::<Vec<_>>().join(", "));
    }
    if build(wanted, table, family)? == 0 && !is_new {
        notice(format!("table \"{}\" is already attached, skipping", table.name));
        return Ok(());
    }
    // Without statistics, the planner assumes that each search finds a 200th of the table, and prefers a sequential
    // scan. If columns are named, PostgreSQL does not analyze the expressions of indexes.
    for member in to_analyze(table, family) {
        notice(format!("analyzing table \"{}\"", member.name));
        execute(&format!("ANALYZE {}{analyzed}", member.sql()))?;
    }
    let scope = wanted.scope.names().iter().zip(2..).map(|(name, n)| format!("{} = ${n} AND ", quote_identifier(name)));
    let column = wanted.has_columns.then(|| wanted.prefix.fingerprint());
    let condition = wanted.source.condition(column, wanted.blocks)?;
    notice(format!("search with: WHERE {}{condition}", scope.collect::<String>()));
    Ok(())
}

fn build(wanted: &BlockIndexes<'_>, table: &Target, family: &[Target]) -> Result<usize> {
    let mut missing = Vec::new();
    for member in one_by_one(table, family) {
        for block in 0..wanted.blocks {
            if !wanted.of_block(member, block)?.iter().any(|index| index.is_valid) {
                missing.push((member, block));
            }
        }
    }
    let mut names = IndexNames::default();
    for (number, &(member, block)) in missing.iter().enumerate() {
        let (name, commands) = wanted.create(&mut names, "CREATE INDEX", member, "", block)?;
        let number = number + 1;
        notice(format!("building index {number} of {}: \"{name}\" on table \"{}\"", missing.len(), member.name));
        for command in commands {
            execute(&command)?;
        }
    }
    Ok(missing.len())
}
