//! Pseudo-random numbers for unit tests, the same in every run.

/// The 64-bit numbers of a xorshift generator (Marsaglia, Journal of Statistical Software, 2003) with a fixed seed.
pub fn random() -> impl FnMut() -> u64 {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    }
}
