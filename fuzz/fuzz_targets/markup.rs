//! Fuzzes the reader of HTML.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz_checks::markup::check(input));
