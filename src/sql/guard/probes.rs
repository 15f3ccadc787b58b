//! The index look-ups for one block of a fingerprint.

use pgrx::IntoDatum;
use pgrx::pg_sys::{self, Datum, Oid};
use simhash::distance::hamming;
use simhash::search::blocks::Block;

use crate::postgres::dirty_scan::Entry;

/// A block to look up, and how.
pub struct BlockSearch {
    pub index: Oid,
    pub block: Block,
    pub radius: u32,
    /// The probes that differ from the block only in this many lowest bits are looked up as one range; 0 if that does
    /// not pay.
    pub low: u32,
    /// The fingerprint's position in the index, from 1; with it, rows that are not near need not be visited.
    pub fingerprint: Option<i16>,
}

/// Rows that a range is sized for, if values are evenly distributed. Reading 32 neighbouring index entries takes as
/// long as one descent of the btree.
const ROWS_OF_RANGE: f64 = 32.0;

impl BlockSearch {
    pub fn new(index: Oid, block: Block, radius: u32, fingerprint: Option<i16>, rows: f64) -> Self {
        Self { index, block, radius, low: low_bits(block, radius, rows), fingerprint }
    }

    /// Whether index entries suffice to discard some rows.
    pub fn filters(&self) -> bool {
        self.fingerprint.is_some() || self.low > 0
    }

    /// Whether the row of an index entry may be within a distance.
    pub fn may_be_near(&self, entry: &Entry, fingerprint: i64, max_distance: i32) -> bool {
        match self.fingerprint {
            Some(place) => entry.value(place).is_some_and(|found| {
                hamming(found.value() as u64, fingerprint.cast_unsigned()).cast_signed() <= max_distance
            }),
            None if self.low > 0 => {
                let block = self.block.value(fingerprint.cast_unsigned());
                entry.value(1).is_some_and(|found| (found.value() as i32 ^ block).count_ones() <= self.radius)
            }
            None => true,
        }
    }
}

/// How many of the lowest bits of a block span a range of [`ROWS_OF_RANGE`] rows; 0 if that would hardly save a probe.
fn low_bits(block: Block, radius: u32, rows: f64) -> u32 {
    let low = block.width() as f64 + (ROWS_OF_RANGE / rows.max(1.0)).log2();
    let low = low.clamp(0.0, f64::from(block.width() - 1)) as u32;
    if radius == 0 || low < 4 { 0 } else { low }
}

/// The block values that one scan looks up.
pub enum Keys {
    Equal(i32),
    Any(Vec<i32>),
    Between(i32, i32),
}

impl Keys {
    pub fn any(values: Vec<i32>) -> Self {
        match values[..] {
            [value] => Self::Equal(value),
            _ => Self::Any(values),
        }
    }

    /// Scan keys on the index's first column, which is an integer.
    pub fn comparisons(self) -> Vec<pg_sys::ScanKeyData> {
        use pg_sys::{BTEqualStrategyNumber, BTGreaterEqualStrategyNumber, BTLessEqualStrategyNumber};
        let comparison = |flags: u32, strategy: u32, function: u32, argument| {
            let mut key = pg_sys::ScanKeyData::default();
            // SAFETY: each operator compares integers, and belongs to its strategy.
            unsafe {
                pg_sys::ScanKeyEntryInitialize(
                    &mut key,
                    flags as i32,
                    1,
                    strategy as pg_sys::StrategyNumber,
                    pg_sys::INT4OID,
                    Oid::INVALID,
                    function.into(),
                    argument,
                );
            }
            key
        };
        match self {
            Self::Equal(value) => {
                vec![comparison(0, BTEqualStrategyNumber, pg_sys::F_INT4EQ, Datum::from(value))]
            }
            Self::Any(values) => {
                let array = values.into_datum().unwrap_or_else(Datum::null);
                vec![comparison(pg_sys::SK_SEARCHARRAY, BTEqualStrategyNumber, pg_sys::F_INT4EQ, array)]
            }
            Self::Between(first, last) => vec![
                comparison(0, BTGreaterEqualStrategyNumber, pg_sys::F_INT4GE, Datum::from(first)),
                comparison(0, BTLessEqualStrategyNumber, pg_sys::F_INT4LE, Datum::from(last)),
            ],
        }
    }
}
