//! The parts of a search's plan, as lists of nodes that PostgreSQL can copy and send to parallel workers.

use std::ffi::CStr;

use pgrx::pg_sys::{self, AsPgCStr, Oid};
use postgres::expression::Expression;
use serde::{Deserialize, Serialize};

use crate::sql::indexed::layouts::Layout;
use crate::sql::lookup::band_indexes::BandIndex;

/// The role of an expression in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// The fingerprint of a row, as an expression of the table's columns.
    Fingerprint,
    /// The query: a fingerprint or a text.
    Query,
    /// The largest distance, an integer of any type. Without it, all rows are found.
    MaxDistance,
    /// The criterion of near texts, a constant.
    Criterion,
    /// The value of a column before the block or the band in the indexes.
    Scope,
}

/// The properties of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The role of each expression of the plan.
    pub roles: Vec<Role>,
    pub scope: Vec<ScopeKey>,
    pub search: Search,
}

/// The kind of a search, and its indexes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Search {
    Distance(DistanceSettings),
    /// A search for near texts.
    Bands {
        /// The indexes on the bands of the criterion, in the order of the bands.
        indexes: Vec<Oid>,
        /// Whether the indexes are on bands by the option `same`.
        has_same: bool,
    },
}

/// The properties of a search by distance: for rows within a distance of a query, for the nearest rows first, or both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DistanceSettings {
    /// Whether rows are returned in the order of their distances.
    pub is_ordered: bool,
    /// The planner's estimate of the number of rows in the table, or within the scope.
    pub rows: f64,
    /// The pages of the table when it was planned. A search scales `rows` by their growth.
    pub pages: f64,
    /// The layouts that are searched together.
    pub layouts: Vec<Layout>,
}

/// How a column before the block or the band is compared with a value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScopeKey {
    /// The function of the equality operator.
    pub function: Oid,
    pub value_type: Oid,
    pub collation: Oid,
}

impl Settings {
    /// The searched indexes, each with its attnum of the fingerprint. The indexes of a layout are adjacent.
    pub fn indexes(&self) -> Vec<(Oid, i16)> {
        match &self.search {
            Search::Distance(DistanceSettings { layouts, .. }) => {
                layouts.iter().flatten().map(|indexed| (indexed.index, indexed.fingerprint_attnum)).collect()
            }
            Search::Bands { indexes, .. } => {
                let fingerprint_attnum = BandIndex::fingerprint_attnum(self.scope.len());
                indexes.iter().map(|&index| (index, fingerprint_attnum)).collect()
            }
        }
    }

    /// The expressions of the plan that have this role.
    pub fn of_role(&self, expressions: &[Expression], role: Role) -> impl Iterator<Item = Expression> {
        let all = self.roles.iter().zip(expressions);
        all.filter(move |(own, _)| **own == role).map(|(_, expression)| *expression)
    }

    /// The settings as a list of one string, in JSON.
    pub fn to_list(&self) -> *mut pg_sys::List {
        let json = serde_json::to_string(self).expect("settings can be written as JSON");
        // SAFETY: the string and the list are made here.
        unsafe { pg_sys::lappend(std::ptr::null_mut(), pg_sys::makeString(json.as_pg_cstr()).cast()) }
    }

    /// Reads the settings; None if another version of the library has made the list.
    ///
    /// # Safety
    /// The list was made by `to_list`, or is a copy of such a list.
    pub unsafe fn from_list(list: *mut pg_sys::List) -> Option<Self> {
        // SAFETY: the list has a string, which is NUL-terminated.
        let json = unsafe { CStr::from_ptr((*pg_sys::list_nth(list, 0).cast::<pg_sys::String>()).sval) };
        serde_json::from_slice(json.to_bytes()).ok()
    }
}
