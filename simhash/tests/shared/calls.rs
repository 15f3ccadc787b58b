//! Single calls of the algorithm, each with new memory.

use simhash::error::Result;
use simhash::fingerprint::options::Options;
use simhash::fingerprint::resemblance::resemblance;
use simhash::fingerprint::{Fingerprinter, Scratch, Summary};

/// Calls `read` with a fingerprinter that has these options and new memory. Panics on an error.
pub fn with_fingerprinter<T>(options: &Options, read: impl FnOnce(&mut Fingerprinter) -> Result<T>) -> T {
    read(&mut Fingerprinter::new(&mut Scratch::default(), options, &|| ())).expect("memory suffices")
}

pub fn fingerprint(text: &str, options: &Options) -> Option<u64> {
    with_fingerprinter(options, |fingerprinter| fingerprinter.fingerprint(text))
}

pub fn summary(text: &str, options: &Options, bands: usize) -> Option<Summary> {
    with_fingerprinter(options, |fingerprinter| fingerprinter.summary(text, bands))
}

pub fn resemblance_of(a: &str, b: &str, options: &Options) -> Option<f64> {
    with_fingerprinter(options, |fingerprinter| resemblance(fingerprinter, a, b))
}
