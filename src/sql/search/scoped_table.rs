//! Searches within a scope: the columns before the block or the band in an index, such as a tenant's number, equal
//! values of the query. A search uses indexes of the same scope together.

use std::collections::BTreeSet;

use pgrx::pg_sys::{self, Oid};
use postgres::expression::Expression;
use postgres::planner::base_relation::{BaseRelation, Equality, Outer};

use super::custom_scan::{self, path_lists};
use super::plan::{Role, ScopeKey, Search, Settings};

/// A table that is searched within one scope.
pub struct ScopedTable {
    pub relation: BaseRelation,
    equalities: Vec<Equality>,
    /// The other relations that the search and its scope refer to.
    pub outer: Outer,
    /// The number of rows within the scope.
    pub rows: f64,
}

impl ScopedTable {
    /// The table once for each scope that the query has values for, with the indexes of this scope. For example, some
    /// indexes begin with the tenant, and others do not: then a query with `tenant = 5` gives the table twice, and one
    /// without a condition on the tenant once.
    ///
    /// The search refers to the relations `outer`. `of_index` returns the OID of an index and the columns of its scope.
    pub fn all_of<I>(
        relation: BaseRelation,
        outer: Outer,
        indexes: &[I],
        of_index: impl Fn(&I) -> (Oid, &[i16]),
    ) -> Vec<(Self, Vec<&I>)> {
        let scopes: BTreeSet<_> = indexes.iter().map(|index| of_index(index).1).collect();
        let mut tables = Vec::new();
        for columns in scopes {
            let column_equalities: Vec<_> = columns.iter().map(|&column| relation.equalities(column)).collect();
            let scope_indexes = || indexes.iter().filter(|index| of_index(index).1 == columns);
            let find_equality = |index: &I, position: usize| {
                let equalities = column_equalities[position].iter();
                let looked_up = equalities.filter(|equality| relation.looks_up(of_index(index).0, position, equality));
                // Prefer a value that refers to no further relation.
                looked_up.min_by_key(|equality| !equality.outer.is_within(outer)).copied()
            };
            let find_equalities =
                |index| (0..columns.len()).map(|position| find_equality(index, position)).collect::<Option<Vec<_>>>();
            let Some(equalities) = scope_indexes().find_map(find_equalities) else { continue };
            // The scan looks up the same values in all indexes.
            let looks_up = |index: &&I| {
                let mut equalities = equalities.iter().enumerate();
                equalities.all(|(position, equality)| relation.looks_up(of_index(index).0, position, equality))
            };
            let usable = scope_indexes().filter(looks_up).collect();
            let outer = equalities.iter().fold(outer, |outer, equality| outer.with(equality.outer));
            let rows = (relation.rows() * equalities.iter().map(|equality| equality.share).product::<f64>()).max(1.0);
            tables.push((Self { relation, equalities, outer, rows }, usable));
        }
        tables
    }

    /// Offers a path with these costs, to which the startup cost of the conditions is added. `is_ordered` says whether
    /// it has the order of the query's first sort key.
    pub fn offer(
        &self,
        [before_first_row, total]: [f64; 2],
        is_ordered: bool,
        expressions: impl IntoIterator<Item = (Role, Expression)>,
        search: Search,
    ) {
        let scope_key = |equality: &Equality| {
            let (function, value_type, collation) = equality.key();
            ScopeKey { function, value_type, collation }
        };
        let scope = self.equalities.iter().map(|equality| (Role::Scope, equality.comparison.value));
        let (roles, expressions): (Vec<_>, Vec<_>) = expressions.into_iter().chain(scope).unzip();
        let settings = Settings { roles, scope: self.equalities.iter().map(scope_key).collect(), search };
        let startup = self.relation.condition_cost().startup;
        let costs = [before_first_row, total].map(|cost| startup + cost);
        // SAFETY: the list is made here, and the expressions are valid.
        let append = |list, expression: &Expression| unsafe { pg_sys::lappend(list, expression.as_ptr().cast()) };
        let lists = path_lists(expressions.iter().fold(std::ptr::null_mut(), append), settings.to_list());
        // SAFETY: the node's methods make a plan of these lists.
        unsafe { self.relation.offer(self.outer, is_ordered, costs, lists, custom_scan::PATH_METHODS) };
    }

    /// The cost of looking up values in indexes of `pages` pages, in the planner's units: of the descents, and of
    /// reading `leaves` of the pages and `entries` entries.
    pub fn look_up_cost(&self, descents: f64, leaves: f64, pages: f64, entries: f64) -> f64 {
        let (random_page_cost, _) = self.relation.page_costs();
        let leaves = self.relation.pages_fetched(leaves.min(pages), pages, self.outer);
        // Charge a descent as PostgreSQL does (btcostestimate in selfuncs.c): for comparisons, and for each page.
        // SAFETY: the settings are plain numbers.
        let (operator_cost, entry_cost) = unsafe { (pg_sys::cpu_operator_cost, pg_sys::cpu_index_tuple_cost) };
        let descent_cost = operator_cost * (self.rows.log2().ceil().max(0.0) + PAGES_OF_DESCENT * PAGE_OPERATORS);
        descents * descent_cost + leaves * random_page_cost + entries * (entry_cost + operator_cost)
    }

    /// The cost of fetching and returning rows, which are on `pages` pages.
    pub fn fetch_cost(&self, rows: f64, pages: f64) -> f64 {
        let (random_page_cost, _) = self.relation.page_costs();
        let pages = self.relation.pages_fetched(pages, self.relation.pages(), self.outer);
        // SAFETY: the setting is a plain number.
        let row_cost = unsafe { pg_sys::cpu_tuple_cost } + self.relation.condition_cost().per_tuple;
        pages * random_page_cost + rows * row_cost
    }
}

/// The number of pages that a descent reads in a btree of a million entries, from the root to the leaf.
const PAGES_OF_DESCENT: f64 = 3.0;
/// DEFAULT_PAGE_CPU_MULTIPLIER in PostgreSQL's selfuncs.c.
const PAGE_OPERATORS: f64 = 50.0;
