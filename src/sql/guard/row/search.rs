//! Searches a guarded table for rows near a new row.
//!
//! The search reads the indexes directly, whatever the planner would choose: see [`DirtyWalk`].
//!
//! Texts that share a band are probably alike, but need not be: two letters that share a template are not copies. So
//! the search compares the text of each row that it finds with the new text ([`simhash::fingerprint::resemblance`]).

use std::cell::{Cell, LazyCell, OnceCell, RefCell};
use std::collections::HashSet;
use std::ops::ControlFlow::{Break, Continue};

use pgrx::pg_sys::{ItemPointerData, Oid};
use postgres::catalog::relation::Relation;
use postgres::error::Result;
use postgres::heap::dirty_scan::{DirtySearch, EntrySet, FoundVersion, VersionState, fetch_present};
use postgres::heap::row::{Row, TableSlot, has_tid};
use postgres::heap::transactions::Moment;
use postgres::memory::insert;
use postgres::text::{TextArgument, decode};
use simhash::error::Error;
use simhash::fingerprint::Fingerprinter;
use simhash::fingerprint::resemblance::Prepared;
use simhash::hamming;

use super::evaluation::{Evaluator, RowKind};
use crate::sql::fingerprint::fingerprint_cache::with_fingerprinter;
use crate::sql::guard::definition::row_key::RowKey;
use crate::sql::guard::definition::scope::GuardScopeValues;
use crate::sql::guard::definition::searched_table::{Lookup, SearchedTable};
use crate::sql::lookup::dirty_walk::{DirtyWalk, Flow};

/// The new row, and which rows to find.
pub struct NearQuery<'a> {
    pub row: Row<'a>,
    /// The new row's table.
    pub own: &'a SearchedTable,
    /// The key by which the rows near the new row are looked up.
    pub key: &'a RowKey,
    /// The new row's values of the scope columns.
    pub scope: GuardScopeValues<'a>,
    pub evaluator: &'a Evaluator,
    /// The tids, in the new row's table, of rows that do not count and of their index entries: for an UPDATE, the old
    /// version of the row; for an INSERT, the conflicting rows. These cost a look-up in each unique index, so they are
    /// not looked up before a candidate within the scope has been found.
    pub replaced: LazyCell<Vec<ItemPointerData>, Box<dyn FnOnce() -> Vec<ItemPointerData> + 'a>>,
    /// What earlier searches for the row have learnt, to which this one adds.
    pub earlier_searches: &'a EarlierSearches,
    pub search: DirtySearch<'a>,
    pub wanted: Wanted,
}

impl NearQuery<'_> {
    /// Calls `show` with each version of a row of these tables that may be near, until `show` breaks or fails. `show`
    /// may get a version more than once, and may narrow what is sought. An error if out of memory.
    ///
    /// The search finds every row that stays near while it runs, unless an earlier search has refuted the row. If
    /// another transaction updates a row meanwhile, only its new version may be found.
    pub fn each_near<'t>(
        &self,
        tables: &'t [SearchedTable],
        mut show: impl FnMut(&'t SearchedTable, FoundVersion) -> Flow,
    ) -> Result<()> {
        for searched in tables {
            let mut show = |candidate: FoundVersion| show(searched, candidate);
            let Continue(()) = self.each_original(searched, &mut show)? else { break };
            let Continue(()) = self.each_indexed(searched, &mut show)? else { break };
        }
        Ok(())
    }

    /// Shows the originals of marked rows ([`SearchedTable::originals`]) that may be near by their keys.
    fn each_original(&self, searched: &SearchedTable, show: &mut impl FnMut(FoundVersion) -> Flow) -> Flow {
        let originals = searched.originals.near(self.key);
        if originals.is_empty() {
            return Ok(Continue(()));
        }
        let table = Relation::open(searched.oid);
        let slot = TableSlot::new(&table);
        for tid in originals {
            let Some(version) = fetch_present(&table, tid, &slot) else { continue };
            let (state, entry) = (VersionState::Present, version.row().tid());
            let candidate =
                FoundVersion { table: &table, version, state, entry, value: None, may_have_other_keys: true };
            if self.is_eligible(searched, &candidate) && show(candidate)?.is_break() {
                return Ok(Break(()));
            }
        }
        Ok(Continue(()))
    }

    /// Shows the rows that the indexes find. A row that is in several indexes is shown by each, until it is refuted.
    fn each_indexed(&self, searched: &SearchedTable, show: &mut impl FnMut(FoundVersion) -> Flow) -> Flow {
        let table = Relation::open(searched.oid);
        let slot = TableSlot::new(&table);
        // SAFETY: the indexes compare the scope columns as their types do, as was checked when they were read.
        let leading_keys = unsafe { searched.scope.scan_keys(searched.leading_scope_positions(), &self.scope) };
        let walk = DirtyWalk {
            table: &table,
            slot: &slot,
            leading_keys: &leading_keys,
            search: self.search,
            skipped: &self.earlier_searches.refuted,
            is_eligible: &|candidate| self.is_eligible(searched, candidate),
        };
        match (&searched.lookup, self.key) {
            // SAFETY: these are indexes of the table on bands, sizes and fingerprints.
            (Lookup::Texts(texts), RowKey::Text(keys)) => unsafe {
                walk.each_by_bands(&texts.indexes, texts.has_same, keys, show)
            },
            // SAFETY: these are indexes of the table on blocks.
            (Lookup::Fingerprints(fingerprints), RowKey::Fingerprint { value, .. }) => unsafe {
                let max_distance = &self.wanted.max_distance;
                walk.each_by_blocks(&fingerprints.layouts, fingerprints.rows, *value, max_distance, show)
            },
            _ => unreachable!("all tables of a guard are searched in one way"),
        }
    }

    /// Whether a row version is or may be within the scope, and is not one that the new row replaces.
    fn is_eligible(&self, searched: &SearchedTable, candidate: &FoundVersion) -> bool {
        let row = candidate.version.row();
        let is_replaced = |tid| has_tid(&self.replaced, tid);
        (candidate.may_lose(searched.scope.attnums()) || searched.scope.has_values(row, &self.scope))
            && !(self.own.oid == searched.oid && (is_replaced(candidate.entry) || is_replaced(row.tid())))
    }

    /// How close a candidate is; None if it is not close enough.
    pub fn closeness(&self, searched: &SearchedTable, candidate: &FoundVersion) -> Result<Option<Closeness>> {
        let (row, evaluator) = (candidate.version.row(), self.evaluator);
        match self.key {
            RowKey::Text(_) => {
                // Another version than the one that was looked up may have other keys.
                let may_be_near = !candidate.may_have_other_keys
                    || evaluator.key(searched, row, RowKind::Stored)?.is_some_and(|key| self.key.may_be_near(&key));
                let resemblance = if may_be_near { self.resemblance(searched, row, RowKind::Stored)? } else { None };
                if resemblance.is_none() {
                    self.earlier_searches.refute(searched, candidate);
                }
                Ok(resemblance.map(Closeness::Resemblance))
            }
            RowKey::Fingerprint { value, .. } => {
                // All versions that share an entry have the same values in the columns of its expressions.
                let fingerprint = match candidate.value {
                    None => evaluator.fingerprint(searched, row, RowKind::Stored)?,
                    value => value,
                };
                let distance = fingerprint.map(|fingerprint| hamming(fingerprint.cast_unsigned(), *value));
                let is_near = |distance: &u32| distance.cast_signed() <= self.wanted.max_distance.get();
                Ok(distance.filter(is_near).map(Closeness::Distance))
            }
        }
    }

    /// Whether a row that is not stored yet, and that may be near by its key, is near.
    pub fn is_near(&self, searched: &SearchedTable, row: Row<'_>) -> Result<bool> {
        match self.key {
            RowKey::Text(_) => Ok(self.resemblance(searched, row, RowKind::New)?.is_some()),
            RowKey::Fingerprint { .. } => Ok(true),
        }
    }

    /// The resemblance of a row's text to the new text; None if it is less than what is wanted, or if one of the texts
    /// is NULL or has no feature. Costs at most as much as the fingerprint of the row's text.
    fn resemblance(&self, searched: &SearchedTable, row: Row<'_>, kind: RowKind) -> Result<Option<f64>> {
        if self.earlier_searches.features.get().is_none() {
            let prepare = |text: TextArgument<'_>| self.with_decoded(text, Prepared::new);
            let features = self.evaluator.with_text(self.own, self.row, RowKind::New, prepare)?;
            self.earlier_searches.features.get_or_init(|| features.map(Box::new));
        }
        let Some(Some(features)) = self.earlier_searches.features.get() else { return Ok(None) };
        let least = self.wanted.least_resemblance.get();
        let compare =
            |fingerprinter: &mut Fingerprinter, text: &str| features.resemblance_from(least, fingerprinter, text);
        Ok(self.evaluator.with_text(searched, row, kind, |text| self.with_decoded(text, compare))?.flatten())
    }

    /// Calls `compute` with a fingerprinter for the guard's options, and with the decoded text.
    fn with_decoded<T>(
        &self,
        text: TextArgument<'_>,
        compute: impl FnOnce(&mut Fingerprinter, &str) -> Result<T, Error>,
    ) -> Result<T> {
        let Lookup::Texts(texts) = &self.own.lookup else { unreachable!("a guard of texts looks texts up") };
        let text = decode(text.detoast())?.as_str();
        with_fingerprinter(&texts.options, |fingerprinter| compute(fingerprinter, text))
    }
}

/// How close a row must be to matter. During a search, [`Wanted::narrow`] may demand a closer one.
pub struct Wanted {
    least_resemblance: Cell<f64>,
    max_distance: Cell<i32>,
}

impl Wanted {
    /// How close a row must be by the criterion. The new row's key contains the criterion.
    pub fn of_criterion(key: &RowKey) -> Self {
        let (least_resemblance, max_distance) = match key {
            RowKey::Text(keys) => (keys.least_resemblance(), 0),
            RowKey::Fingerprint { max_distance, .. } => (0.0, *max_distance),
        };
        Self { least_resemblance: Cell::new(least_resemblance), max_distance: Cell::new(max_distance) }
    }

    /// From now on, a row must be at least as close as this one; for fingerprints, closer.
    pub fn narrow(&self, closeness: Closeness) {
        match closeness {
            Closeness::Resemblance(resemblance) => self.least_resemblance.set(resemblance),
            Closeness::Distance(distance) => self.max_distance.set(distance.cast_signed() - 1),
        }
    }
}

/// How close a row is to the new row.
#[derive(Clone, Copy, PartialEq)]
pub enum Closeness {
    Resemblance(f64),
    Distance(u32),
}

impl Closeness {
    /// Whether no row can be closer.
    pub fn is_highest(self) -> bool {
        matches!(self, Self::Distance(0)) || matches!(self, Self::Resemblance(resemblance) if resemblance >= 1.0)
    }
}

/// What the searches for one row have learnt, so that the next one looks only at what has come since.
///
/// A row is known by its tid, and added only if it was present at some time since the first search began. No other row
/// gets the tid of such a row, because VACUUM does not remove what this transaction may see.
pub struct EarlierSearches {
    /// When the first search began.
    first_began: Moment,
    /// When the present search began; None if it is the first.
    last_began: Option<Moment>,
    /// The present versions that were compared, by their tids. A search may find one in several indexes.
    compared: EntrySet,
    /// The entries whose rows are not close enough. All versions that share an entry have the same text.
    refuted: EntrySet,
    /// The texts out of line that are not close enough, as their stored bytes.
    refuted_texts: RefCell<HashSet<Vec<u8>>>,
    /// The features of the new text, computed when the first row is found; None if the text is NULL.
    features: OnceCell<Option<Box<Prepared>>>,
}

impl EarlierSearches {
    pub fn new() -> Self {
        Self {
            first_began: Moment::now(),
            last_began: None,
            compared: EntrySet::default(),
            refuted: EntrySet::default(),
            refuted_texts: RefCell::default(),
            features: OnceCell::new(),
        }
    }

    /// When the present search began.
    pub fn since(&self) -> &Moment {
        self.last_began.as_ref().unwrap_or(&self.first_began)
    }

    pub fn begin_next(&mut self) {
        // With this setting, which PostgreSQL 17 no longer has, VACUUM removes rows that a transaction may see.
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        // SAFETY: a plain variable.
        if unsafe { pgrx::pg_sys::old_snapshot_threshold } >= 0 {
            *self = Self::new();
            return;
        }
        self.last_began = Some(Moment::now());
    }

    /// Adds a present row that is to be compared; false if it was added before. An error if out of memory.
    pub fn add_compared(&self, table: Oid, row: Row<'_>) -> bool {
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
            && let Some(text) = row.stored_bytes(&source.stored_row_columns)
        {
            insert(&mut self.refuted_texts.borrow_mut(), text);
        }
    }

    /// Whether a row has the same text as a row that is not close enough. Compares stored bytes, and reads no text.
    pub fn is_refuted(&self, searched: &SearchedTable, row: Row<'_>) -> bool {
        let refuted = self.refuted_texts.borrow();
        let columns = &searched.expressions.source.stored_row_columns;
        !refuted.is_empty() && row.stored_bytes(columns).is_some_and(|text| refuted.contains(&text))
    }
}
