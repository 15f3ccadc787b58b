//! The log of a guard: a table that gets a row for each row that the guard skips or marks.
//!
//! The rows are inserted with the rights of the guarded table's owner, as CREATE INDEX and VACUUM run functions with
//! the rights of the table's owner. So writers need no rights on the log, and gain none. The triggers, defaults and
//! indexes of the log run with the owner's rights too, so the log must belong to that owner or to a superuser.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;
use pgrx::spi::{quote_identifier, quote_literal, quote_qualified_identifier};
use postgres::catalog::column::{Column, type_name};
use postgres::catalog::names::{role_name, schema_name};
use postgres::catalog::partition::{ancestors, with_inheritors};
use postgres::catalog::relation::{Relation, no_such_relation, relation_name};
use postgres::error::{sendable, user_error};
use postgres::owner::as_owner;
use postgres::query::{Query, QueryPlan};
use postgres::text::to_server;
use postgres::trigger::triggers;

use super::action::Action;

/// The columns that every log has, with their types. A log may have other columns, which get their defaults.
const LOG_COLUMNS: [(&str, Oid); 7] = [
    ("logged_at", pg_sys::TIMESTAMPTZOID),
    ("target", pg_sys::TEXTOID),
    ("action", pg_sys::TEXTOID),
    ("key", pg_sys::JSONBOID),
    ("distance", pg_sys::INT4OID),
    ("resemblance", pg_sys::FLOAT8OID),
    ("new_row", pg_sys::JSONBOID),
];

/// The limit on the columns in one call of jsonb_build_object, which takes two arguments for each of them: PostgreSQL
/// calls functions with at most 100 arguments.
const MAX_COLUMNS_OF_CALL: usize = 50;

/// A log as the trigger's arguments name it.
#[derive(Clone)]
pub struct Log {
    pub schema: String,
    pub name: String,
    /// The columns of the guarded table whose values are logged.
    pub columns: Vec<String>,
}

/// The guard whose log is prepared.
pub struct LoggedGuard<'a> {
    /// The trigger's name.
    pub name: &'a str,
    /// The guarded table: the partitioned table, if the trigger is a partition's.
    pub root: Oid,
    /// The trigger's table.
    pub table: &'a Relation,
    pub action: Action,
}

/// A log that one statement is ready to write to.
pub struct PreparedLog {
    /// The plan of the INSERT. Its parameters are the key as JSON, the distance, the resemblance, and the values of the
    /// logged columns.
    pub plan: QueryPlan,
    /// The owner of the guarded table.
    pub owner: Oid,
    /// The columns of the trigger's table whose values are logged.
    pub columns: Vec<i16>,
    /// The message of an error about the log.
    pub message: String,
}

impl Log {
    /// The log as arguments of the trigger.
    pub fn arguments(&self) -> impl Iterator<Item = String> {
        [self.schema.clone(), self.name.clone()].into_iter().chain(self.columns.iter().cloned())
    }

    /// The log with this OID, which a user names.
    pub fn of_table(oid: Oid, columns: Vec<String>) -> Result<Self, ErrorReport> {
        let name = relation_name(oid)?.ok_or_else(|| no_such_relation(oid))?;
        // SAFETY: a look-up in a system cache.
        let schema = schema_name(unsafe { pg_sys::get_rel_namespace(oid) })?;
        Ok(Self { schema, name, columns })
    }

    /// Prepares the INSERT. An error if the log cannot be written to, or must not be. The result lives in the current
    /// memory context.
    pub fn prepare(&self, guard: &LoggedGuard) -> Result<PreparedLog, ErrorReport> {
        let root = Relation::open(guard.root);
        let owner = root.owner();
        let columns = self.logged_columns(guard)?;
        let mut parameters = vec![pg_sys::TEXTOID, pg_sys::INT4OID, pg_sys::FLOAT8OID];
        parameters.extend(columns.iter().map(|column| column.data_type));
        let plan = as_owner(owner, || {
            let log = self.lock(guard, owner)?;
            self.check(&log, guard, &root)?;
            let statement = to_server(&self.statement(guard, &root)?)?;
            Query::plan_insert(statement, parameters, |query| {
                if query.table() == Some(log.oid()) { Ok(()) } else { Err(self.missing(guard)?) }
            })
        })?;
        let columns = columns.iter().map(|column| column.attnum).collect();
        Ok(PreparedLog { plan, owner, columns, message: self.message(guard)? })
    }

    /// The columns of the new row that are logged.
    fn logged_columns(&self, guard: &LoggedGuard) -> Result<Vec<Column>, ErrorReport> {
        let column = |name: &String| {
            let column = Column::named(guard.table, name)?;
            if column.is_generated {
                let message = format!("logged column \"{name}\" of table \"{}\" is generated", guard.table.name()?);
                return Err(user_error(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message)
                    .set_detail("Generated columns are computed after BEFORE triggers.")
                    .set_hint("Name the columns that it is computed from."));
            }
            Ok(column)
        };
        self.columns.iter().map(column).collect()
    }

    /// Locks the table as INSERT does, until the transaction ends.
    fn lock(&self, guard: &LoggedGuard, owner: Oid) -> Result<Relation, ErrorReport> {
        const LOCK: pg_sys::LOCKMODE = pg_sys::RowExclusiveLock as pg_sys::LOCKMODE;
        let mut log = self.find_insertable(guard, owner)?;
        // While this session waits for the lock, another may rename the table, and give its name to a new one.
        loop {
            pgrx::check_for_interrupts!();
            // SAFETY: any OID may be locked.
            unsafe { pg_sys::LockRelationOid(log, LOCK) };
            let found = self.find_insertable(guard, owner)?;
            if found == log {
                break;
            }
            // SAFETY: the lock was taken above. If the transaction has also taken it before, it still holds it.
            unsafe { pg_sys::UnlockRelationOid(log, LOCK) };
            log = found;
        }
        match Relation::open_for_planning(log) {
            Some(log) => Ok(log),
            None => Err(self.missing(guard)?),
        }
    }

    /// The OID of the table that now has the log's name. An error if there is no such table, or if the owner may not
    /// insert into it: such an owner must not be able to lock it either.
    fn find_insertable(&self, guard: &LoggedGuard, owner: Oid) -> Result<Oid, ErrorReport> {
        let (schema, name) = (to_server(&self.schema)?, to_server(&self.name)?);
        let mut is_missing = false;
        // SAFETY: look-ups in system caches, of NUL-terminated names.
        let (log, allowed) = unsafe {
            let schema = pg_sys::get_namespace_oid(schema.as_ptr(), true);
            let log = pg_sys::get_relname_relid(name.as_ptr(), schema);
            let insert = pg_sys::ACL_INSERT as pg_sys::AclMode;
            (log, pg_sys::pg_class_aclcheck_ext(log, owner, insert, &mut is_missing))
        };
        if log == Oid::INVALID || is_missing {
            return Err(self.missing(guard)?);
        }
        if allowed != pg_sys::AclResult::ACLCHECK_OK {
            let role = role_name(owner)?;
            return Err(self
                .unfit(guard, PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE)?
                .set_detail(sendable(format!("The owner of the table, \"{role}\", lacks INSERT on the log.")))
                .set_hint(sendable(format!("GRANT INSERT ON {} TO {}", self.sql(), quote_identifier(role)))));
        }
        Ok(log)
    }

    fn check(&self, log: &Relation, guard: &LoggedGuard, root: &Relation) -> Result<(), ErrorReport> {
        let unfit = |code, detail: String| Ok::<_, ErrorReport>(self.unfit(guard, code)?.set_detail(sendable(detail)));
        let kind = log.kind();
        if kind != pg_sys::RELKIND_RELATION && kind != pg_sys::RELKIND_PARTITIONED_TABLE {
            let detail = "The log is not a table of this server.".to_owned();
            return Err(unfit(PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE, detail)?);
        }
        if with_inheritors(guard.root, pg_sys::NoLock as pg_sys::LOCKMODE).contains(&log.oid()) {
            let detail = "The log is the guarded table, or one of its partitions.".to_owned();
            return Err(unfit(PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE, detail)?);
        }
        if log.is_temporary() && !root.is_temporary() {
            let detail = "The log is a temporary table, which other sessions cannot write to.".to_owned();
            return Err(unfit(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, detail)?);
        }
        // An INSERT evaluates the partition keys of the tables above the log.
        let members = with_inheritors(log.oid(), pg_sys::AccessShareLock as pg_sys::LOCKMODE);
        for member in members.into_iter().chain(ancestors(log)) {
            check_owner(&Relation::open(member), root.owner(), &unfit)?;
        }
        for (name, data_type) in LOG_COLUMNS {
            let found = Column::find(log, name)?;
            if !found.is_some_and(|column| column.data_type == data_type && !column.is_generated) {
                let detail = format!("The log has no column \"{name}\" of type {}.", type_name(data_type)?);
                let hint = format!("Such a log is created by {}", self.definition()?);
                return Err(unfit(PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN, detail)?.set_hint(sendable(hint)));
            }
        }
        if !log.rd_rules.is_null() {
            let detail = "The log has rules.".to_owned();
            return Err(unfit(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, detail)?);
        }
        if triggers(log).iter().any(|trigger| trigger.tginitdeferred) {
            let detail =
                "The log has a trigger or a constraint that is INITIALLY DEFERRED, which may not fire for rows \
                          that are inserted with the rights of another user."
                    .to_owned();
            return Err(unfit(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, detail)?);
        }
        Ok(())
    }

    fn missing(&self, guard: &LoggedGuard) -> Result<ErrorReport, ErrorReport> {
        let hint =
            format!("Call simhash_guard again with the log as it is named now, or create it by {}", self.definition()?);
        Ok(self
            .unfit(guard, PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE)?
            .set_detail("The log does not exist.")
            .set_hint(sendable(hint)))
    }

    fn unfit(&self, guard: &LoggedGuard, code: PgSqlErrorCode) -> Result<ErrorReport, ErrorReport> {
        Ok(user_error(code, self.message(guard)?).set_hint("Name another log when you call simhash_guard, or none."))
    }

    fn message(&self, guard: &LoggedGuard) -> Result<String, ErrorReport> {
        let (name, table) = (guard.name, guard.table.name()?);
        Ok(format!("guard \"{name}\" of table \"{table}\" cannot write to its log {}", self.sql()))
    }

    fn sql(&self) -> String {
        quote_qualified_identifier(&self.schema, &self.name)
    }

    /// The command that creates the log.
    fn definition(&self) -> Result<String, ErrorReport> {
        let column = |(name, data_type): (&str, Oid)| Ok::<_, ErrorReport>(format!("{name} {}", type_name(data_type)?));
        let columns = LOG_COLUMNS.into_iter().map(column).collect::<Result<Vec<_>, _>>()?;
        Ok(format!("CREATE TABLE {} ({})", self.sql(), columns.join(", ")))
    }

    /// The INSERT, with parameters as [`PreparedLog::plan`] has them.
    fn statement(&self, guard: &LoggedGuard, root: &Relation) -> Result<String, ErrorReport> {
        const FIRST_PARAMETER_OF_COLUMNS: usize = 4;
        let names: Vec<_> = LOG_COLUMNS.into_iter().map(|(name, _)| quote_identifier(name)).collect();
        let member = |(index, name): (usize, &String)| {
            format!("{}, ${}", quote_literal(name), FIRST_PARAMETER_OF_COLUMNS + index)
        };
        let members: Vec<_> = self.columns.iter().enumerate().map(member).collect();
        let object = |members: &[String]| format!("pg_catalog.jsonb_build_object({})", members.join(", "));
        let new_row = if members.is_empty() {
            object(&[])
        } else {
            members.chunks(MAX_COLUMNS_OF_CALL).map(object).collect::<Vec<_>>().join(" OPERATOR(pg_catalog.||) ")
        };
        let target = quote_qualified_identifier(schema_name(root.schema())?, root.name()?);
        Ok(format!(
            "INSERT INTO {} ({}) VALUES (pg_catalog.clock_timestamp(), {}, {}, CAST($1 AS pg_catalog.jsonb), $2, $3, \
             {new_row})",
            self.sql(),
            names.join(", "),
            quote_literal(target),
            quote_literal(guard.action.name())
        ))
    }
}

/// Refuses a table that belongs neither to the guarded table's owner nor to a superuser: its owner chooses the code
/// that runs when a row is inserted.
fn check_owner(
    table: &Relation,
    owner: Oid,
    unfit: &impl Fn(PgSqlErrorCode, String) -> Result<ErrorReport, ErrorReport>,
) -> Result<(), ErrorReport> {
    // SAFETY: a look-up in a system cache.
    if table.owner() == owner || unsafe { pg_sys::superuser_arg(table.owner()) } {
        return Ok(());
    }
    let (name, its_owner, owner) = (table.name()?, role_name(table.owner())?, role_name(owner)?);
    let detail = format!(
        "Table \"{name}\" belongs to \"{its_owner}\", whose code would run with the rights of \"{owner}\", the owner \
         of the guarded table."
    );
    let hint = format!("ALTER TABLE ... OWNER TO {}", quote_identifier(owner));
    Err(unfit(PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE, detail)?.set_hint(sendable(hint)))
}
