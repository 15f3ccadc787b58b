//! Searches within a scope: the query has values for the columns before the block or the band in an index, such as a
//! tenant's number. A search uses indexes of the same scope together.

use std::collections::BTreeSet;

use pgrx::pg_sys::{self, Oid, QualCost};
use postgres::expression::Expression;
use postgres::planner::base_relation::{BaseRelation, Costs, Equality, Outer};

use super::custom_scan::{self, path_lists};
use super::plan::{Role, ScopeKey, Search, Settings};

/// The number of pages that a descent reads, from the root to the leaf: the depth for a million entries.
const PAGES_OF_DESCENT: f64 = 3.0;
/// The operator calls that a page costs: DEFAULT_PAGE_CPU_MULTIPLIER in PostgreSQL's selfuncs.c.
const OPERATORS_PER_PAGE: f64 = 50.0;

/// A table that is searched within one scope.
pub struct ScopedTable {
    pub relation: BaseRelation,
    equalities: Vec<Equality>,
    /// The other relations that the search and its scope refer to.
    pub outer: Outer,
    /// The number of rows within the scope.
    pub rows: f64,
    /// The cost of the conditions of a path, including the conditions of a join with `outer`.
    condition_cost: QualCost,
}

impl ScopedTable {
    /// The table once for each scope that the query has values for, with the indexes of this scope. For example, some
    /// indexes begin with the tenant, and others do not: then a query with `tenant = 5` gives the table twice, and one
    /// without a condition on the tenant once. The search refers to the relations `outer`. `read` returns the OID
    /// of an index and its scope.
    pub fn by_scope<I>(
        relation: BaseRelation,
        outer: Outer,
        indexes: &[I],
        read: fn(&I) -> (Oid, &[i16]),
    ) -> Vec<(Self, Vec<&I>)> {
        let scopes: BTreeSet<_> = indexes.iter().map(|index| read(index).1).collect();
        scopes.into_iter().filter_map(|columns| Self::within(columns, relation, outer, indexes, read)).collect()
    }

    /// The table within the scope of these columns, with the indexes that can look up its values; None if the query
    /// lacks one of the values.
    fn within<'i, I>(
        columns: &[i16],
        relation: BaseRelation,
        outer: Outer,
        indexes: &'i [I],
        read: fn(&I) -> (Oid, &[i16]),
    ) -> Option<(Self, Vec<&'i I>)> {
        let conditions: Vec<_> = columns.iter().map(|&column| relation.equalities(column)).collect();
        let scope_indexes = || indexes.iter().filter(|index| read(index).1 == columns);
        let equalities = scope_indexes().find_map(|index| scope_values(&conditions, relation, outer, read(index).0))?;
        // The scan looks up the same values in all indexes.
        let serves = |index: &&I| {
            let mut equalities = equalities.iter().enumerate();
            equalities.all(|(position, equality)| relation.can_look_up(read(index).0, position, equality))
        };
        let usable = scope_indexes().filter(serves).collect();
        let outer = equalities.iter().fold(outer, |outer, equality| outer.with(equality.outer));
        let rows = (relation.rows() * equalities.iter().map(|equality| equality.share).product::<f64>()).max(1.0);
        let condition_cost = relation.condition_cost(outer);
        Some((Self { relation, equalities, outer, rows, condition_cost }, usable))
    }

    /// Offers a path with these costs, to which the startup cost of the conditions is added. `is_ordered` says whether
    /// it has the order of the query's first sort key.
    pub fn offer(
        &self,
        costs: Costs,
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
        let conditions_startup = self.condition_cost.startup;
        let costs = Costs { startup: conditions_startup + costs.startup, total: conditions_startup + costs.total };
        // SAFETY: the list is made here, and the expressions are valid.
        let append = |list, expression: &Expression| unsafe { pg_sys::lappend(list, expression.as_ptr().cast()) };
        let expressions = expressions.iter().fold(std::ptr::null_mut(), append);
        let lists = path_lists(expressions, settings.to_list());
        // SAFETY: the node's methods make a plan of these lists, which evaluates these expressions.
        unsafe { self.relation.offer(self.outer, is_ordered, costs, expressions, lists, custom_scan::PATH_METHODS) };
    }

    /// The cost of looking up values in indexes of `pages` pages, in the planner's units: of the descents, and of
    /// reading `leaves` of the pages and `entries` entries.
    pub fn look_up_cost(&self, descents: f64, leaves: f64, pages: f64, entries: f64) -> f64 {
        let (random_page_cost, _) = self.relation.page_costs();
        let fetched_leaves = self.relation.pages_fetched(leaves.min(pages), pages, self.outer);
        // btcostestimate in selfuncs.c does the same: charge a descent for the comparisons in an index of all rows, and
        // for each page. SAFETY: the settings are plain numbers.
        let (operator_cost, entry_cost) = unsafe { (pg_sys::cpu_operator_cost, pg_sys::cpu_index_tuple_cost) };
        let descent_cost = operator_cost * (self.relation.rows().log2().ceil() + PAGES_OF_DESCENT * OPERATORS_PER_PAGE);
        descents * descent_cost + fetched_leaves * random_page_cost + entries * (entry_cost + operator_cost)
    }

    /// The cost of fetching and returning rows, which are on `pages` pages.
    pub fn fetch_cost(&self, rows: f64, pages: f64) -> f64 {
        let (random_page_cost, _) = self.relation.page_costs();
        let fetched_pages = self.relation.pages_fetched(pages, self.relation.pages(), self.outer);
        // SAFETY: the setting is a plain number.
        let row_cost = unsafe { pg_sys::cpu_tuple_cost } + self.condition_cost.per_tuple;
        fetched_pages * random_page_cost + rows * row_cost
    }
}

/// For each column of a scope, one of the query's conditions with a value that the index can look up; None if a column
/// has no such condition.
fn scope_values(
    conditions: &[Vec<Equality>],
    relation: BaseRelation,
    outer: Outer,
    index: Oid,
) -> Option<Vec<Equality>> {
    let choose = |(position, equalities): (usize, &Vec<Equality>)| {
        let usable = equalities.iter().filter(|equality| relation.can_look_up(index, position, equality));
        // Prefer a value that refers to no further relation.
        usable.min_by_key(|equality| !equality.outer.is_within(outer)).copied()
    };
    conditions.iter().enumerate().map(choose).collect()
}
