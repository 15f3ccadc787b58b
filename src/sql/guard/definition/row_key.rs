//! The key of a row, by which near rows are looked up; and the rows that a session has found last, by their keys.

use std::cell::RefCell;
use std::collections::VecDeque;

use pgrx::itemptr::item_pointer_to_u64;
use pgrx::pg_sys::ItemPointerData;
use postgres::error::Result;
use simhash::hamming;
use simhash::search::lock_keys::LockKeys;

use crate::sql::lookup::text_keys::TextKeys;

/// The keys of a row's text, or the row's fingerprint.
#[derive(Clone)]
pub enum RowKey {
    Text(TextKeys),
    Fingerprint { value: u64, max_distance: i32 },
}

impl RowKey {
    /// Whether the rows with these keys may be near each other: by their fingerprints and, for texts, their bands.
    pub fn may_be_near(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(own), Self::Text(other)) => own.are_candidates(other),
            (Self::Fingerprint { value, max_distance }, Self::Fingerprint { value: other, .. }) => {
                hamming(*value, *other).cast_signed() <= *max_distance
            }
            _ => false,
        }
    }

    pub fn fingerprint(&self) -> u64 {
        match self {
            Self::Text(text) => text.fingerprint(),
            Self::Fingerprint { value, .. } => *value,
        }
    }

    /// The keys of locks. Rows that may be near share one.
    pub fn lock_keys(&self, keys: &LockKeys) -> Vec<u32> {
        match self {
            Self::Text(text) => keys.of_bands(text.bands()),
            Self::Fingerprint { value, max_distance } => keys.of_fingerprint(*value, *max_distance),
        }
    }
}

/// The rows that this session has found last, with their keys and tids. Some may no longer exist.
#[derive(Default)]
pub struct RecentRows(RefCell<VecDeque<(RowKey, ItemPointerData)>>);

impl RecentRows {
    /// The limit on the rows that are known. Beyond it, the one that was added first is forgotten.
    const LIMIT: usize = 256;

    /// Adds a row, unless it is known or has no key.
    pub fn add(&self, tid: ItemPointerData, key: impl FnOnce() -> Result<Option<RowKey>>) -> Result<()> {
        if self.0.borrow().iter().any(|(_, other)| item_pointer_to_u64(*other) == item_pointer_to_u64(tid)) {
            return Ok(());
        }
        let Some(key) = key()? else { return Ok(()) };
        let mut rows = self.0.borrow_mut();
        if rows.len() == Self::LIMIT {
            rows.pop_front();
        }
        rows.push_back((key, tid));
        Ok(())
    }

    /// The rows that may be near a row with this key.
    pub fn near(&self, key: &RowKey) -> Vec<ItemPointerData> {
        self.0.borrow().iter().filter(|(other, _)| key.may_be_near(other)).map(|(_, tid)| *tid).collect()
    }
}
