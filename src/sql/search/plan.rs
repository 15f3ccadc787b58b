//! The parts of a search's plan, as lists of nodes that PostgreSQL can copy and send to parallel workers.

use std::ffi::c_void;

use pgrx::pg_sys::{self, Oid};
use postgres::expression::Expression;
use postgres::list::{integers, oids};

use super::condition::{Limit, largest_distance};
use crate::sql::indexed::layouts::{IndexedBlock, Layout};

/// A search of a table: within a distance of a query, nearest first, or both.
#[derive(Clone)]
pub struct Search {
    /// The fingerprint of a row, as an expression of the table's columns.
    pub fingerprint: Expression,
    pub query: Expression,
    /// The largest distance; None if the search is for all rows.
    pub limit: Option<Limit>,
    /// The values of the columns before the block in the indexes.
    pub scope: Vec<Expression>,
    pub settings: Settings,
}

/// The properties of a search that are not expressions.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Whether rows are returned in the order of their distances.
    pub is_ordered: bool,
    /// The attnum of the fingerprint, if the query needs no other column and the indexes have it.
    pub only_column: Option<i16>,
    pub has_limit: bool,
    /// Whether the limit has radii.
    pub has_radii: bool,
    /// Whether the limit has flips, which come with radii.
    pub has_flips: bool,
    /// Whether the limit has sizes, and these are not rounded; None without sizes.
    pub has_exact_sizes: Option<bool>,
    /// Whether the distance must be less than the limit.
    pub is_strict: bool,
    /// The planner's estimate of the number of rows in the table, or within the scope.
    pub rows: f64,
    /// The number of pages of the table, for that estimate.
    pub pages: f64,
    /// The number of rows that the query is expected to read; None if that is not known.
    pub expected: Option<f64>,
    pub scope: Vec<ScopeKey>,
    pub layouts: Vec<Layout>,
}

/// How a column before the block is compared with a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScopeKey {
    pub function: Oid,
    pub value_type: Oid,
    pub collation: Oid,
}

impl Search {
    /// The expressions as a list: fingerprint, query, the limit, its radii, flips and sizes if there are any, and the
    /// values of the scope.
    pub fn expressions(&self) -> *mut pg_sys::List {
        let limit = self.limit.into_iter().flat_map(Limit::expressions);
        let all = [self.fingerprint, self.query].into_iter().chain(limit).chain(self.scope.iter().copied());
        all.fold(std::ptr::null_mut(), |list, expression| append(list, expression.as_ptr().cast()))
    }
}

/// In the list that stores [`Settings`], the number of integers before the integers of the indexes.
const FIXED_INTEGERS: usize = 11;
/// The number of integers of each index.
const INTEGERS_PER_INDEX: usize = 5;

impl Settings {
    /// The largest distance for a value of the limit's expression.
    pub fn largest_distance(&self, limit: i64) -> i32 {
        largest_distance(limit, self.is_strict)
    }

    /// The number of rows if the table now has `pages` pages: it may have grown since it was planned.
    pub fn rows_in(&self, pages: f64) -> f64 {
        (self.rows * pages / self.pages.max(1.0)).max(1.0)
    }

    /// The index of the limit among the expressions of the plan; None without a limit.
    pub fn limit_index(&self) -> Option<usize> {
        self.has_limit.then_some(2)
    }

    /// The index of the radii among the expressions of the plan; None without radii.
    pub fn radii_index(&self) -> Option<usize> {
        self.has_radii.then_some(3)
    }

    /// The index of the flips among the expressions of the plan; None without flips.
    pub fn flips_index(&self) -> Option<usize> {
        self.has_flips.then_some(4)
    }

    /// The index of the size among the expressions of the plan, before the least resemblance; None without sizes.
    pub fn sizes_index(&self) -> Option<usize> {
        self.has_exact_sizes.map(|_| 3 + usize::from(self.has_radii) + usize::from(self.has_flips))
    }

    /// The index of the first value of the scope among the expressions of the plan.
    pub fn scope_index(&self) -> usize {
        let of_sizes = if self.has_exact_sizes.is_some() { 2 } else { 0 };
        2 + [self.has_limit, self.has_radii, self.has_flips].map(usize::from).iter().sum::<usize>() + of_sizes
    }

    /// The settings as a list of two lists: of integers, and of OIDs.
    pub fn to_list(&self) -> *mut pg_sys::List {
        let expected = self.expected.unwrap_or(0.0);
        let [rows, pages, expected] =
            [self.rows, self.pages, expected].map(|number| number.min(f64::from(i32::MAX)) as i32);
        let flags = [self.is_ordered, self.is_strict, self.has_limit, self.has_radii, self.has_flips].map(i32::from);
        let mut numbers = flags.to_vec();
        numbers.push(self.has_exact_sizes.map_or(0, |is_exact| 1 + i32::from(is_exact)));
        numbers.extend([self.only_column.unwrap_or(0).into(), rows, pages, expected, self.scope.len() as i32]);
        let blocks = || self.layouts.iter().flatten();
        for found in blocks() {
            let fingerprint = found.fingerprint.unwrap_or(0).into();
            let flags = [found.has_size, found.is_partial].map(i32::from);
            numbers.extend([found.block, found.blocks, fingerprint].into_iter().chain(flags));
        }
        // SAFETY: the lists are made here.
        unsafe {
            let numbers =
                numbers.into_iter().fold(std::ptr::null_mut(), |list, number| pg_sys::lappend_int(list, number));
            let of_scope = self.scope.iter().flat_map(|key| [key.function, key.value_type, key.collation]);
            let oids = of_scope.chain(blocks().map(|found| found.index));
            let oids = oids.fold(std::ptr::null_mut(), |list, oid| pg_sys::lappend_oid(list, oid));
            append(append(std::ptr::null_mut(), numbers.cast()), oids.cast())
        }
    }

    /// Reads a list that [`Settings::to_list`] has made; None if it is invalid.
    ///
    /// # Safety
    /// The list was made by `to_list`, or is a copy of such a list.
    pub unsafe fn from_list(written: *mut pg_sys::List) -> Option<Self> {
        // SAFETY: the list has a list of integers and a list of OIDs.
        let (numbers, oids) =
            unsafe { (integers(pg_sys::list_nth(written, 0).cast()), oids(pg_sys::list_nth(written, 1).cast())) };
        let (fixed, blocks) = numbers.split_first_chunk::<FIXED_INTEGERS>()?;
        let &[is_ordered, is_strict, has_limit, has_radii, has_flips, sizes, only_column, rows, pages, expected, scope] =
            fixed;
        let (scope, indexes) = oids.split_at_checked(3 * scope as usize)?;
        let scope =
            scope.chunks_exact(3).map(|key| ScopeKey { function: key[0], value_type: key[1], collation: key[2] });
        let mut layouts: Vec<Layout> = Vec::new();
        for (numbers, &index) in blocks.chunks_exact(INTEGERS_PER_INDEX).zip(indexes) {
            let &[block, blocks, fingerprint, has_size, is_partial] = numbers else { return None };
            let fingerprint = (fingerprint != 0).then_some(fingerprint as i16);
            let (has_size, is_partial) = (has_size != 0, is_partial != 0);
            let found = IndexedBlock { block, blocks, index, fingerprint, has_size, is_partial };
            match layouts.last_mut().filter(|layout| layout.iter().all(|other| other.blocks == blocks)) {
                Some(layout) => layout.push(found),
                None => layouts.push(vec![found]),
            }
        }
        Some(Self {
            is_ordered: is_ordered != 0,
            only_column: (only_column != 0).then_some(only_column as i16),
            has_limit: has_limit != 0,
            has_radii: has_radii != 0,
            has_flips: has_flips != 0,
            has_exact_sizes: (sizes != 0).then_some(sizes == 2),
            is_strict: is_strict != 0,
            rows: rows.into(),
            pages: pages.into(),
            expected: (expected != 0).then_some(expected.into()),
            scope: scope.collect(),
            layouts,
        })
    }
}

fn append(list: *mut pg_sys::List, element: *mut c_void) -> *mut pg_sys::List {
    // SAFETY: the list was made here, and the element is a valid node.
    unsafe { pg_sys::lappend(list, element) }
}
