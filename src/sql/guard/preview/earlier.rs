//! Finds the earlier row that a sampled row is near. A row is earlier if its primary key is smaller. If the keys are
//! equal or cannot be compared, the tids decide.

use std::cell::LazyCell;
use std::ops::ControlFlow::{Break, Continue};

use pgrx::itemptr::{item_pointer_get_both, item_pointer_to_u64};
use postgres::error::Result;
use postgres::heap::dirty_scan::{DirtySearch, EntrySet, FoundVersion, VersionState};
use postgres::heap::row::Row;
use postgres::text::{TextArgument, decode};

use super::Preview;
use crate::sql::guard::definition::row_key::RowKey;
use crate::sql::guard::definition::searched_table::{Lookup, SearchedTable};
use crate::sql::guard::row::evaluation::RowKind;
use crate::sql::guard::row::search::{Closeness, EarlierSearches, NearQuery, Wanted};

/// The limit on the characters of a text that are shown.
const MAX_SHOWN_CHARACTERS: usize = 80;

/// Once an earlier row makes a sampled row a duplicate, the search for a closer one ends after this many rows, that one
/// included. Without this limit, each of many rows that are all near each other would be compared with all others.
const MAX_ROWS_OF_DUPLICATE: usize = 100;

pub struct ShownRow {
    /// The primary key or, without one, the tid.
    pub key: String,
    /// The beginning of the text, on one line.
    pub text: Option<String>,
}

/// The earlier row that decides whether a sampled row is a near-duplicate.
pub struct EarlierRow {
    pub closeness: Closeness,
    pub shown: ShownRow,
}

/// The position of a row among all rows of a table and its partitions.
pub fn row_position(searched: &SearchedTable, row: Row<'_>) -> (u32, u64) {
    (searched.oid.to_u32(), item_pointer_to_u64(row.tid()))
}

impl Preview {
    /// Finds the earlier row that is closest to a row with this key, or one of the closest.
    pub fn find_earlier(&self, own: &SearchedTable, row: Row<'_>, key: &RowKey) -> Result<Option<EarlierRow>> {
        let earlier_searches = EarlierSearches::new();
        let query = NearQuery {
            row,
            own,
            key,
            scope: own.scope.of_row(row),
            evaluator: &self.evaluator,
            replaced: LazyCell::new(Box::new(move || vec![row.tid()])),
            earlier_searches: &earlier_searches,
            search: DirtySearch { since: earlier_searches.since(), entries_without_row: &EntrySet::default() },
            wanted: Wanted::of_criterion(key),
        };
        let primary_key = own.primary_key.of_row(row);
        let is_earlier = |searched: &SearchedTable, other: Row<'_>| {
            let order =
                searched.primary_key.compare(&searched.primary_key.of_row(other), &own.primary_key, &primary_key);
            order.then_with(|| row_position(searched, other).cmp(&row_position(own, row))).is_lt()
        };
        let (mut closest, mut rows_of_duplicate): (Option<EarlierRow>, _) = (None, 0);
        query.each_near(&self.searched, |searched, candidate| {
            let other = candidate.version.row();
            if candidate.state != VersionState::Present || !earlier_searches.add_compared(searched.oid, other) {
                return Ok(Continue(()));
            }
            self.compared_pairs.set(self.compared_pairs.get() + 1);
            if is_earlier(searched, other)
                && self.evaluator.is_among(searched, other, RowKind::Stored)?
                && let Some(closeness) = query.closeness(searched, &candidate)?
                && !self.is_too_far(key, searched, &candidate, closeness)?
                && closest.as_ref().is_none_or(|best| best.closeness != closeness)
            {
                query.wanted.narrow(closeness);
                closest = Some(EarlierRow { closeness, shown: self.describe(searched, other)? });
            }
            let Some(best) = closest.as_ref().filter(|best| self.excess(best) >= 0.0) else { return Ok(Continue(())) };
            rows_of_duplicate += 1;
            let is_decided = rows_of_duplicate == MAX_ROWS_OF_DUPLICATE || best.closeness.is_highest();
            Ok(if is_decided { Break(()) } else { Continue(()) })
        })?;
        Ok(closest)
    }

    /// Whether a candidate resembles the text with this key as a near-duplicate does, but is not near, because the
    /// distance of their fingerprints is too large. False for a guard of fingerprints.
    fn is_too_far(
        &self,
        key: &RowKey,
        searched: &SearchedTable,
        candidate: &FoundVersion,
        closeness: Closeness,
    ) -> Result<bool> {
        let (Some(criterion), Closeness::Resemblance(resemblance)) = (self.criterion, closeness) else {
            return Ok(false);
        };
        if resemblance < criterion.resemblance {
            return Ok(false);
        }
        let fingerprint = match candidate.value {
            Some(value) => Some(value.cast_unsigned()),
            None => {
                let other = self.evaluator.key(searched, candidate.version.row(), RowKind::Stored)?;
                other.map(|other| other.fingerprint())
            }
        };
        Ok(fingerprint.is_some_and(|fingerprint| !criterion.allows_distance(fingerprint, key.fingerprint())))
    }

    pub fn describe(&self, searched: &SearchedTable, row: Row<'_>) -> Result<ShownRow> {
        let (block, offset) = item_pointer_get_both(row.tid());
        let key = searched.primary_key.describe(&searched.primary_key.of_row(row))?;
        let key = key.unwrap_or_else(|| format!("(ctid)=(({block},{offset}))"));
        let on_one_line = |c: char| if c.is_control() { ' ' } else { c };
        let read_beginning = |text: TextArgument<'_>| {
            Ok(decode(text.detoast())?.as_str().chars().take(MAX_SHOWN_CHARACTERS).map(on_one_line).collect())
        };
        let text = match searched.lookup {
            Lookup::Texts(_) => self.evaluator.with_text(searched, row, RowKind::Stored, read_beginning)?,
            Lookup::Fingerprints(_) => None,
        };
        Ok(ShownRow { key, text })
    }
}
