//! `simhash_attach`: adds the fingerprint, its blocks and their btrees to a table, unless they exist.
//!
//! The checks come before the first command, so that what cannot succeed fails before a table is rewritten. Only the
//! check of foreign tables comes after: it reads the new columns.

use std::ffi::CStr;

use pgrx::AnyArray;
use pgrx::prelude::*;
use pgrx::spi::quote_identifier;
use postgres::call::Call;
use postgres::catalog::relation::{ACCESS_EXCLUSIVE, SHARE_ROW_EXCLUSIVE};
use postgres::catalog::target::Target;
use postgres::error::{Result, notice};
use postgres::json::RawJsonb;
use postgres::spi::execute;

use super::block_indexes::BlockIndexes;
use super::columns::Columns;
use super::command;
use super::index_steps::{Action, analyze_steps, find_existing_indexes, list_builds, run_steps};
use super::prefix::Prefix;
use crate::sql::arguments::{required, required_name};
use crate::sql::fingerprint::blocks::check_block_count;
use crate::sql::indexed::scope::Scope;
use crate::sql::indexed::source::{Source, column_holds_fingerprints};

#[pg_extern(sql = false)]
#[allow(clippy::too_many_arguments)] // The SQL function has as many.
fn simhash_attach(
    target: Option<pg_sys::Oid>,
    source: Option<&CStr>,
    options: Option<RawJsonb<'_>>,
    blocks: Option<i32>,
    scope: Option<AnyArray>,
    prefix: Option<&CStr>,
    call: Call<'_>,
) -> Result<()> {
    let target = required(target, "target")?;
    let source = required_name(source, "source")?;
    let blocks = check_block_count(required(blocks, "blocks")?)?;
    let scope = Scope::read(scope)?;
    let prefix = Prefix::read(prefix)?;
    // Without columns, the lock of CREATE INDEX suffices, made stronger so that two calls wait for each other.
    let has_columns = !column_holds_fingerprints(target, &source, options)?;
    let lock = if has_columns { ACCESS_EXCLUSIVE } else { SHARE_ROW_EXCLUSIVE };
    let attach_family = |schema, family: &[Target]| {
        let source = Source::read(&family[0], source, options)?;
        attach(&BlockIndexes { schema, prefix: &prefix, source: &source, blocks, scope: &scope }, family)
    };
    Target::lock(target, lock, |table| command::run(call, table, lock, attach_family))
}

fn attach(wanted: &BlockIndexes<'_>, family: &[Target]) -> Result<()> {
    wanted.check_family(family)?;
    let table = &family[0];
    let (mut is_new, mut analyzed_columns) = (false, String::new());
    if wanted.has_columns() {
        table.check_is_not_partition()?;
        let columns = Columns::new(wanted);
        is_new = columns.add(family)?;
        let names = columns.names().into_iter().chain(wanted.scope.names().iter().map(String::as_str));
        analyzed_columns = format!(" ({})", names.map(quote_identifier).collect::<Vec<_>>().join(", "));
    }
    let steps = list_builds(wanted, family, &find_existing_indexes(wanted, family)?, false)?;
    run_steps(&steps, |index, block, table| {
        wanted.label_commands(table, index, block)?.iter().try_for_each(|label| execute(label).map(drop))
    })?;
    if !is_new && steps.iter().all(|step| matches!(step.action, Action::Drop(_))) {
        notice(format!("table \"{}\" is already attached, skipping", table.name));
        return Ok(());
    }
    run_steps(&analyze_steps(family, &analyzed_columns)?, |_, _, _| Ok(()))?;
    let condition = wanted.source.condition_sql(wanted.has_columns().then(|| wanted.prefix.fingerprint_name()));
    notice(format!("search with: WHERE {}{condition}", wanted.scope.condition_sql()));
    Ok(())
}
