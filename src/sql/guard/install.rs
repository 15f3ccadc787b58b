//! `simhash_guard` and `simhash_unguard`: the trigger, put on a table and taken away again.

use std::ffi::CStr;

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use pgrx::spi::quote_literal;
use pgrx::{AnyArray, PgRelation};

use super::key::PrimaryKey;
use super::trigger::{Action, check_distance, column_of, leaves, no_index, scope_of};
use crate::sql::arrays::names;
use crate::sql::attach::prefix::{name, required};
use crate::sql::attach::table::running_extension;
use crate::sql::attach::target::{Lock, Target, quoted_schema};
use crate::sql::error::{tell, user_error};
use crate::sql::functions::{ExtensionSchema, Functions};
use crate::sql::owner::as_owner;
use crate::sql::spi::{execute, from_server};
use crate::sql::text::{RawText, decode};

/// BEFORE triggers fire in the order of their names. This one comes after `zz_simhash_update`, and is to see what the
/// others have made of the row.
const TRIGGER: &str = "zzz_simhash_guard";

const LOCK: Lock = pg_sys::ShareRowExclusiveLock as Lock;

#[pg_extern(sql = false)]
#[allow(clippy::too_many_arguments)] // They are those of the SQL function.
fn simhash_guard(
    target: Option<pg_sys::Oid>,
    action: Option<RawText<'_>>,
    max_distance: Option<i32>,
    scope: Option<AnyArray>,
    mark_column: Option<&CStr>,
    fingerprint: Option<&CStr>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Result<(), ErrorReport> {
    let target = required(target, "target")?;
    let action = decode(required(action, "action")?)?.into_owned();
    let max_distance = required(max_distance, "max_distance")?;
    let scope = required(scope, "scope")?;
    let guard = Guard {
        schema: running_extension(fcinfo)?,
        action: Action::named(&action)?,
        action_name: action,
        max_distance: check_distance(max_distance)?,
        scope: names(&scope, "scope")?,
        // SAFETY: NUL-terminated.
        mark_column: mark_column.map(|mark| unsafe { from_server(mark.as_ptr()) }).transpose()?,
        fingerprint: name(fingerprint, "fingerprint")?,
    };
    let table = Target::lock(target, LOCK)?;
    as_owner(table.owner, || guard.install(&table))
}

#[pg_extern(sql = false)]
fn simhash_unguard(target: Option<pg_sys::Oid>) -> Result<(), ErrorReport> {
    // DROP TRIGGER needs as much.
    let table = Target::lock(required(target, "target")?, pg_sys::AccessExclusiveLock as Lock)?;
    as_owner(table.owner, || {
        if existing(&table)?.is_none() {
            let message = format!("table \"{}\" has no guard", table.name);
            return Err(user_error(PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT, message));
        }
        tell(format!("dropping trigger {TRIGGER} on table \"{}\"", table.name));
        execute(&format!("DROP TRIGGER {TRIGGER} ON {}", table.sql()))?;
        Ok(())
    })
}

/// What is asked for.
struct Guard {
    schema: ExtensionSchema,
    action: Action,
    action_name: String,
    max_distance: i32,
    scope: Vec<String>,
    mark_column: Option<String>,
    fingerprint: String,
}

impl Guard {
    fn install(&self, table: &Target) -> Result<(), ErrorReport> {
        let relation = table.open();
        self.check(table, &relation)?;
        drop(relation);
        let arguments = self.arguments();
        let existing = existing(table)?;
        if existing.as_ref() == Some(&arguments) {
            tell(format!("table \"{}\" is guarded already, nothing changed", table.name));
            return Ok(());
        }
        if existing.is_some() {
            tell(format!("replacing trigger {TRIGGER} on table \"{}\"", table.name));
            execute(&format!("DROP TRIGGER {TRIGGER} ON {}", table.sql()))?;
        } else {
            tell(format!("creating trigger {TRIGGER} on table \"{}\"", table.name));
        }
        let arguments: Vec<_> = arguments.iter().map(quote_literal).collect();
        execute(&format!(
            "CREATE TRIGGER {TRIGGER} BEFORE INSERT OR UPDATE ON {} FOR EACH ROW EXECUTE FUNCTION \
             {}.simhash_dedup({})",
            table.sql(),
            quoted_schema(self.schema.oid())?,
            arguments.join(", ")
        ))?;
        Ok(())
    }

    /// Those of the trigger.
    fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![self.action_name.clone(), self.max_distance.to_string(), self.fingerprint.clone()];
        if self.mark_column.is_some() || !self.scope.is_empty() {
            arguments.push(self.mark_column.clone().unwrap_or_default());
        }
        arguments.extend(self.scope.iter().cloned());
        arguments
    }

    /// All that the trigger would complain about, or that it could not see.
    fn check(&self, table: &Target, relation: &PgRelation) -> Result<(), ErrorReport> {
        if !table.is_partitioned() && table.family(pg_sys::AccessShareLock as Lock)?.len() > 1 {
            let message = format!("other tables inherit from table \"{}\"", table.name);
            return Err(user_error(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message)
                .set_detail("A guard sees the rows of one table, or of all partitions of a partitioned table."));
        }
        let fingerprint = column_of(relation, &self.fingerprint).map_err(|error| {
            error.set_hint("simhash_attach gives a table its fingerprint column, named simhash if it is not told.")
        })?;
        // SAFETY: a look-up in a system cache.
        let of_type = unsafe { pg_sys::getBaseType(pg_sys::get_atttype(table.oid, fingerprint)) };
        if of_type != pg_sys::INT8OID {
            let message = format!("column \"{}\" of table \"{}\" is not of type bigint", self.fingerprint, table.name);
            return Err(user_error(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, message));
        }
        scope_of(relation, &self.scope)?;
        self.check_mark(table, relation)?;
        let functions = self.schema.simhash_block().and_then(Functions::beside);
        for member in leaves(table.oid) {
            let serves = functions.and_then(|functions| {
                let fingerprint = column_of(&open(member), &self.fingerprint).ok()?;
                super::search::Searched::new(member, fingerprint, Vec::new(), self.max_distance, &functions)
            });
            serves.ok_or_else(|| no_index(&open(member), self.max_distance))?;
        }
        Ok(())
    }

    fn check_mark(&self, table: &Target, relation: &PgRelation) -> Result<(), ErrorReport> {
        let parameter = |message: &str| user_error(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message);
        let mark = match (self.action, &self.mark_column) {
            (Action::Mark, Some(mark)) => mark,
            (Action::Mark, None) => {
                return Err(parameter("the action mark needs a mark_column")
                    .set_hint("Add a column of the primary key's type, and name it."));
            }
            (_, Some(_)) => return Err(parameter("mark_column is for the action mark only")),
            (_, None) => return Ok(()),
        };
        let column = column_of(relation, mark)?;
        // SAFETY: look-ups in system caches.
        let (of_type, is_generated) =
            unsafe { (pg_sys::get_atttype(table.oid, column), pg_sys::get_attgenerated(table.oid, column) != 0) };
        let key = PrimaryKey::of(relation).only_type();
        if key != Some(of_type) || is_generated {
            let message = format!("column \"{mark}\" of table \"{}\" cannot take the key of a row", table.name);
            return Err(user_error(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, message).set_detail(
                "The table needs a primary key of one column, and the mark column must be of its type and not generated.",
            ));
        }
        Ok(())
    }
}

/// The arguments of the table's guard, if it has one.
fn existing(table: &Target) -> Result<Option<Vec<String>>, ErrorReport> {
    let relation = table.open();
    // SAFETY: an open table has as many triggers as it says, or none; each is whole.
    unsafe {
        let Some(found) = relation.trigdesc.as_ref() else { return Ok(None) };
        let triggers = std::slice::from_raw_parts(found.triggers, found.numtriggers as usize);
        let guard = triggers.iter().find(|trigger| CStr::from_ptr(trigger.tgname).to_bytes() == TRIGGER.as_bytes());
        let arguments = |trigger: &pg_sys::Trigger| {
            let argument = |i| from_server((*trigger.tgargs.add(i)).cast());
            (0..trigger.tgnargs as usize).map(argument).collect::<Result<Vec<_>, _>>()
        };
        guard.map(arguments).transpose()
    }
}

fn open(table: pg_sys::Oid) -> PgRelation {
    // SAFETY: a table that is locked, or a partition of one.
    unsafe { PgRelation::with_lock(table, pg_sys::AccessShareLock as Lock) }
}
