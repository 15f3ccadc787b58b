//! The progress that a batch call reports while it runs.

/// What is being done. The phases of a call follow each other in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// The caller gathers fingerprints. This crate reports the phase only at its end, with a share of 1.
    Read,
    /// Equal fingerprints are brought together.
    Sort,
    /// Pairs of equal fingerprints are listed.
    Equal,
    /// Pairs of different fingerprints are searched.
    Near,
    /// The texts of rows that have a near row are read and compared.
    Verify,
    /// Ids are brought into the order of their keys.
    SortIds,
    /// Ids with the same key are compared.
    CompareIds,
    /// Pairs of ids are joined to components.
    JoinPairs,
}

/// How far the work has come. Within a phase, the share never decreases.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// What is being done.
    pub phase: Phase,
    /// The share of the phase that is done, from 0 to 1.
    pub share: f64,
}
