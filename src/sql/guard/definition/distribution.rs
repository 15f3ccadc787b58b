//! Guards of tables whose rows Citus stores in shards, where the trigger sees one shard.

use postgres::catalog::citus::{Distribution, check_not_distributed, distribution, table_of_shard, without_number};
use postgres::catalog::relation::{Relation, relation_name};
use postgres::error::{Explain, Result, not_supported, wrong_state};
use postgres::settings::read_setting;

/// Refuses a guard that would not see all rows that it must compare, or that Citus would not create.
pub fn check_can_guard(table: &Relation, scope: &[String]) -> Result<()> {
    let Some(distribution) = distribution(table.oid())? else { return Ok(()) };
    check_scope(&table.name()?, &distribution, scope)?;
    check_allows_triggers(table)
}

/// Refuses to create or drop a trigger while Citus does not allow it.
pub fn check_allows_triggers(table: &Relation) -> Result<()> {
    let is_local = distribution(table.oid())?.is_none_or(|distribution| distribution == Distribution::Local);
    if is_local || read_setting(c"citus.enable_unsafe_triggers").as_deref() == Some("on") {
        return Ok(());
    }
    let name = table.name()?;
    let message = format!("table \"{name}\" is distributed by Citus, which allows no triggers on it");
    Err(wrong_state(message).with_hint("SET citus.enable_unsafe_triggers = on, and call the function again."))
}

/// Refuses to check a row where the guard does not see all rows that it must compare. Citus copies the trigger to every
/// shard, also if the table is distributed after it was guarded.
pub fn check_sees_all(table: &Relation, scope: &[String]) -> Result<()> {
    check_not_distributed(table)?;
    let Some(table) = table_of_shard(table)? else { return Ok(()) };
    let (Some(distribution), Some(name)) = (distribution(table)?, relation_name(table)?) else { return Ok(()) };
    check_scope(&name, &distribution, scope)
}

fn check_scope(table: &str, distribution: &Distribution, scope: &[String]) -> Result<()> {
    match distribution {
        Distribution::OneShard | Distribution::Local => Ok(()),
        Distribution::Column(column) if scope.contains(column) => Ok(()),
        Distribution::Column(column) => {
            let message = format!("a guard of table \"{table}\" needs the column \"{column}\" in its scope");
            Err(not_supported(message)
                .with_detail(format!(
                    "Citus distributes the table by \"{column}\", and a guard does not see rows with other values there."
                ))
                .with_hint("Add the column to the scope, or guard a table of fingerprints that is not distributed."))
        }
        Distribution::Other => Err(not_supported(format!("table \"{table}\" cannot be guarded"))
            .with_detail("Citus does not distribute it by the hash of a column, and a guard sees one shard only.")),
    }
}

/// The names that the user gave to a table and to a trigger on it: without the number of the shard.
pub fn names_without_shard(table: &Relation, trigger: String) -> Result<(String, String)> {
    let trigger = if table_of_shard(table)?.is_some() { without_number(&trigger).to_owned() } else { trigger };
    Ok((name_without_shard(table)?, trigger))
}

/// The name that the user gave to a table: without the number of the shard.
pub fn name_without_shard(table: &Relation) -> Result<String> {
    match table_of_shard(table)?.map(relation_name).transpose()?.flatten() {
        Some(name) => Ok(name),
        None => table.name(),
    }
}
