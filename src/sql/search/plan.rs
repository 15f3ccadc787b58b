//! What the plan of a search keeps, as lists of nodes that PostgreSQL can copy and send to parallel workers.

use std::ffi::c_void;

use pgrx::pg_sys;

use super::condition::Limit;
use crate::postgres::nodes::expression::{Expression, list, oids};
use crate::sql::indexed::layouts::{IndexedBlock, Layout};

/// A search of a table: within a distance of a query, nearest first, or both.
#[derive(Clone)]
pub struct Search {
    /// The fingerprint of a row, as an expression of the table's columns.
    pub fingerprint: Expression,
    pub query: Expression,
    /// The largest distance; None if all rows are wanted.
    pub limit: Option<Limit>,
    pub settings: Settings,
}

/// What a search does, beside its expressions.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Whether rows come in the order of their distances.
    pub is_ordered: bool,
    /// Whether the query needs nothing but the fingerprint, which is this column.
    pub only_column: Option<i16>,
    is_strict: bool,
    /// The planner's estimate of the number of rows in the table.
    pub rows: f64,
    pub layouts: Vec<Layout>,
}

impl Search {
    pub fn new(fingerprint: Expression, query: Expression, limit: Option<Limit>, settings: Settings) -> Self {
        let is_strict = limit.is_some_and(|limit| limit.is_strict);
        Self { fingerprint, query, limit, settings: Settings { is_strict, ..settings } }
    }

    /// The expressions as a list: fingerprint, query, and the limit if there is one.
    pub fn expressions(&self) -> *mut pg_sys::List {
        let limit = self.limit.map(|limit| limit.expression);
        let all = [Some(self.fingerprint), Some(self.query), limit];
        all.into_iter()
            .flatten()
            .fold(std::ptr::null_mut(), |list, expression| append(list, expression.as_ptr().cast()))
    }

    /// The search that [`Search::to_list`] has written.
    ///
    /// # Safety
    /// The list is one of `to_list`, or a copy.
    pub unsafe fn from_list(written: *mut pg_sys::List) -> Option<Self> {
        // SAFETY: the list has the expressions, then the lists of `Settings`.
        unsafe {
            let settings = Settings::from_list(pg_sys::list_nth(written, 1).cast())?;
            let expressions = list(pg_sys::list_nth(written, 0).cast());
            let &[fingerprint, query, ref limit @ ..] = &expressions[..] else { return None };
            let limit = limit.first().map(|&expression| Limit { expression, is_strict: settings.is_strict });
            Some(Self { fingerprint, query, limit, settings })
        }
    }

    pub fn to_list(&self) -> *mut pg_sys::List {
        let list = append(std::ptr::null_mut(), self.expressions().cast());
        append(list, self.settings.to_list().cast())
    }
}

/// Number of integers that are written before those of the indexes, and for each index.
const FIXED: usize = 4;
const EACH: usize = 4;

impl Settings {
    pub fn new(is_ordered: bool, only_column: Option<i16>, rows: f64, layouts: Vec<Layout>) -> Self {
        Self { is_ordered, only_column, is_strict: false, rows, layouts }
    }

    /// Whether the distance must be less than the limit.
    pub fn is_strict(&self) -> bool {
        self.is_strict
    }

    /// The largest distance for a value of the limit's expression.
    pub fn largest_distance(&self, limit: i32) -> i32 {
        limit.saturating_sub(i32::from(self.is_strict))
    }

    /// A list of integers and a list of OIDs.
    pub fn to_list(&self) -> *mut pg_sys::List {
        let rows = self.rows.min(f64::from(i32::MAX)) as i32;
        let mut numbers =
            vec![self.is_ordered.into(), self.only_column.unwrap_or(0).into(), self.is_strict.into(), rows];
        let blocks = || self.layouts.iter().flatten();
        for found in blocks() {
            let fingerprint = found.fingerprint.unwrap_or(0).into();
            numbers.extend([found.block, found.blocks, fingerprint, found.is_partial.into()]);
        }
        // SAFETY: the lists are made here.
        unsafe {
            let numbers =
                numbers.into_iter().fold(std::ptr::null_mut(), |list, number| pg_sys::lappend_int(list, number));
            let indexes = blocks().fold(std::ptr::null_mut(), |list, found| pg_sys::lappend_oid(list, found.index));
            append(append(std::ptr::null_mut(), numbers.cast()), indexes.cast())
        }
    }

    /// The settings that [`Settings::to_list`] has written.
    ///
    /// # Safety
    /// The list is one of `to_list`, or a copy.
    pub unsafe fn from_list(written: *mut pg_sys::List) -> Option<Self> {
        // SAFETY: the list has a list of integers and a list of OIDs.
        let (numbers, indexes) = unsafe {
            let numbers = pg_sys::list_nth(written, 0).cast::<pg_sys::List>();
            let numbers: Vec<i32> = (0..(*numbers).length).map(|i| pg_sys::list_nth_int(numbers, i)).collect();
            (numbers, oids(pg_sys::list_nth(written, 1).cast()))
        };
        let (&[is_ordered, only_column, is_strict, rows], blocks) = numbers.split_first_chunk::<FIXED>()?;
        let mut layouts: Vec<Layout> = Vec::new();
        for (numbers, &index) in blocks.chunks_exact(EACH).zip(&indexes) {
            let &[block, blocks, fingerprint, is_partial] = numbers else { return None };
            let fingerprint = (fingerprint != 0).then_some(fingerprint as i16);
            let found = IndexedBlock { block, blocks, index, fingerprint, is_partial: is_partial != 0 };
            match layouts.last_mut().filter(|layout| layout.iter().all(|other| other.blocks == blocks)) {
                Some(layout) => layout.push(found),
                None => layouts.push(vec![found]),
            }
        }
        Some(Self {
            is_ordered: is_ordered != 0,
            only_column: (only_column != 0).then_some(only_column as i16),
            is_strict: is_strict != 0,
            rows: rows.into(),
            layouts,
        })
    }
}

fn append(list: *mut pg_sys::List, element: *mut c_void) -> *mut pg_sys::List {
    // SAFETY: the list was made here, and the element is a valid node.
    unsafe { pg_sys::lappend(list, element) }
}
