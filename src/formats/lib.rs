//! A parser of stored PostgreSQL values. It accepts any bytes, and needs no server.

#![forbid(unsafe_code)]

pub mod tsvector;
