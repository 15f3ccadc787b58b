//! Fuzzes the reader of tsvectors.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz_checks::tsvector::check(input));
