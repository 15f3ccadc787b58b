//! What the commands that attach and detach have in common: whose table it is, and under which locks.

use std::ffi::CStr;

use pgrx::pg_sys;
use pgrx::pg_sys::panic::ErrorReport;

use super::prefix::Prefix;
use crate::postgres::catalog::target::{Lock, Target};
use crate::postgres::owner::as_owner;
use crate::sql::arguments::required;
use crate::sql::functions::ExtensionSchema;

/// A command on a table and all that inherit from it or are its partitions, all of them locked.
pub struct Command<'a> {
    pub schema: ExtensionSchema,
    pub prefix: Prefix,
    pub table: &'a Target,
    /// The table, and all that inherit from it.
    pub family: &'a [Target],
}

/// Runs a command on a table of the current user's, as the table's owner. `lock` is the mode in which all tables are
/// locked.
pub fn run<T>(
    fcinfo: pg_sys::FunctionCallInfo,
    target: Option<pg_sys::Oid>,
    prefix: Option<&CStr>,
    lock: Lock,
    f: impl FnOnce(Command) -> Result<T, ErrorReport>,
) -> Result<T, ErrorReport> {
    let target = required(target, "target")?;
    let prefix = Prefix::read(prefix)?;
    let schema = ExtensionSchema::running(fcinfo)?;
    let table = Target::lock(target, lock)?;
    if lock == pg_sys::AccessExclusiveLock as Lock {
        table.check_has_own_columns()?;
    }
    as_owner(table.owner, || {
        let family = table.family(lock)?;
        f(Command { schema, prefix, table: &table, family: &family })
    })
}
