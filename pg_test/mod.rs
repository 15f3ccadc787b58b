//! Tests that run inside a server: the stage "tests in the server" of `tools/test` calls each function with
//! `#[pg_extern]` that takes no arguments.

mod batch;
mod fingerprint_cache;
mod golden;
mod guard_storage;
mod library;
mod random_marks;
