//! Finds the earlier row that a sampled row is near. A row is earlier if its primary key is smaller.

use std::cell::Cell;
use std::ops::ControlFlow;

use postgres::error::{Result, algorithm_error};
use postgres::heap::dirty_scan::VersionState;
use postgres::heap::moment::Moment;
use postgres::heap::primary_key::KeyValue;
use postgres::heap::row::{Row, tid_numbers};

use super::sample::Preview;
use crate::sql::guard::definition::searched_table::SearchedTable;
use crate::sql::guard::row::confirmation::NewText;
use crate::sql::guard::row::search::{Candidate, Dismissed, MarkedRows, NearQuery};

/// The limit on the characters of a text that are shown.
const MAX_SHOWN_CHARACTERS: usize = 80;

struct SampledRow<'a> {
    own: &'a SearchedTable,
    row: Row<'a>,
    key: KeyValue,
    text: NewText<'a>,
}

/// The earlier row that decides whether a sampled row is a near-duplicate.
pub struct EarlierRow {
    pub is_confirmed: bool,
    pub distance: u32,
    pub resemblance: Option<f64>,
    pub key: String,
    pub text: Option<String>,
}

impl SampledRow<'_> {
    /// Whether another row is earlier: by its key or, if the keys have no order, by its tid.
    fn comes_after(&self, searched: &SearchedTable, row: Row<'_>, key: &KeyValue) -> bool {
        let tids = || {
            let (table, own) = (searched.oid.to_u32(), self.own.oid.to_u32());
            (table, tid_numbers(row.tid())).cmp(&(own, tid_numbers(self.row.tid())))
        };
        searched.primary_key.compare(key, &self.own.primary_key, &self.key).then_with(tids).is_lt()
    }
}

impl Preview {
    /// The earlier row that decides about a row: the nearest confirmed row or, if there is none, the row with the
    /// greatest resemblance.
    pub fn earlier(&self, own: &SearchedTable, row: Row<'_>) -> Result<Option<EarlierRow>> {
        let Some(fingerprint) = own.fingerprint_of(row) else { return Ok(None) };
        let (since, scope) = (Moment::now(), own.scope.of_row(row));
        let text = NewText::new(&self.texts, row, own, self.criterion.resemblance.unwrap_or(0.0));
        let query = NearQuery {
            fingerprint,
            near: text.near(self.criterion.near)?,
            // The preview also shows texts that resemble each other less.
            sizes: if self.compares_all { text.similar_sizes()? } else { None },
            max_distance: Cell::new(self.criterion.near.max_distance()),
            scope: &scope,
            table: own.oid,
            old_tid: Some(row.tid()),
            has_same_key: None,
            since: &since,
            marked: MarkedRows::default(),
            excluded: Dismissed::default(),
        };
        text.least_resemblance.set(0.0);
        let sampled = SampledRow { own, row, key: own.primary_key.of_row(row), text };
        let mut best: Option<EarlierRow> = None;
        for searched in &self.searched {
            let flow = query
                .each_near(searched, |candidate| {
                    match self.judge(&sampled, &query.excluded, searched, candidate, best.is_some()) {
                        Ok(None) => return ControlFlow::Continue(()),
                        Ok(better) => best = better,
                        Err(error) => return ControlFlow::Break(Err(error)),
                    }
                    match &best {
                        Some(EarlierRow { is_confirmed: true, distance: 0, .. }) => return ControlFlow::Break(Ok(())),
                        Some(EarlierRow { is_confirmed: true, distance, .. }) => {
                            query.max_distance.set(distance.cast_signed() - 1);
                            sampled.text.least_resemblance.set(self.criterion.resemblance.unwrap_or(0.0));
                        }
                        Some(EarlierRow { resemblance: Some(resemblance), .. }) => {
                            sampled.text.least_resemblance.set(resemblance.next_up());
                        }
                        _ => {}
                    }
                    ControlFlow::Continue(())
                })
                .map_err(algorithm_error)?;
            if let ControlFlow::Break(stopped) = flow {
                stopped?;
                break;
            }
        }
        self.rows.set(self.rows.get() + 1);
        self.refuted.set(self.refuted.get() + sampled.text.refuted());
        self.excluded.set(self.excluded.get() + query.excluded.count());
        Ok(best)
    }

    /// A candidate, if it is earlier than the sampled row, and better than the candidates judged before. `has_best`
    /// says whether there is one.
    fn judge(
        &self,
        sampled: &SampledRow<'_>,
        excluded: &Dismissed,
        searched: &SearchedTable,
        candidate: &Candidate,
        has_best: bool,
    ) -> Result<Option<EarlierRow>> {
        let row = candidate.version.row();
        let key = searched.primary_key.of_row(row);
        let is_compared = || self.compares_all || sampled.comes_after(searched, row, &key);
        if candidate.state != VersionState::Present || !is_compared() {
            return Ok(None);
        }
        if let Some(among) = &self.among
            && !among.includes_present(searched.oid, row, excluded)?
        {
            return Ok(None);
        }
        let resemblance = if self.has_text { sampled.text.confirm_present(searched, row)? } else { None };
        let is_confirmed =
            self.criterion.resemblance.is_none_or(|least| resemblance.is_some_and(|resemblance| resemblance >= least));
        if has_best && !is_confirmed && resemblance.is_none() {
            return Ok(None);
        }
        let (key, text) = self.describe(searched, &key, row)?;
        Ok(Some(EarlierRow { is_confirmed, distance: candidate.distance, resemblance, key, text }))
    }

    /// A row's primary key or, without one, its tid; and the beginning of its text, on one line.
    pub fn describe(&self, searched: &SearchedTable, key: &KeyValue, row: Row<'_>) -> Result<(String, Option<String>)> {
        let (block, offset) = tid_numbers(row.tid());
        let key = searched.primary_key.describe(key)?.unwrap_or_else(|| format!("(ctid)=(({block},{offset}))"));
        if !self.has_text {
            return Ok((key, None));
        }
        let on_one_line = |c: char| if c.is_control() { ' ' } else { c };
        let beginning = |text: &str| Ok(text.chars().take(MAX_SHOWN_CHARACTERS).map(on_one_line).collect());
        Ok((key, self.texts.with_stored_text(searched, row, beginning)?))
    }
}
