//! Near-duplicate text in PostgreSQL: searches by bands and fingerprints, and guards that keep copies out of tables.
//!
//! The crate [`simhash`] is the algorithm, and does not depend on PostgreSQL. The crate [`postgres`] wraps the server's
//! interfaces. The module `sql` has the SQL functions, which `sql/pg_simhash.sql` declares; `trace` writes down the
//! steps of guarded rows, for a test; `pg_test` has the tests that need Rust inside a server.

// Bindings of versions before 19 need casts and mutable references that are unnecessary here: there, the numbers of
// system caches have another type, and some functions take pointers to mutable values.
#![cfg_attr(feature = "pg19", allow(clippy::unnecessary_cast, clippy::unnecessary_mut_passed))]

mod sql;
mod trace;

// From PostgreSQL 18 on, pg_get_loaded_modules() returns the name and the version.
pgrx::pg_module_magic!(name, version);

/// PostgreSQL calls this when it loads the library.
#[pgrx::pg_guard]
#[allow(non_snake_case)]
pub extern "C-unwind" fn _PG_init() {
    turn_off_backtraces();
    sql::version::check_script();
    sql::search::path::initialise();
    // If anything fails, this function is called again. So these hooks, which would call themselves then, are set last.
    postgres::statement_hooks::initialise();
}

/// Turns off Rust's backtraces in this library, whatever `RUST_BACKTRACE` says. pgrx would show them to users in the
/// DETAIL of errors, and making a backtrace while memory is short can hang the session.
fn turn_off_backtraces() {
    const SETTING: &str = "RUST_LIB_BACKTRACE";
    let previous = std::env::var_os(SETTING);
    // SAFETY: a backend has one thread.
    unsafe {
        std::env::set_var(SETTING, "0");
        // The first capture reads the variable, and decides for all later ones.
        let _ = std::backtrace::Backtrace::capture();
        match previous {
            Some(previous) => std::env::set_var(SETTING, previous),
            None => std::env::remove_var(SETTING),
        }
    }
}

pgrx::extension_sql_file!("../sql/pg_simhash.sql", name = "pg_simhash", finalize);

#[cfg(feature = "pg_test")]
#[path = "../pg_test/mod.rs"]
mod pg_test;
