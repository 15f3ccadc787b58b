//! Tests that run inside a server with `cargo pgrx test`.

mod batch;
mod fingerprint_cache;
mod golden;
mod guard_storage;
mod library;
mod parallel;
mod progress;
mod random;
mod random_arrays;
mod random_marks;
mod random_queries;
mod random_searches;
mod random_tables;
mod random_texts;

/// Called once by the test framework.
pub fn setup(_options: Vec<&str>) {}

/// Settings of the test server.
#[must_use]
pub fn postgresql_conf_options() -> Vec<&'static str> {
    vec![]
}
