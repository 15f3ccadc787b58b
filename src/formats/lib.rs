//! Readers of values as PostgreSQL stores them. They take bytes, trust nothing in them, and need no server.

#![forbid(unsafe_code)]

pub mod array_elements;
pub mod tsvector;
