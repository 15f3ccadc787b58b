//! `simhash_fill`: stores the fingerprints of rows that existed before `simhash_attach_online`, a few pages at a time.
//!
//! It commits after each batch of pages, and between two batches other sessions may rewrite the table, move rows to
//! other partitions, or attach, detach or drop partitions. So it works in passes. Each pass lists the tables again,
//! starts over with a table that was rewritten, and then counts the unfilled rows in one query. The last pass leaves no
//! unfilled rows.

use std::ffi::CStr;
use std::panic::AssertUnwindSafe;
use std::time::Instant;

use pgrx::PgTryBuilder;
use pgrx::pg_sys::panic::{CaughtError, ErrorReport};
use pgrx::prelude::*;
use postgres::call::Call;
use postgres::catalog::citus::check_has_rows;
use postgres::catalog::partition::{check_owner, check_same_owner, with_inheritors};
use postgres::catalog::relation::{Relation, exists, relation_name};
use postgres::catalog::target::{Lock, Target};
use postgres::error::{notice, sendable, tick, user_error};
use postgres::owner::as_owner_with_triggers;
use postgres::raised::forward_errors;
use postgres::report::Schedule;
use postgres::settings::set_locally;
use postgres::spi::{execute, execute_and_commit, query_strings};

use super::prefix::Prefix;
use crate::sql::arguments::required;
use crate::sql::functions::ExtensionSchema;
use crate::sql::indexed::unfilled::MaintainedColumn;

/// How often to retry a batch of one page, while other transactions move its rows to other partitions.
const MAX_BATCH_RETRIES: u32 = 100;

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
    forward_errors(|| {
        // SAFETY: `fcinfo` belongs to the running call.
        let call = unsafe { Call::new(fcinfo) };
        let schema = ExtensionSchema::running(call)?;
        // Check this first, because a read-only transaction cannot lock names. SAFETY: the name is NUL-terminated.
        unsafe { pg_sys::PreventCommandIfReadOnly(c"UPDATE".as_ptr()) };
        if !may_commit(call) {
            let message = "simhash_fill cannot run inside a transaction block";
            return Err(user_error(PgSqlErrorCode::ERRCODE_ACTIVE_SQL_TRANSACTION, message)
                .set_detail("It commits after each batch.")
                .set_hint("CALL it by itself."));
        }

        let mut fill = Fill { schema, prefix: &prefix, root: target, batch_pages, progress: FillProgress::new() };
        let mut unfilled_before = None;
        loop {
            let pass = fill.run_pass()?;
            let Some(unfilled) = execute_and_commit(|| with_snapshot(|| fill.unfilled_rows()))? else {
                notice("fill: the table was dropped meanwhile".to_owned());
                break;
            };
            if unfilled.rows == 0 {
                break;
            }
            // Stop if a pass leaves as many rows unfilled as the one before: something sets the column to NULL, such as
            // a trigger of the user.
            let is_getting_less = pass.rows > 0 && unfilled_before.is_none_or(|before| unfilled.rows < before);
            if !is_getting_less && !pass.tables_changed && !fill.has_more_tables(&pass)? {
                return Err(unfilled.error());
            }
            unfilled_before = Some(unfilled.rows);
        }
        notice(format!("fill: done, {} rows got a fingerprint", fill.progress.rows));
        Ok(())
    })
}

/// Whether the procedure was called in a way that allows it to end transactions.
fn may_commit(call: Call<'_>) -> bool {
    let context = call.context(pg_sys::NodeTag::T_CallContext);
    // SAFETY: a node of this type, which CALL passes.
    context.is_some_and(|context| unsafe { !(*context.cast::<pg_sys::CallContext>()).atomic })
}

/// Progress is not reported before this many rows are filled. If these take long, the fill has waited for other
/// sessions.
const MIN_REPORTED_ROWS: u64 = 1_000;

struct FillProgress {
    pages: u64,
    pages_done: u64,
    rows: u64,
    schedule: Schedule,
}

impl FillProgress {
    fn new() -> Self {
        Self { pages: 0, pages_done: 0, rows: 0, schedule: Schedule::start() }
    }

    fn add(&mut self, pages: u64, rows: u64) {
        self.pages_done += pages;
        self.rows += rows;
        if self.rows >= MIN_REPORTED_ROWS && self.schedule.is_due(Instant::now()) {
            notice(format!("fill: {}, {} rows got a fingerprint", self.share(), self.rows));
        }
    }

    /// "1200 of about 5000 pages (24 %)", or the count alone once it exceeds the expected number.
    fn share(&self) -> String {
        let Self { pages, pages_done, .. } = self;
        if pages <= pages_done {
            return format!("{pages_done} pages");
        }
        format!("{pages_done} of about {pages} pages ({:.0} %)", 100.0 * *pages_done as f64 / *pages as f64)
    }
}

/// A table to fill, with all tables that inherit from it.
struct Fill<'a> {
    schema: ExtensionSchema,
    prefix: &'a Prefix,
    root: pg_sys::Oid,
    batch_pages: u32,
    progress: FillProgress,
}

/// The result of a pass.
#[derive(Default)]
struct PassResult {
    tables: Vec<pg_sys::Oid>,
    rows: u64,
    /// Whether a table was rewritten, dropped or detached while the pass filled it.
    tables_changed: bool,
}

/// The progress of one table of the family.
struct TableProgress {
    table: pg_sys::Oid,
    /// The file that the pages belong to; None before the first batch.
    file: Option<pg_sys::Oid>,
    /// The first page that is not filled yet.
    next: u32,
    /// The length of the file in pages at the first batch. Later pages have only new rows, whose fingerprints the
    /// trigger has computed.
    pages: u32,
}

/// The result of a batch.
enum BatchResult {
    /// This many rows got a fingerprint.
    Filled(u64),
    /// The table has a new file, none of whose pages is filled yet.
    Rewritten,
    /// The table was dropped, or was detached from the family.
    TableGone,
}

/// Rows that still lack their fingerprint after a pass.
struct UnfilledRows {
    table: String,
    rows: u64,
    /// A statement that may fill them, as a hint to the user.
    statement: String,
}

impl UnfilledRows {
    fn error(&self) -> ErrorReport {
        let message = format!("simhash_fill cannot fill table \"{}\"", self.table);
        user_error(PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message)
            .set_detail(format!("Rows that should have a fingerprint and have none: {}.", self.rows))
            .set_hint(sendable(format!("Run {} to see what keeps the column NULL.", self.statement)))
    }
}

impl Fill<'_> {
    /// Fills all tables of the family, each in batches of pages.
    fn run_pass(&mut self) -> Result<PassResult, ErrorReport> {
        let mut pass = PassResult::default();
        let tables = execute_and_commit(|| with_snapshot(|| self.tables()))?;
        self.progress.pages = tables.iter().map(|(_, pages)| u64::from(*pages)).sum();
        self.progress.pages_done = 0;
        for (table, _) in tables {
            pass.tables.push(table);
            self.fill(TableProgress { table, file: None, next: 0, pages: 0 }, &mut pass)?;
        }
        Ok(pass)
    }

    /// Whether the family has tables that the pass did not list.
    fn has_more_tables(&self, pass: &PassResult) -> Result<bool, ErrorReport> {
        let tables = execute_and_commit(|| with_snapshot(|| self.tables()))?;
        Ok(tables.iter().any(|(table, _)| !pass.tables.contains(table)))
    }

    /// The tables of the family that have rows of their own, each with its number of pages.
    fn tables(&self) -> Result<Vec<(pg_sys::Oid, u32)>, ErrorReport> {
        let table = Target::lock(self.root, pg_sys::AccessShareLock as Lock)?;
        check_has_rows(&table.open())
            .map_err(|error| error.set_hint("Fill the column by an UPDATE, which Citus runs on all servers."))?;
        let mut tables = Vec::new();
        for member in table.family(pg_sys::AccessShareLock as Lock)? {
            if member.is_ordinary() && self.has_member(member.oid)? {
                tables.push((member.oid, member.page_count()));
            }
        }
        Ok(tables)
    }

    fn fill(&mut self, mut progress: TableProgress, pass: &mut PassResult) -> Result<(), ErrorReport> {
        let (mut pages, mut repeats) = (self.batch_pages, 0);
        while progress.file.is_none() || progress.next < progress.pages {
            let from = progress.next;
            let may_repeat = repeats < MAX_BATCH_RETRIES;
            let batch = execute_and_commit(|| {
                with_snapshot(|| in_subtransaction(may_repeat, || self.run_batch(&mut progress, pages)))
            })?;
            match batch {
                Some(BatchResult::Filled(rows)) => {
                    pass.rows += rows;
                    self.progress.add(progress.next.saturating_sub(from).into(), rows);
                    pages = pages.saturating_mul(2).min(self.batch_pages);
                    repeats = 0;
                }
                Some(BatchResult::Rewritten) => {
                    pass.tables_changed = true;
                    self.progress.pages += u64::from(progress.pages);
                }
                Some(BatchResult::TableGone) => {
                    pass.tables_changed = true;
                    break;
                }
                // Retry with fewer pages: a shorter UPDATE is less likely to conflict with a move of a row.
                None if pages > 1 => pages /= 2,
                None => repeats += 1,
            }
            tick();
        }
        Ok(())
    }

    /// Fills the unfilled rows of the next pages.
    fn run_batch(&self, progress: &mut TableProgress, pages: u32) -> Result<BatchResult, ErrorReport> {
        if !exists(progress.table) {
            notice("fill: a table was dropped meanwhile".to_owned());
            return Ok(BatchResult::TableGone);
        }
        if !self.has_member(progress.table)? {
            return self.table_detached(progress.table);
        }
        let table = match Target::lock(progress.table, pg_sys::RowExclusiveLock as Lock) {
            Ok(table) => table,
            Err(_) if !exists(progress.table) => {
                notice("fill: a table was dropped meanwhile".to_owned());
                return Ok(BatchResult::TableGone);
            }
            Err(error) => return Err(error),
        };
        // The table may have been detached, or its owner changed, while we waited for the lock.
        match Relation::open_for_planning(self.root) {
            Some(root) if self.has_member(progress.table)? => check_same_owner(&root, &table.open())?,
            _ => return self.table_detached(progress.table),
        }
        check_owner(progress.table, &[])?;
        let file = Some(table.open().file_number());
        if progress.file != file {
            let is_new = progress.file.is_some();
            *progress = TableProgress { table: progress.table, file, next: 0, pages: table.page_count() };
            if is_new {
                notice(format!("fill: table \"{}\" was rewritten, starting over", table.name));
                return Ok(BatchResult::Rewritten);
            }
        }
        let (first, end) = (progress.next, progress.next.saturating_add(pages).min(progress.pages));
        let rows = as_owner_with_triggers(table.owner, || {
            // If a policy hides rows from the owner, fail rather than fill half of the table.
            set_locally(c"row_security", c"off");
            if first == end {
                return Ok(0);
            }
            let maintained = self.maintained_column(&table)?.ok_or_else(|| self.no_trigger(&table))?;
            execute(&format!(
                "UPDATE ONLY {} SET {} = {} WHERE \
                 ctid OPERATOR(pg_catalog.>=) '({first},0)'::pg_catalog.tid AND \
                 ctid OPERATOR(pg_catalog.<) '({end},0)'::pg_catalog.tid AND {}",
                table.sql(),
                maintained.column,
                maintained.fingerprint,
                maintained.unfilled_condition()
            ))
        })?;
        progress.next = end;
        Ok(BatchResult::Filled(rows))
    }

    fn maintained_column(&self, table: &Target) -> Result<Option<MaintainedColumn>, ErrorReport> {
        MaintainedColumn::read(self.schema, table, self.prefix.fingerprint())
    }

    fn no_trigger(&self, table: &Target) -> ErrorReport {
        let message =
            format!("no trigger keeps column \"{}\" of table \"{}\" up to date", self.prefix.fingerprint(), table.name);
        user_error(PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT, message)
            .set_hint("Call simhash_attach_online first, or create a trigger that executes simhash_update.")
    }

    fn table_detached(&self, table: pg_sys::Oid) -> Result<BatchResult, ErrorReport> {
        let name = relation_name(table)?.unwrap_or_default();
        notice(format!("fill: table \"{name}\" was detached meanwhile"));
        Ok(BatchResult::TableGone)
    }

    /// Whether a table is the one to fill, or inherits from it. A partition that is being detached concurrently does
    /// not count.
    fn has_member(&self, table: pg_sys::Oid) -> Result<bool, ErrorReport> {
        let (root, table) = (self.root.to_u32(), table.to_u32());
        let found = query_strings(&format!(
            "WITH RECURSIVE above (relation) AS (
                 VALUES ('{table}'::pg_catalog.oid)
                 UNION SELECT inhparent FROM pg_catalog.pg_inherits, above
                 WHERE inhrelid OPERATOR(pg_catalog.=) relation AND NOT inhdetachpending)
             SELECT '' FROM above WHERE relation OPERATOR(pg_catalog.=) '{root}'::pg_catalog.oid"
        ))?;
        Ok(!found.is_empty())
    }

    /// Counts the unfilled rows of the whole family; None if the table was dropped.
    ///
    /// A partitioned table is counted by one query, which includes partitions that no batch reaches. So is a table
    /// whose rows are stored on other servers.
    fn unfilled_rows(&self) -> Result<Option<UnfilledRows>, ErrorReport> {
        if !exists(self.root) {
            return Ok(None);
        }
        let table = Target::lock(self.root, pg_sys::AccessShareLock as Lock)?.with_locked_names()?;
        as_owner_with_triggers(table.owner, || {
            set_locally(c"row_security", c"off");
            if table.is_partitioned()
                && let Some(maintained) = self.maintained_column(&table)?
            {
                check_owner(self.root, &with_inheritors(self.root, pg_sys::AccessShareLock as Lock))?;
                return self.unfilled_rows_of(&table, "", &maintained).map(Some);
            }
            let family = table.family(pg_sys::AccessShareLock as Lock)?;
            let only = if table.is_partitioned() || family.len() == 1 { "" } else { "ONLY " };
            let mut total: Option<UnfilledRows> = None;
            for member in family.iter().filter(|member| member.is_ordinary()) {
                let Some(maintained) = self.maintained_column(member)? else { continue };
                let unfilled = self.unfilled_rows_of(member, only, &maintained)?;
                total = Some(match total {
                    Some(UnfilledRows { table, rows, statement }) if rows > 0 => {
                        UnfilledRows { table, rows: rows + unfilled.rows, statement }
                    }
                    _ => unfilled,
                });
            }
            if total.is_none() && !table.is_partitioned() {
                return Err(self.no_trigger(&table));
            }
            Ok(Some(total.unwrap_or(UnfilledRows { table: table.name.clone(), rows: 0, statement: String::new() })))
        })
    }

    fn unfilled_rows_of(
        &self,
        table: &Target,
        only: &str,
        maintained: &MaintainedColumn,
    ) -> Result<UnfilledRows, ErrorReport> {
        let MaintainedColumn { column, fingerprint } = maintained;
        let name = table.sql();
        let count = query_strings(&format!(
            "SELECT pg_catalog.count(*) FROM {only}{name} WHERE {}",
            maintained.unfilled_condition()
        ))?;
        let rows = count.first().and_then(|count| count.parse().ok()).unwrap_or(0);
        let statement = format!("UPDATE {only}{name} SET {column} = {fingerprint} WHERE {column} IS NULL");
        Ok(UnfilledRows { table: table.name.clone(), rows, statement })
    }
}

/// Runs `f` under a snapshot: a procedure that may commit is called without one.
fn with_snapshot<T>(f: impl FnOnce() -> Result<T, ErrorReport>) -> Result<T, ErrorReport> {
    // SAFETY: a procedure runs in a transaction. The snapshot is popped here or, after an error, by PostgreSQL.
    unsafe {
        pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot());
        let result = f()?;
        pg_sys::PopActiveSnapshot();
        Ok(result)
    }
}

/// Runs `f` in a subtransaction, which is rolled back after an error. If `may_repeat`, returns None after a
/// serialization failure, such as that of a row that is moved to another partition.
fn in_subtransaction<T>(
    may_repeat: bool,
    f: impl FnOnce() -> Result<T, ErrorReport>,
) -> Result<Option<T>, ErrorReport> {
    // SAFETY: a procedure runs in a transaction. The subtransaction ends here however `f` ends, and the memory context
    // and the resource owner are restored.
    unsafe {
        let (context, owner) = (pg_sys::CurrentMemoryContext, pg_sys::CurrentResourceOwner);
        let restore = move || {
            pg_sys::CurrentMemoryContext = context;
            pg_sys::CurrentResourceOwner = owner;
        };
        let undo = move || {
            pg_sys::RollbackAndReleaseCurrentSubTransaction();
            restore();
        };
        pg_sys::BeginInternalSubTransaction(std::ptr::null());
        pg_sys::CurrentMemoryContext = context;
        let result = PgTryBuilder::new(AssertUnwindSafe(|| f().map(Some)))
            .catch_others(move |error| {
                undo();
                if may_repeat && is_serialization_failure(&error) { Ok(None) } else { error.rethrow() }
            })
            .execute();
        match &result {
            Ok(Some(_)) => {
                pg_sys::ReleaseCurrentSubTransaction();
                restore();
            }
            // The subtransaction is already rolled back.
            Ok(None) => {}
            Err(_) => undo(),
        }
        result
    }
}

fn is_serialization_failure(error: &CaughtError) -> bool {
    let CaughtError::PostgresError(report) = error else { return false };
    report.sql_error_code() == PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE
}
