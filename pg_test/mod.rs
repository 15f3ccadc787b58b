//! Tests that run inside a server: the stage "tests in the server" of `tools/test` calls each function that the library
//! exports and no SQL function of the extension names.

mod batch;
mod fingerprint_cache;
mod golden;
mod guard_storage;
mod library;
mod random_marks;
