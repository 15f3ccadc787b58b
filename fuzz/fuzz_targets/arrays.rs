#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| pg_simhash::checks::arrays::check(input));
