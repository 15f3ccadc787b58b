//! Finds near-duplicates among the lines of the standard input. Prints the distance and the two line numbers of each
//! pair.
//!
//!     cargo run --release --example near_lines -- [MAX_DISTANCE] <texts.txt

use std::error::Error;
use std::io::stdin;

use simhash::fingerprint::Fingerprinter;
use simhash::pairs::{Pairs, Rows};
use simhash::search::nearness::Nearness;
use simhash::{Options, Pair};

fn main() -> Result<(), Box<dyn Error>> {
    let max_distance = std::env::args().nth(1).map_or(Ok(3), |argument| argument.parse())?;
    let (mut fingerprinter, mut rows) = (Fingerprinter::default(), Rows::with_capacity(0)?);
    for line in stdin().lines() {
        // A line without words has no fingerprint, and is near to no other line.
        rows.push(fingerprinter.fingerprint(&line?, &Options::default(), &|| ())?)?;
    }
    let mut pairs = Pairs::new(rows, Nearness::within(max_distance), &|_| ())?;
    while let Some(Pair { a, b, distance }) = pairs.next(&|_| ())? {
        println!("{distance}\t{}\t{}", a + 1, b + 1);
    }
    Ok(())
}
