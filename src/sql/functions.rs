//! The extension's own functions, looked up in PostgreSQL's catalogs.

use std::ffi::CStr;

use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;
use pgrx::spi::quote_qualified_identifier;
use postgres::call::Call;
use postgres::catalog::cache::read_cached;
use postgres::catalog::names::{lock_object_names, lock_schema_name};
use postgres::error::{Explain, Result, user_error};

use super::version::check_command;

/// The OID of the language C, from PostgreSQL's `catalog/pg_language.dat`, which pgrx leaves out. It never changes.
const C_LANGUAGE: Oid = Oid::from_u32(13);

// The argument types of `simhash_block`, of `simhash_band`, and of other functions of a text with options.
pub const BLOCK_ARGUMENTS: &[Oid] = &[pg_sys::INT8OID, pg_sys::INT4OID, pg_sys::INT4OID];
pub const BAND_ARGUMENTS: &[Oid] = &[pg_sys::TEXTOID, pg_sys::INT4OID, pg_sys::JSONBOID];
pub const TEXT_AND_OPTIONS: &[Oid] = &[pg_sys::TEXTOID, pg_sys::JSONBOID];

/// The hint for a function that is not in the extension's schema.
pub const MISSING_FUNCTION_HINT: &str =
    "If the extension is being moved to another schema, try again; or run ALTER EXTENSION pg_simhash UPDATE.";

/// The schema of the extension and of its functions.
///
/// Functions are looked up there and nowhere else: search_path and privileges do not matter, and another user's
/// function of the same name is not mistaken for the extension's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtensionSchema(Oid);

impl ExtensionSchema {
    /// The schema of one of the extension's functions, which is running or being planned; None if the function was
    /// dropped.
    pub fn from_function(function: Oid) -> Option<Self> {
        // SAFETY: get_func_namespace looks up a system cache.
        let schema = unsafe { pg_sys::get_func_namespace(function) };
        (schema != Oid::INVALID).then_some(Self(schema))
    }

    /// The extension's schema, if `function` is the extension's function of this name.
    ///
    /// It must have the extension's planner support function `support`, which distinguishes it from functions of other
    /// extensions with the same name.
    pub fn of_own_function(function: Oid, name: &CStr, arguments: &[Oid], support: &CStr) -> Option<Self> {
        let schema = Self::containing(function)?;
        // SAFETY: get_func_support looks up a system cache.
        let support_function = unsafe { pg_sys::get_func_support(function) };
        let is_ours = schema.function(support, &[pg_sys::INTERNALOID]) == Some(support_function)
            && schema.function(name, arguments) == Some(function);
        is_ours.then_some(schema)
    }

    /// The schema of a function, if the extension's planner support function is in it too: probably the function is the
    /// extension's. PostgreSQL's own functions are refused without a look-up, because most calls are of these.
    pub fn containing(function: Oid) -> Option<Self> {
        let is_own_of_postgres = function.to_u32() < pg_sys::FirstNormalObjectId;
        let schema = if is_own_of_postgres { None } else { Self::from_function(function) }?;
        schema.function(c"simhash_block_support", &[pg_sys::INTERNALOID]).map(|_| schema)
    }

    /// Whether a function is one of the extension's own in C.
    pub fn owns(self, function: Oid) -> bool {
        // SAFETY: getExtensionOfObject looks up a catalog by an OID.
        let extension_of = |function| unsafe { pg_sys::getExtensionOfObject(pg_sys::ProcedureRelationId, function) };
        let read_language = |row: &pg_sys::FormData_pg_proc| row.prolang;
        // SAFETY: the key of this cache is an OID, and its rows are of this form.
        let language = unsafe { read_cached(pg_sys::SysCacheIdentifier::PROCOID, &[function.into()], read_language) };
        let extension = self.function(c"simhash_block_support", &[pg_sys::INTERNALOID]).map(extension_of);
        language == Some(C_LANGUAGE) && extension == Some(extension_of(function)) && extension != Some(Oid::INVALID)
    }

    /// The schema of a command of the extension, whose call is running. An error if [`check_command`] refuses it.
    pub fn of_call(call: Call<'_>) -> Result<Self> {
        check_command(call.function())?;
        Self::from_function(call.function()).ok_or_else(|| {
            user_error(PgSqlErrorCode::ERRCODE_UNDEFINED_FUNCTION, "the extension's schema is not known")
        })
    }

    /// The function with this name and exactly these argument types; None if it does not exist.
    ///
    /// Only functions in C count: only superusers can create them. If the library is newer than the extension in a
    /// database, a function may not exist yet, and others may have created one of its name in the extension's schema.
    pub fn function(self, name: &CStr, arguments: &[Oid]) -> Option<Oid> {
        // SAFETY: the keys of this cache are name, argument types and schema, which it copies if need be. Its rows are
        // of this form.
        unsafe {
            let arguments = pg_sys::buildoidvector(arguments.as_ptr(), arguments.len() as i32);
            let keys = [name.as_ptr().into(), arguments.into(), self.0.into()];
            let read_row = |row: &pg_sys::FormData_pg_proc| (row.oid, row.prolang);
            let function = read_cached(pg_sys::SysCacheIdentifier::PROCNAMEARGSNSP, &keys, read_row);
            function.filter(|(_, language)| *language == C_LANGUAGE).map(|(function, _)| function)
        }
    }

    /// The function's qualified, quoted name, which means this function until the transaction ends. A call must pass
    /// exactly these argument types, so that no other function of the name fits better.
    pub fn locked_name(self, name: &CStr, arguments: &[Oid]) -> Result<String> {
        let function = self.function(name, arguments);
        if let Some(function) = function {
            lock_object_names(pg_sys::ProcedureRelationId, function)?;
        }
        // The function may have been renamed or moved to another schema while we waited.
        if function.is_none() || function != self.function(name, arguments) {
            let message =
                format!("function {} of pg_simhash does not exist in the extension's schema", name.to_string_lossy());
            return Err(
                user_error(PgSqlErrorCode::ERRCODE_UNDEFINED_FUNCTION, message).with_hint(MISSING_FUNCTION_HINT)
            );
        }
        let schema = lock_schema_name(self.0)?;
        Ok(quote_qualified_identifier(schema, name.to_string_lossy().into_owned()))
    }
}
