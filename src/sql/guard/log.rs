//! The log of a guard: a table that gets a row for each row that the guard skips or marks.
//!
//! The rows are inserted with the rights of the guarded table's owner, as PostgreSQL's CREATE INDEX and VACUUM run what
//! is the owner's. So writers need no rights on the log, and gain none. What is on the log (triggers, defaults, indexes)
//! then runs with the owner's rights too, so it must be the owner's, or a superuser's.

use pgrx::IntoDatum;
use pgrx::pg_sys::panic::{CaughtError, ErrorReport};
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;
use pgrx::spi::{quote_identifier, quote_literal, quote_qualified_identifier};

use super::action::Action;
use super::nearest::Nearest;
use crate::postgres::catalog::column::{Column, type_name};
use crate::postgres::catalog::names::{role_name, schema_name};
use crate::postgres::catalog::partition::with_inheritors;
use crate::postgres::catalog::relation::{Relation, no_such_relation, relation_name};
use crate::postgres::error::{sendable, user_error};
use crate::postgres::heap::row::Row;
use crate::postgres::owner::as_owner;
use crate::postgres::query::{Plan, Query};
use crate::postgres::raised::raise_as;
use crate::postgres::spi::to_server;
use crate::postgres::trigger::triggers;

/// The columns that every log has, with their types. It may have others, which get their defaults.
const COLUMNS: [(&str, Oid); 7] = [
    ("logged_at", pg_sys::TIMESTAMPTZOID),
    ("target", pg_sys::TEXTOID),
    ("action", pg_sys::TEXTOID),
    ("key", pg_sys::JSONBOID),
    ("distance", pg_sys::INT4OID),
    ("resemblance", pg_sys::FLOAT8OID),
    ("new_row", pg_sys::JSONBOID),
];

/// PostgreSQL calls functions with at most 100 arguments, and jsonb_build_object takes two for each column.
const MOST_MEMBERS: usize = 50;

/// A log as the trigger's arguments name it.
#[derive(Clone)]
pub struct Log {
    pub schema: String,
    pub name: String,
    /// The columns of the guarded table whose values are logged.
    pub columns: Vec<String>,
}

/// What a guard that has a log guards.
pub struct Guarded<'a> {
    /// The trigger's name.
    pub guard: &'a str,
    /// The guarded table: the partitioned table, if the trigger is a partition's.
    pub root: Oid,
    /// The trigger's table.
    pub table: &'a Relation,
    pub action: Action,
}

/// A log ready to be written to by one statement.
pub struct Writer {
    plan: Plan,
    /// The owner of the guarded table.
    owner: Oid,
    /// The columns of the trigger's table whose values are logged.
    columns: Vec<i16>,
    /// The message of an error about the log.
    message: String,
}

impl Log {
    /// The arguments of the trigger that stand for the log.
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

    /// Makes the log ready. An error if it cannot be written to, or must not be. The result lives in the current memory
    /// context.
    pub fn prepare(&self, guarded: &Guarded) -> Result<Writer, ErrorReport> {
        let root = Relation::open(guarded.root);
        let owner = root.owner();
        let columns = self.logged_columns(guarded)?;
        let mut parameters = vec![pg_sys::TEXTOID, pg_sys::INT4OID, pg_sys::FLOAT8OID];
        parameters.extend(columns.iter().map(|column| column.data_type));
        let plan = as_owner(owner, || {
            let log = self.lock(guarded, owner)?;
            self.check(&log, guarded, &root)?;
            let statement = to_server(&self.statement(guarded, &root)?)?;
            Query::plan_insert(statement, parameters, |query| {
                if query.table() == Some(log.oid()) { Ok(()) } else { Err(self.missing(guarded)?) }
            })
        })?;
        let columns = columns.iter().map(|column| column.number).collect();
        Ok(Writer { plan, owner, columns, message: self.message(guarded)? })
    }

    /// The columns of the new row that are logged.
    fn logged_columns(&self, guarded: &Guarded) -> Result<Vec<Column>, ErrorReport> {
        let column = |name: &String| {
            let column = Column::named(guarded.table, name)?;
            if column.is_generated {
                let message = format!("logged column \"{name}\" of table \"{}\" is generated", guarded.table.name()?);
                return Err(user_error(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message)
                    .set_detail("Generated columns are computed after BEFORE triggers.")
                    .set_hint("Name the columns that it is computed from."));
            }
            Ok(column)
        };
        self.columns.iter().map(column).collect()
    }

    /// The table, locked as INSERT locks it until the transaction ends.
    fn lock(&self, guarded: &Guarded, owner: Oid) -> Result<Relation, ErrorReport> {
        const LOCK: pg_sys::LOCKMODE = pg_sys::RowExclusiveLock as pg_sys::LOCKMODE;
        let mut log = self.find_insertable(guarded, owner)?;
        // While this session waits for the lock, another may rename the table, and give its name to a new one.
        loop {
            pgrx::check_for_interrupts!();
            // SAFETY: any OID may be locked.
            unsafe { pg_sys::LockRelationOid(log, LOCK) };
            let found = self.find_insertable(guarded, owner)?;
            if found == log {
                break;
            }
            // SAFETY: the lock was taken above. If the transaction has also taken it before, it keeps it.
            unsafe { pg_sys::UnlockRelationOid(log, LOCK) };
            log = found;
        }
        match Relation::open_for_planning(log) {
            Some(log) => Ok(log),
            None => Err(self.missing(guarded)?),
        }
    }

    /// The OID of the table that now has the log's name. An error if there is none, or if the owner may not insert into
    /// it: then the owner must not be able to lock it either.
    fn find_insertable(&self, guarded: &Guarded, owner: Oid) -> Result<Oid, ErrorReport> {
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
            return Err(self.missing(guarded)?);
        }
        if allowed != pg_sys::AclResult::ACLCHECK_OK {
            let role = role_name(owner)?;
            return Err(self
                .unfit(guarded, PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE)?
                .set_detail(sendable(format!("The owner of the table, \"{role}\", lacks INSERT on the log.")))
                .set_hint(sendable(format!("GRANT INSERT ON {} TO {}", self.sql(), quote_identifier(role)))));
        }
        Ok(log)
    }

    fn check(&self, log: &Relation, guarded: &Guarded, root: &Relation) -> Result<(), ErrorReport> {
        let unfit =
            |code, detail: String| Ok::<_, ErrorReport>(self.unfit(guarded, code)?.set_detail(sendable(detail)));
        let kind = log.kind();
        if kind != pg_sys::RELKIND_RELATION && kind != pg_sys::RELKIND_PARTITIONED_TABLE {
            let detail = "The log is not a table of this server.".to_owned();
            return Err(unfit(PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE, detail)?);
        }
        if with_inheritors(guarded.root, pg_sys::NoLock as pg_sys::LOCKMODE).contains(&log.oid()) {
            let detail = "The log is the guarded table, or one of its partitions.".to_owned();
            return Err(unfit(PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE, detail)?);
        }
        if log.is_temporary() && !root.is_temporary() {
            let detail = "The log is a temporary table, which other sessions cannot write to.".to_owned();
            return Err(unfit(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, detail)?);
        }
        for member in with_inheritors(log.oid(), pg_sys::AccessShareLock as pg_sys::LOCKMODE) {
            check_owner(&Relation::open(member), root.owner(), &unfit)?;
        }
        for (name, data_type) in COLUMNS {
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

    fn missing(&self, guarded: &Guarded) -> Result<ErrorReport, ErrorReport> {
        let hint =
            format!("Call simhash_guard again with the log as it is named now, or create it by {}", self.definition()?);
        Ok(self
            .unfit(guarded, PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE)?
            .set_detail("The log does not exist.")
            .set_hint(sendable(hint)))
    }

    fn unfit(&self, guarded: &Guarded, code: PgSqlErrorCode) -> Result<ErrorReport, ErrorReport> {
        Ok(user_error(code, self.message(guarded)?).set_hint("Name another log when you call simhash_guard, or none."))
    }

    fn message(&self, guarded: &Guarded) -> Result<String, ErrorReport> {
        let (guard, table) = (guarded.guard, guarded.table.name()?);
        Ok(format!("guard \"{guard}\" of table \"{table}\" cannot write to its log {}", self.sql()))
    }

    fn sql(&self) -> String {
        quote_qualified_identifier(&self.schema, &self.name)
    }

    /// The command that creates such a log.
    fn definition(&self) -> Result<String, ErrorReport> {
        let column = |(name, data_type): (&str, Oid)| Ok::<_, ErrorReport>(format!("{name} {}", type_name(data_type)?));
        let columns = COLUMNS.into_iter().map(column).collect::<Result<Vec<_>, _>>()?;
        Ok(format!("CREATE TABLE {} ({})", self.sql(), columns.join(", ")))
    }

    /// The INSERT. Its parameters are the key as JSON, the distance, the resemblance, and the values of the logged
    /// columns.
    fn statement(&self, guarded: &Guarded, root: &Relation) -> Result<String, ErrorReport> {
        const FIRST: usize = 4;
        let names: Vec<_> = COLUMNS.into_iter().map(|(name, _)| quote_identifier(name)).collect();
        let member = |(index, name): (usize, &String)| format!("{}, ${}", quote_literal(name), FIRST + index);
        let members: Vec<_> = self.columns.iter().enumerate().map(member).collect();
        let object = |members: &[String]| format!("pg_catalog.jsonb_build_object({})", members.join(", "));
        let new_row = if members.is_empty() {
            object(&[])
        } else {
            members.chunks(MOST_MEMBERS).map(object).collect::<Vec<_>>().join(" OPERATOR(pg_catalog.||) ")
        };
        let target = quote_qualified_identifier(schema_name(root.schema())?, root.name()?);
        Ok(format!(
            "INSERT INTO {} ({}) VALUES (pg_catalog.clock_timestamp(), {}, {}, CAST($1 AS pg_catalog.jsonb), $2, $3, \
             {new_row})",
            self.sql(),
            names.join(", "),
            quote_literal(target),
            quote_literal(guarded.action.name())
        ))
    }
}

impl Writer {
    /// Inserts a row about a new row of the trigger's table and its near-duplicate.
    ///
    /// # Safety
    /// The memory context in which the log was prepared still exists, and the row is of the table it was prepared for.
    pub unsafe fn write(&self, nearest: &Nearest, new: Row<'_>) -> Result<(), ErrorReport> {
        let key = nearest.searched.primary_key.to_json(&nearest.key)?.map(|key| to_server(&key)).transpose()?;
        // SAFETY: the text is NUL-terminated.
        let key = key.map(|key| Datum::from(unsafe { pg_sys::cstring_to_text(key.as_ptr()) }));
        let mut values = vec![key, nearest.distance.cast_signed().into_datum(), nearest.resemblance.into_datum()];
        values.extend(self.columns.iter().map(|&column| new.value(column)));
        as_owner(self.owner, || {
            PgTryBuilder::new(|| {
                // SAFETY: the caller says that the plan exists. The values are of the types that it was made for.
                unsafe { self.plan.run(&values) };
                Ok(())
            })
            .catch_others(|error| match error {
                // The detail shows values of the log's row, because its owner may see them. The writer may not.
                CaughtError::PostgresError(error) if is_about_values(error.sql_error_code()) => {
                    let message = format!("{}: {}", self.message, error.message());
                    raise_as(user_error(error.sql_error_code(), message))
                }
                error => error.rethrow(),
            })
            .execute()
        })
    }
}

/// Whether errors with this code show values of a row.
fn is_about_values(code: PgSqlErrorCode) -> bool {
    matches!(
        code,
        PgSqlErrorCode::ERRCODE_NOT_NULL_VIOLATION
            | PgSqlErrorCode::ERRCODE_CHECK_VIOLATION
            | PgSqlErrorCode::ERRCODE_UNIQUE_VIOLATION
            | PgSqlErrorCode::ERRCODE_EXCLUSION_VIOLATION
            | PgSqlErrorCode::ERRCODE_FOREIGN_KEY_VIOLATION
    )
}

/// Refuses a table that is neither the guarded table's owner's nor a superuser's: whoever owns it decides what runs
/// when a row is inserted.
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
        "Table \"{name}\" belongs to \"{its_owner}\", whose triggers and defaults would run with the rights of \
         \"{owner}\", the owner of the guarded table."
    );
    let hint = format!("ALTER TABLE ... OWNER TO {}", quote_identifier(owner));
    Err(unfit(PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE, detail)?.set_hint(sendable(hint)))
}
