//! PostgreSQL's settings.

use std::ffi::CStr;

use pgrx::pg_sys;

/// A search path in which nobody but a superuser can put objects in the way of PostgreSQL's own.
pub const SAFE_SEARCH_PATH: &CStr = c"pg_catalog, pg_temp";

/// Runs `f`, then restores the settings that it has changed with [`set_locally`].
pub fn with_settings<T>(f: impl FnOnce() -> T) -> T {
    // SAFETY: a transaction is running, as in every function call.
    unsafe {
        let settings = pg_sys::NewGUCNestLevel();
        let result = f();
        pg_sys::AtEOXact_GUC(false, settings);
        result
    }
}

pub fn read_setting(name: &CStr) -> Option<String> {
    // SAFETY: the name is NUL-terminated; the result is null, or NUL-terminated and copied at once.
    unsafe {
        let value = pg_sys::GetConfigOption(name.as_ptr(), true, false);
        (!value.is_null()).then(|| CStr::from_ptr(value).to_string_lossy().into_owned())
    }
}

/// Changes a setting until the enclosing [`with_settings`] ends.
pub fn set_locally(name: &'static CStr, value: &CStr) {
    // SAFETY: both strings are NUL-terminated, and PostgreSQL copies the value. Any user may change the settings that
    // are set here.
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
