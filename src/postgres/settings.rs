//! Reads PostgreSQL's settings, and runs code under other settings.

use std::ffi::{CStr, CString};

use pgrx::pg_sys;

/// A search path in which only a superuser can create objects that hide PostgreSQL's own.
const SAFE_SEARCH_PATH: &CStr = c"pg_catalog, pg_temp";

/// The settings on which arithmetic of times depends, and the values set for them.
const TIME_SETTINGS: [Setting; 2] = [(c"TimeZone", c"UTC"), (c"timezone_abbreviations", c"Default")];

/// The other settings that decide how PostgreSQL reads SQL and prints names and values, and the values set for them.
const SYNTAX_AND_OUTPUT_SETTINGS: [Setting; 12] = [
    (c"search_path", SAFE_SEARCH_PATH),
    (c"standard_conforming_strings", c"on"),
    (c"backslash_quote", c"safe_encoding"),
    (c"quote_all_identifiers", c"off"),
    (c"transform_null_equals", c"off"),
    (c"array_nulls", c"on"),
    (c"DateStyle", c"ISO, MDY"),
    (c"IntervalStyle", c"postgres"),
    (c"bytea_output", c"hex"),
    (c"extra_float_digits", c"1"),
    (c"lc_monetary", c"C"),
    (c"xmloption", c"content"),
];

/// The name and the value of a setting.
type Setting = (&'static CStr, &'static CStr);

/// Calls `run` under [`SAFE_SEARCH_PATH`].
pub fn with_safe_search_path<T>(run: impl FnOnce() -> T) -> T {
    with_settings([(c"search_path", SAFE_SEARCH_PATH)].into_iter(), run)
}

/// Calls `run` under settings by which SQL and values mean and print the same, whatever a session has set.
pub fn with_fixed_settings<T>(run: impl FnOnce() -> T) -> T {
    with_settings(TIME_SETTINGS.into_iter().chain(SYNTAX_AND_OUTPUT_SETTINGS), run)
}

/// Calls `run` with times in UTC.
pub fn with_fixed_times<T>(run: impl FnOnce() -> T) -> T {
    with_settings(TIME_SETTINGS.into_iter(), run)
}

/// Calls `run` without messages to the client, except errors.
pub fn without_messages<T>(run: impl FnOnce() -> T) -> T {
    with_settings([(c"client_min_messages", c"error")].into_iter(), run)
}

fn with_settings<T>(settings: impl Iterator<Item = Setting>, run: impl FnOnce() -> T) -> T {
    restoring_settings(|| {
        // Setting TimeZone reads a file, which takes as long as checking many rows. So set only what differs.
        let differs = |&(name, value): &Setting| read_setting(name).as_deref() != value.to_str().ok();
        settings.filter(differs).for_each(|(name, value)| set_locally(name, value));
        run()
    })
}

/// Calls `run`, then restores the settings that it has changed with [`set_locally`].
pub fn restoring_settings<T>(run: impl FnOnce() -> T) -> T {
    // SAFETY: a transaction is running, as in every function call.
    unsafe {
        let level = pg_sys::NewGUCNestLevel();
        let result = run();
        pg_sys::AtEOXact_GUC(false, level);
        result
    }
}

/// The session's search path, in the server's encoding.
pub fn search_path() -> CString {
    // SAFETY: the setting is NUL-terminated, and copied at once.
    unsafe { CStr::from_ptr(pg_sys::namespace_search_path) }.to_owned()
}

/// The setting `work_mem`, in bytes.
pub fn work_mem() -> usize {
    // SAFETY: the setting is a plain number, of kilobytes.
    usize::try_from(unsafe { pg_sys::work_mem }).unwrap_or(0).saturating_mul(1024)
}

/// The value of a setting; None if the setting does not exist.
pub fn read_setting(name: &CStr) -> Option<String> {
    // SAFETY: the name is NUL-terminated; the result is null, or NUL-terminated and copied at once.
    unsafe {
        let value = pg_sys::GetConfigOption(name.as_ptr(), true, false);
        (!value.is_null()).then(|| CStr::from_ptr(value).to_string_lossy().into_owned())
    }
}

/// Changes a setting until the enclosing [`restoring_settings`] ends.
pub fn set_locally(name: &'static CStr, value: &CStr) {
    // SAFETY: PostgreSQL copies the value. Any user may change the settings that are set here.
    unsafe {
        pg_sys::set_config_option(
            name.as_ptr(),
            value.as_ptr(),
            pg_sys::GucContext::PGC_USERSET,
            pg_sys::GucSource::PGC_S_SESSION,
            pg_sys::GucAction::GUC_ACTION_SAVE,
            true,
            0,
            false,
        );
    }
}
