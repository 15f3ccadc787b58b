//! `simhash_fill`: gives the rows fingerprints that were there before `simhash_attach_online`, a few pages at a time.

use std::ffi::CStr;
use std::time::{Duration, Instant};

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use pgrx::spi::{quote_identifier, quote_literal};

use super::prefix::Prefix;
use super::progress::of_about;
use super::source::Source;
use super::target::{Lock, Target};
use super::update::UpdateTrigger;
use crate::sql::arguments::required;
use crate::sql::error::{tell, tick, user_error};
use crate::sql::functions::ExtensionSchema;
use crate::sql::owner::{as_owner_with_triggers, set};
use crate::sql::spi::{execute, execute_and_commit};

/// Between two reports.
const INTERVAL: Duration = Duration::from_secs(5);

#[pg_extern(sql = false)]
fn simhash_fill(
    target: Option<pg_sys::Oid>,
    prefix: Option<&CStr>,
    batch_pages: Option<i32>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Result<(), ErrorReport> {
    let target = required(target, "target")?;
    let prefix = Prefix::read(prefix)?;
    let batch_pages = required(batch_pages, "batch_pages")?;
    let batch_pages = u32::try_from(batch_pages).ok().filter(|pages| *pages > 0).ok_or_else(|| {
        let message = format!("batch_pages {batch_pages} is out of range");
        user_error(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message).set_hint("It must be 1 or more.")
    })?;
    let schema = ExtensionSchema::running(fcinfo)?;
    if !may_commit(fcinfo) {
        let message = "simhash_fill cannot run inside a transaction block";
        return Err(user_error(PgSqlErrorCode::ERRCODE_ACTIVE_SQL_TRANSACTION, message)
            .set_detail("It commits after each batch.")
            .set_hint("CALL it by itself."));
    }

    let table = Target::lock(target, pg_sys::AccessShareLock as Lock)?;
    let tables: Vec<(pg_sys::Oid, u32)> = table
        .family(pg_sys::AccessShareLock as Lock)?
        .iter()
        .filter(|member| member.is_ordinary())
        .map(|member| (member.oid, member.block_count()))
        .collect();
    let mut progress = Progress::new(tables.iter().map(|(_, pages)| u64::from(*pages)).sum());
    for (table, pages) in tables {
        let fill = Fill { schema, prefix: &prefix, table };
        let mut first = 0;
        while first < pages {
            let end = first.saturating_add(batch_pages).min(pages);
            let Some(rows) = execute_and_commit(|| fill.batch(first, end))? else {
                tell("fill: a table was dropped meanwhile".to_owned());
                break;
            };
            progress.add(u64::from(end - first), rows);
            tick();
            first = end;
        }
    }
    tell(format!("fill: done, {} rows got a fingerprint", progress.rows));
    Ok(())
}

/// Whether the procedure was called so that it may end transactions.
fn may_commit(fcinfo: pg_sys::FunctionCallInfo) -> bool {
    // SAFETY: `fcinfo` is that of the running call; a CALL has this context.
    unsafe {
        let context = (*fcinfo).context;
        !context.is_null()
            && (*context).type_ == pg_sys::NodeTag::T_CallContext
            && !(*context.cast::<pg_sys::CallContext>()).atomic
    }
}

struct Progress {
    pages: u64,
    pages_done: u64,
    rows: u64,
    next: Instant,
}

impl Progress {
    fn new(pages: u64) -> Self {
        Self { pages, pages_done: 0, rows: 0, next: Instant::now() + INTERVAL }
    }

    fn add(&mut self, pages: u64, rows: u64) {
        self.pages_done += pages;
        self.rows += rows;
        if Instant::now() >= self.next {
            self.next = Instant::now() + INTERVAL;
            let pages = of_about(self.pages_done, self.pages as f64, "pages");
            tell(format!("fill: {pages}, {} rows got a fingerprint", self.rows));
        }
    }
}

/// A table that is being filled. It is looked at anew in each batch: between two, anybody may have changed it.
struct Fill<'a> {
    schema: ExtensionSchema,
    prefix: &'a Prefix,
    table: pg_sys::Oid,
}

impl Fill<'_> {
    /// Fills the unfilled rows of some pages; how many there were, or None if the table is no more.
    fn batch(&self, first: u32, end: u32) -> Result<Option<u64>, ErrorReport> {
        // SAFETY: a look-up in a system cache.
        if unsafe { pg_sys::get_rel_name(self.table) }.is_null() {
            return Ok(None);
        }
        let table = Target::lock(self.table, pg_sys::RowExclusiveLock as Lock)?;
        as_owner_with_triggers(table.owner, || {
            // A policy that hides rows from the owner is an error, not a table that is filled by halves.
            set(c"row_security", c"off");
            let fingerprint = self.fingerprint_sql(&table)?;
            let column = quote_identifier(self.prefix.fingerprint());
            execute(&format!(
                "UPDATE ONLY {} SET {column} = {fingerprint} WHERE \
                 ctid OPERATOR(pg_catalog.>=) '({first},0)'::pg_catalog.tid AND \
                 ctid OPERATOR(pg_catalog.<) '({end},0)'::pg_catalog.tid AND \
                 {column} IS NULL AND {fingerprint} IS NOT NULL",
                table.sql()
            ))
            .map(Some)
        })
    }

    /// What the trigger computes. Also a trigger that somebody wrote by hand tells.
    fn fingerprint_sql(&self, table: &Target) -> Result<String, ErrorReport> {
        let column = self.prefix.fingerprint();
        let triggers = UpdateTrigger::all_of(self.schema, table)?;
        let trigger = triggers.iter().find(|trigger| trigger.fingerprint == column).ok_or_else(|| {
            let message = format!("no trigger keeps column \"{column}\" of table \"{}\" up to date", table.name);
            user_error(PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT, message)
                .set_hint("Call simhash_attach_online first, or create a trigger that executes simhash_update.")
        })?;
        let source = Source::read(table, trigger.source.clone(), None)?;
        let Some(json) = &trigger.options else { return source.fingerprint_sql(self.schema) };
        let function = self.schema.held_name(c"simhash", &[pg_sys::TEXTOID, pg_sys::TEXTOID])?;
        Ok(format!("{function}({}, {}::pg_catalog.text)", source.argument(), quote_literal(json)))
    }
}
