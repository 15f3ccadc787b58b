//! Parsers of stored PostgreSQL values. They accept any bytes, and need no server.

#![forbid(unsafe_code)]

pub mod array_elements;
pub mod tsvector;
