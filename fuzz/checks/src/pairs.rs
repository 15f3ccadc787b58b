//! Pairs and clusters are what the definition says, each pair once.
//!
//! An input is the largest distance, whether the rows are shuffled and how many radii there are, the radii, and groups
//! of rows: a digit for the kind of group, the number of its rows, a fingerprint, and a mask.

use simhash::random::Random;
use simhash::search::nearness::Nearness;

use super::input::Input;

#[path = "../../../simhash/tests/oracle/pairs.rs"]
mod oracle;

/// Most rows: with more, the definition takes too much of the time.
const MAX_ROWS: usize = 300;

pub fn check(input: &[u8]) {
    let mut input = Input(input);
    let max_distance = i32::from(input.number() % 72);
    let shuffled_and_radii = input.number();
    let shuffled = shuffled_and_radii % 2 == 1;
    let radii = match shuffled_and_radii / 2 % 8 {
        0 => 0,
        more => more + 1,
    };
    let radii: Vec<i32> = (0..radii.min(8)).map(|_| i32::from(input.number() % 5) - 1).collect();
    let mut rows: Vec<Option<u64>> = Vec::new();
    let mut random = Random(0);
    while !input.is_empty() && rows.len() < MAX_ROWS {
        let (kind, count, base, mask) = (input.number() % 6, input.u16(), input.u64(), input.u64());
        random.0 ^= base ^ mask;
        for n in 0..u64::from(count % 512).min((MAX_ROWS - rows.len()) as u64) {
            rows.push(match kind {
                0 => None,
                1 => Some(base),
                2 => Some(base ^ random.next() & mask),
                3 => Some(random.near(base, mask % 9)),
                4 => Some(base.wrapping_add(n.wrapping_mul(mask))),
                _ => rows[..rows.len() / 2].get(n as usize).copied().flatten().map(|other| other ^ base & mask),
            });
        }
    }
    if shuffled {
        for n in (1..rows.len()).rev() {
            rows.swap(n, random.below(n as u64 + 1) as usize);
        }
    }
    let near = Nearness::by_radii(max_distance, &radii).expect("a layout");
    oracle::check(&rows, near, "rows of the input");
}
