//! The common start of the commands that change a table: they lock its inheritors.

use std::ffi::CStr;

use postgres::call::Call;
use postgres::catalog::citus::distribution;
use postgres::catalog::relation::Lock;
use postgres::catalog::target::Target;
use postgres::error::Result;
use postgres::settings::{read_setting, set_locally};

use crate::sql::functions::ExtensionSchema;

/// The setting of Citus by which a command runs in this session if its shard is on this server.
const LOCAL_EXECUTION: &CStr = c"citus.enable_local_execution";

/// Runs a command on a table, which is locked in mode `lock`, and on its inheritors, which are locked in the same mode.
/// `change` gets the table as the first of these.
pub fn run<T>(
    call: Call<'_>,
    table: &Target,
    lock: Lock,
    change: impl FnOnce(ExtensionSchema, &[Target]) -> Result<T>,
) -> Result<T> {
    let schema = ExtensionSchema::of_call(call)?;
    // Citus refuses to run a command on all servers after it has run a command on this server alone.
    if distribution(table.oid)?.is_some() && read_setting(LOCAL_EXECUTION).is_some() {
        set_locally(LOCAL_EXECUTION, c"off");
    }
    change(schema, &table.family(lock)?)
}
