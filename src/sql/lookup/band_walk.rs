//! A search for near texts by the indexes on their bands.

use std::collections::HashSet;
use std::slice;

use pgrx::itemptr::item_pointer_to_u64;
use pgrx::pg_sys::ScanKeyData;
use postgres::heap::entry_scan::{EntryRead, Fetched, KeyCondition};
use postgres::memory::insert;

use super::query_indexes::QueryIndexes;
use super::text_keys::TextKeys;

/// Looks up the bands of a text, one after the other, and fetches the rows that have one of them.
pub struct BandWalk {
    /// One for each band.
    pub indexes: QueryIndexes,
    band_count: usize,
    has_same: bool,
    /// What is looked up; None if no row can be near.
    keys: Option<TextKeys>,
    /// The band that is looked up now or next.
    band: usize,
    /// Whether its look-up has begun.
    is_scanning: bool,
    /// The tids of the rows that were fetched before the last band, about 16 bytes each: near rows have several bands
    /// in common.
    fetched: HashSet<u64>,
}

impl BandWalk {
    /// `indexes` are those on the first `band_count` bands, by the option `same` if `has_same`.
    pub fn new(indexes: QueryIndexes, band_count: usize, has_same: bool) -> Self {
        Self { indexes, band_count, has_same, keys: None, band: 0, is_scanning: false, fetched: HashSet::new() }
    }

    /// Begins a search for keys within a scope; None finds nothing.
    pub fn begin(&mut self, search: Option<(TextKeys, Vec<ScanKeyData>)>) {
        let (keys, scope) = search.unzip();
        self.indexes.begin(scope.unwrap_or_default());
        (self.keys, self.band, self.is_scanning) = (keys, 0, false);
        // The memory of a search that has found many rows is freed.
        self.fetched = HashSet::new();
    }

    /// Fetches the next row that has one of the bands into the slot, each once; false at the end.
    pub fn next(&mut self) -> bool {
        let Some(keys) = &self.keys else { return false };
        while self.band < self.band_count {
            postgres::interrupts::tick();
            if !self.is_scanning {
                let band = keys.band(self.band, self.has_same);
                self.indexes.look_up(self.band, KeyCondition::AnyOf(slice::from_ref(&band)), Some(&keys.sizes));
                self.is_scanning = true;
            }
            let scan = self.indexes.scan(self.band);
            // SAFETY: comparing integers does not panic.
            match unsafe { scan.next(|fingerprint| keys.allows(fingerprint)) } {
                EntryRead::Entry(_) => {}
                EntryRead::Pause => continue,
                EntryRead::End => {
                    self.is_scanning = false;
                    self.indexes.release(self.band);
                    self.band += 1;
                    continue;
                }
            }
            let tid = item_pointer_to_u64(scan.tid());
            if self.fetched.contains(&tid) {
                continue;
            }
            let row = self.indexes.fetch(self.band);
            // A dead row is fetched again from each index, so that each marks its entry.
            if self.band + 1 < self.band_count && row != Fetched::Dead {
                insert(&mut self.fetched, tid);
            }
            if row == Fetched::Row {
                return true;
            }
        }
        false
    }
}
