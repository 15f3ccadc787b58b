//! SQL for a guard: as a user passes it, or as it is in the arguments of the guard's trigger.

use std::ffi::CString;

use postgres::argument_length::check_argument_length;
use postgres::error::Result;
use postgres::server_string::server_string;
use postgres::settings::{restoring_settings, search_path, set_locally, with_fixed_settings};
use postgres::text::RawText;

/// An expression or a condition as SQL, with the search path under which it is parsed.
pub struct AskedSql {
    pub sql: String,
    /// The user's search path, in the server's encoding; None for SQL of a guard.
    search_path: Option<CString>,
}

impl AskedSql {
    /// Reads the argument of this name of an SQL function; None for NULL.
    pub fn read(argument: Option<RawText<'_>>, name: &str) -> Result<Option<Self>> {
        let Some(sql) = argument else { return Ok(None) };
        check_argument_length(sql, name)?;
        Ok(Some(Self { sql: server_string(sql)?, search_path: Some(search_path()) }))
    }

    /// SQL from the arguments of a trigger.
    pub fn of_guard(sql: &str) -> Self {
        Self { sql: sql.to_owned(), search_path: None }
    }

    pub fn is_of_guard(&self) -> bool {
        self.search_path.is_none()
    }

    /// Parses the SQL under the user's search path; SQL of a guard under fixed settings.
    pub fn parse<T>(&self, parse: impl FnOnce(&str) -> Result<T>) -> Result<T> {
        match &self.search_path {
            None => with_fixed_settings(|| parse(&self.sql)),
            Some(path) => restoring_settings(|| {
                set_locally(c"search_path", path);
                parse(&self.sql)
            }),
        }
    }
}
