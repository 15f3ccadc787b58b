//! Searches a guarded table for rows near a new row.
//!
//! The search reads the indexes directly, whatever the planner would choose: see [`DirtyWalk`].

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::ops::ControlFlow;

use pgrx::pg_sys::{ItemPointerData, Oid};
use postgres::catalog::relation::Relation;
use postgres::error::{Result, out_of_memory};
use postgres::heap::dirty_scan::{EntrySet, FoundVersion, VersionState, fetch_present};
use postgres::heap::moment::Moment;
use postgres::heap::row::{Row, TableSlot, has_tid};

use super::confirmation::{NewFeatures, NewText};
use super::evaluation::Evaluator;
use crate::sql::guard::definition::row_key::RowKey;
use crate::sql::guard::definition::scope::GuardScopeValues;
use crate::sql::guard::definition::searched_table::{Lookup, SearchedTable};
use crate::sql::guard::definition::searched_texts::SearchedTexts;
use crate::sql::lookup::dirty_walk::DirtyWalk;
use crate::sql::lookup::text_keys::TextKeys;

/// The new row, and which rows to find.
pub struct NearQuery<'a> {
    pub key: &'a RowKey,
    pub sought: Sought<'a>,
    pub evaluator: &'a Evaluator,
    /// The new row's values of the scope columns.
    pub scope: &'a GuardScopeValues<'a>,
    /// The new row's table.
    pub table: Oid,
    /// Returns the tids, in that table, of rows that are never near, or of their index entries: for an UPDATE, the old
    /// version of the row; for an INSERT, the conflicting rows. Called for near rows only, which are rare.
    pub replaced: &'a dyn Fn() -> &'a [ItemPointerData],
    /// What earlier searches for the row have learnt, to which this one adds.
    pub earlier: &'a EarlierSearches,
    /// When this search began.
    pub since: &'a Moment,
    /// The entries whose rows no longer exist. The search adds others.
    pub gone: &'a EntrySet,
}

/// What the search looks up and compares, and how close a row must be.
pub enum Sought<'a> {
    Text {
        keys: &'a TextKeys,
        text: NewText<'a>,
    },
    Fingerprint {
        value: u64,
        /// The largest distance that matters. It may become smaller during the search.
        max_distance: Cell<i32>,
    },
}

/// How close a row is to the new row.
#[derive(Clone, Copy, PartialEq)]
pub enum Closeness {
    /// The resemblance of the texts.
    Resemblance(f64),
    /// The number of bits in which the fingerprints differ.
    Distance(u32),
}

/// What the searches for one row have learnt, so that the next one looks only at what has come since.
///
/// Rows are known by their tids, and are added only if they were present at some time since the first search began. No
/// other row gets the tid of such a row, because VACUUM does not remove what this transaction may see.
pub struct EarlierSearches {
    /// When the first search began.
    pub first_began: Moment,
    /// The present versions that were compared, by their tids. A search may find one in several indexes.
    compared: EntrySet,
    /// The entries whose rows are not close enough. All versions that share an entry have the same text.
    refuted: EntrySet,
    /// The texts out of line that are not close enough, as their stored bytes.
    refuted_texts: RefCell<HashSet<Vec<u8>>>,
    features: NewFeatures,
}

impl EarlierSearches {
    pub fn new() -> Self {
        Self {
            first_began: Moment::now(),
            compared: EntrySet::default(),
            refuted: EntrySet::default(),
            refuted_texts: RefCell::default(),
            features: NewFeatures::new(),
        }
    }

    /// Whether a present row has not been compared before. An error if out of memory.
    pub fn is_new(&self, table: Oid, row: Row<'_>) -> bool {
        self.compared.add(table, row.tid())
    }

    /// Adds a row that is not close enough.
    fn refute(&self, searched: &SearchedTable, candidate: &FoundVersion) {
        // If the inserting transaction rolls back, another row may get the tid.
        if matches!(candidate.state, VersionState::Depends { inserts: true, .. }) {
            return;
        }
        self.refuted.add(candidate.table.oid(), candidate.entry);
        let row = candidate.version.row();
        let source = &searched.expressions.source;
        if source.reads_out_of_line(row)
            && let Some(text) = row.stored_bytes(&source.read_from)
        {
            let mut texts = self.refuted_texts.borrow_mut();
            texts.try_reserve(1).unwrap_or_else(|_| out_of_memory());
            texts.insert(text);
        }
    }

    /// Whether a row, which is not read, has the text of a row that is not close enough.
    pub fn is_refuted(&self, searched: &SearchedTable, row: Row<'_>) -> bool {
        let refuted = self.refuted_texts.borrow();
        let text = || row.stored_bytes(&searched.expressions.source.read_from);
        !refuted.is_empty() && text().is_some_and(|text| refuted.contains(&text))
    }
}

impl<'a> Sought<'a> {
    /// What to look up and compare for a new row of the table `own`, which has this key.
    pub fn new(
        key: &'a RowKey,
        evaluator: &'a Evaluator,
        row: Row<'a>,
        own: &'a SearchedTable,
        earlier: &'a EarlierSearches,
    ) -> Self {
        match key {
            RowKey::Text(keys) => {
                let least_resemblance = Cell::new(keys.least_resemblance());
                let text = NewText { evaluator, row, own, least_resemblance, features: &earlier.features };
                Self::Text { keys, text }
            }
            RowKey::Fingerprint { value, max_distance } => {
                Self::Fingerprint { value: *value, max_distance: Cell::new(*max_distance) }
            }
        }
    }

    /// From now on, only rows matter that are at least as close as this one or, of fingerprints, closer.
    pub fn narrow(&self, closeness: Closeness) {
        match (self, closeness) {
            (Self::Text { text, .. }, Closeness::Resemblance(resemblance)) => text.least_resemblance.set(resemblance),
            (Self::Fingerprint { max_distance, .. }, Closeness::Distance(distance)) => {
                max_distance.set(distance.cast_signed() - 1);
            }
            _ => {}
        }
    }
}

impl Closeness {
    /// Whether no row can be closer.
    pub fn is_highest(self) -> bool {
        matches!(self, Self::Distance(0)) || matches!(self, Self::Resemblance(resemblance) if resemblance >= 1.0)
    }
}

impl NearQuery<'_> {
    /// Calls `show` with each version of a row of these tables that may be near, until `show` breaks or fails. `show`
    /// may get a version more than once, and may narrow what is sought. An error if out of memory.
    ///
    /// The search finds every row that is near from its beginning to its end, unless an earlier one has refuted it. A
    /// row that another transaction updates meanwhile may be found by its new version alone.
    pub fn each_near<'t>(
        &self,
        tables: &'t [SearchedTable],
        mut show: impl FnMut(&'t SearchedTable, FoundVersion) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        for searched in tables {
            let mut show = |candidate: FoundVersion| show(searched, candidate);
            if self.each_recent(searched, &mut show)?.is_break() || self.each_indexed(searched, &mut show)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// How close a candidate is; None if it is not close enough.
    pub fn closeness(&self, searched: &SearchedTable, candidate: &FoundVersion) -> Result<Option<Closeness>> {
        let row = candidate.version.row();
        match &self.sought {
            Sought::Text { text, .. } => {
                // Another version than the one that was looked up may have other bands.
                let has_band = !candidate.has_moved
                    || self.evaluator.stored_key(searched, row)?.is_some_and(|key| self.key.may_be_near(&key));
                let resemblance = if has_band { text.confirm(searched, row)? } else { None };
                if resemblance.is_none() {
                    self.earlier.refute(searched, candidate);
                }
                Ok(resemblance.map(Closeness::Resemblance))
            }
            Sought::Fingerprint { value, max_distance } => {
                // All versions that share an entry have the same values in the columns of its expressions.
                let fingerprint = match candidate.value {
                    None => self.evaluator.stored_fingerprint(searched, row)?,
                    value => value,
                };
                let distance = fingerprint.map(|fingerprint| (fingerprint.cast_unsigned() ^ value).count_ones());
                let is_near = |distance: &u32| distance.cast_signed() <= max_distance.get();
                Ok(distance.filter(is_near).map(Closeness::Distance))
            }
        }
    }

    /// The rows that this session has found for a row like the new one.
    fn each_recent(
        &self,
        searched: &SearchedTable,
        show: &mut impl FnMut(FoundVersion) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        let recent = searched.originals.near(self.key);
        if recent.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        let table = Relation::open(searched.oid);
        let slot = TableSlot::new(&table);
        for tid in recent {
            let Some(version) = fetch_present(&table, tid, &slot) else { continue };
            let (state, entry) = (VersionState::Present, version.row().tid());
            let candidate = FoundVersion { table: &table, version, state, entry, value: None, has_moved: true };
            if self.may_be_near(searched, &candidate) && show(candidate)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The rows that the indexes have. A row that one index has shown is shown again by the next, unless it is refuted.
    fn each_indexed(
        &self,
        searched: &SearchedTable,
        show: &mut impl FnMut(FoundVersion) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        let table = Relation::open(searched.oid);
        let slot = TableSlot::new(&table);
        // SAFETY: the indexes compare the scope columns as their types do, as was checked when they were read.
        let before = unsafe { searched.scope.keys(searched.before(), self.scope) };
        let walk = DirtyWalk {
            table: &table,
            slot: &slot,
            before: &before,
            since: self.since,
            gone: self.gone,
            refuted: &self.earlier.refuted,
            is_shown: &|candidate| self.may_be_near(searched, candidate),
        };
        match (&searched.lookup, &self.sought) {
            // SAFETY: these are indexes of the table on bands and sizes.
            (Lookup::Texts(SearchedTexts { indexes, has_same, .. }), Sought::Text { keys, .. }) => unsafe {
                walk.each_by_bands(indexes, *has_same, keys, show)
            },
            // SAFETY: these are indexes of the table on blocks.
            (Lookup::Fingerprints(fingerprints), Sought::Fingerprint { value, max_distance }) => unsafe {
                walk.each_by_blocks(&fingerprints.layouts, fingerprints.rows, *value, max_distance, show)
            },
            _ => unreachable!("all tables of a guard are searched in one way"),
        }
    }

    /// Whether a row version is within the scope, and is not one that the new row replaces.
    fn may_be_near(&self, searched: &SearchedTable, FoundVersion { version, entry, .. }: &FoundVersion) -> bool {
        let row = version.row();
        let is_replaced = |tid| has_tid((self.replaced)(), tid);
        searched.scope.has_values(row, self.scope)
            && !(self.table == searched.oid && (is_replaced(*entry) || is_replaced(row.tid())))
    }
}
