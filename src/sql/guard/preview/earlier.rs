//! Finds the earlier row that a sampled row is near. A row is earlier if its primary key is smaller.

use std::cell::Cell;
use std::ops::ControlFlow;

use pgrx::itemptr::{item_pointer_get_both, item_pointer_to_u64};
use postgres::error::Result;
use postgres::heap::dirty_scan::VersionState;
use postgres::heap::moment::Moment;
use postgres::heap::row::Row;

use super::Preview;
use crate::sql::guard::definition::searched_table::SearchedTable;
use crate::sql::guard::row::confirmation::NewText;
use crate::sql::guard::row::search::{Candidate, Dismissed, NearQuery};

/// The limit on the characters of a text that are shown.
const MAX_SHOWN_CHARACTERS: usize = 80;

/// A row as it is shown to users.
pub struct ShownRow {
    /// The primary key or, without one, the tid.
    pub key: String,
    /// The beginning of the text, on one line.
    pub text: Option<String>,
}

/// The earlier row that decides whether a sampled row is a near-duplicate.
pub struct EarlierRow {
    pub is_confirmed: bool,
    pub distance: u32,
    pub resemblance: Option<f64>,
    pub shown: ShownRow,
}

impl Preview {
    /// The earlier row that decides about a row: the nearest confirmed row or, if there is none, the row with the
    /// greatest resemblance.
    pub fn earlier(&self, own: &SearchedTable, row: Row<'_>) -> Result<Option<EarlierRow>> {
        let Some(fingerprint) = own.fingerprint_of(row) else { return Ok(None) };
        let (since, scope) = (Moment::now(), own.scope.of_row(row));
        let text = NewText::new(&self.texts, row, own, 0.0);
        let itself = [row.tid()];
        let query = NearQuery {
            fingerprint,
            near: text.near(self.criterion.near)?,
            // The preview also shows texts that resemble each other less.
            sizes: None,
            max_distance: Cell::new(self.criterion.near.max_distance()),
            scope: &scope,
            table: own.oid,
            replaced: &|| &itself,
            since: &since,
            excluded: Dismissed::default(),
        };
        let key = own.primary_key.of_row(row);
        let position = |searched: &SearchedTable, row: Row<'_>| (searched.oid.to_u32(), item_pointer_to_u64(row.tid()));
        // Without keys that have an order, the tids decide.
        let is_earlier = |searched: &SearchedTable, found: Row<'_>| {
            let order = searched.primary_key.compare(&searched.primary_key.of_row(found), &own.primary_key, &key);
            order.then_with(|| position(searched, found).cmp(&position(own, row))).is_lt()
        };
        let mut best: Option<EarlierRow> = None;
        query.each_near(&self.searched, |searched, candidate| {
            if candidate.state != VersionState::Present || !is_earlier(searched, candidate.version.row()) {
                return Ok(ControlFlow::Continue(()));
            }
            let Some(better) = self.judge(&text, &query.excluded, searched, candidate, best.is_some())? else {
                return Ok(ControlFlow::Continue(()));
            };
            let is_nearest = better.is_confirmed && better.distance == 0;
            if better.is_confirmed {
                query.max_distance.set(better.distance.cast_signed() - 1);
                text.least_resemblance.set(self.criterion.resemblance.unwrap_or(0.0));
            } else if let Some(resemblance) = better.resemblance {
                text.least_resemblance.set(resemblance.next_up());
            }
            best = Some(better);
            Ok(if is_nearest { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        Ok(best)
    }

    /// An earlier row, if it counts and is better than the rows judged before. `has_best` says whether there is one.
    fn judge(
        &self,
        text: &NewText<'_>,
        excluded: &Dismissed,
        searched: &SearchedTable,
        candidate: &Candidate,
        has_best: bool,
    ) -> Result<Option<EarlierRow>> {
        let row = candidate.version.row();
        if let Some(among) = &self.among
            && !among.includes_present(searched.oid, row, excluded)?
        {
            return Ok(None);
        }
        let resemblance = if self.has_text { text.confirm_present(searched, row)? } else { None };
        let is_confirmed =
            self.criterion.resemblance.is_none_or(|least| resemblance.is_some_and(|resemblance| resemblance >= least));
        if has_best && !is_confirmed && resemblance.is_none() {
            return Ok(None);
        }
        let (distance, shown) = (candidate.distance, self.shown(searched, row)?);
        Ok(Some(EarlierRow { is_confirmed, distance, resemblance, shown }))
    }

    pub fn shown(&self, searched: &SearchedTable, row: Row<'_>) -> Result<ShownRow> {
        let (block, offset) = item_pointer_get_both(row.tid());
        let key = searched.primary_key.describe(&searched.primary_key.of_row(row))?;
        let key = key.unwrap_or_else(|| format!("(ctid)=(({block},{offset}))"));
        if !self.has_text {
            return Ok(ShownRow { key, text: None });
        }
        let on_one_line = |c: char| if c.is_control() { ' ' } else { c };
        let beginning = |text: &str| Ok(text.chars().take(MAX_SHOWN_CHARACTERS).map(on_one_line).collect());
        Ok(ShownRow { key, text: self.texts.with_stored_text(searched, row, beginning)? })
    }
}
