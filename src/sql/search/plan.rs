//! The parts of a search's plan, as lists of nodes that PostgreSQL can copy and send to parallel workers.

use std::ffi::{CStr, c_void};

use pgrx::pg_sys::{self, AsPgCStr, Oid};
use postgres::expression::Expression;
use serde::{Deserialize, Serialize};

use super::condition::{Limit, largest_distance};
use crate::sql::indexed::layouts::Layout;

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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Whether rows are returned in the order of their distances.
    pub is_ordered: bool,
    /// The attnum of the fingerprint, if the query needs no other column and the indexes have it.
    pub only_column: Option<i16>,
    pub has_limit: bool,
    pub has_radii: bool,
    /// Whether the limit has flips, which come with radii.
    pub has_flips: bool,
    /// Whether the limit has sizes, and these are not rounded; None without sizes.
    pub has_exact_sizes: Option<bool>,
    /// Whether the distance must be less than the limit.
    pub is_strict: bool,
    /// The planner's estimate of the number of rows in the table, or within the scope.
    pub rows: f64,
    pub pages: f64,
    /// The number of rows that the query is expected to read; None if that is not known.
    pub expected: Option<f64>,
    pub scope: Vec<ScopeKey>,
    pub layouts: Vec<Layout>,
}

/// How a column before the block is compared with a value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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

    /// The settings as a list of one string, in JSON.
    pub fn to_list(&self) -> *mut pg_sys::List {
        let json = serde_json::to_string(self).unwrap_or_default();
        // SAFETY: the string and the list are made here.
        unsafe { append(std::ptr::null_mut(), pg_sys::makeString(json.as_pg_cstr()).cast()) }
    }

    /// Reads a list that [`Settings::to_list`] has made; None if it is invalid.
    ///
    /// # Safety
    /// The list was made by `to_list`, or is a copy of such a list.
    pub unsafe fn from_list(written: *mut pg_sys::List) -> Option<Self> {
        // SAFETY: the list has a string, which is NUL-terminated.
        let json = unsafe { CStr::from_ptr((*pg_sys::list_nth(written, 0).cast::<pg_sys::String>()).sval) };
        serde_json::from_slice(json.to_bytes()).ok()
    }
}

fn append(list: *mut pg_sys::List, element: *mut c_void) -> *mut pg_sys::List {
    // SAFETY: the list was made here, and the element is a valid node.
    unsafe { pg_sys::lappend(list, element) }
}
