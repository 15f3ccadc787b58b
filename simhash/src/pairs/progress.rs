//! What a batch call says of itself while it runs.

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Fingerprints are gathered, before anything here begins.
    Read,
    /// Equal fingerprints are brought together.
    Sort,
    /// Pairs of equal fingerprints are listed.
    Equal,
    /// Pairs of different fingerprints are sought.
    Near,
}

/// How far the work has come. Phases follow each other; a share never becomes less within its phase.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    pub phase: Phase,
    /// What is done of the phase, from 0 to 1.
    pub share: f64,
}
