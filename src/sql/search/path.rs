//! Offers the scan of block indexes to the planner, as a path that finds near rows or returns rows nearest first.
//!
//! The planner has assigned each condition to a relation before it asks for the paths of that relation. So a column of
//! another relation or query cannot be mistaken for a column of the table.

use std::cell::Cell;
use std::collections::BTreeSet;

use pgrx::guc::{GucContext, GucFlags, GucRegistry, GucSetting};
use pgrx::prelude::*;
use postgres::catalog::column::RowValue;
use postgres::catalog::relation::Relation;
use postgres::expression::Expression;
use postgres::planner::base_relation::{BaseRelation, Equality, Outer};
use postgres::planner::semi_join::on_semi_joins;
use simhash::distance::share_within;
use simhash::fingerprint::resemblance::COPY;
use simhash::fingerprint::size::expected_share;
use simhash::search::blocks::DEFAULT_BLOCKS;
use simhash::search::growth::Growth;
use simhash::search::nearness::Nearness;

use super::condition::{Limit, SearchCondition, exceeded_distance, fingerprint_sides, is_near_condition};
use super::custom_scan::{self, path_lists};
use super::distance::fingerprints_of_distance;
use super::nearest::largest_capacity;
use super::other_options::warn_of_other_options;
use super::plan::{Role, ScopeKey, Settings};
use crate::sql::indexed::layouts::{
    IndexedBlock, Layout, ScopedBlock, block_indexes, indexed_blocks, layouts_of, share_read,
};

static IS_ENABLED: GucSetting<bool> = GucSetting::<bool>::new(true);

thread_local! {
    static PREVIOUS_HOOK: Cell<pg_sys::set_rel_pathlist_hook_type> = const { Cell::new(None) };
}

/// Defines the setting, registers the scan, and sets the hooks. Called once, when the library is loaded.
pub fn initialise() {
    GucRegistry::define_bool_guc(
        c"pg_simhash.enable_scan",
        c"Enables the planner's use of scans of block indexes.",
        c"Without them, conditions on the distance of fingerprints are filters.",
        &IS_ENABLED,
        GucContext::Userset,
        GucFlags::EXPLAIN,
    );
    custom_scan::register();
    // SAFETY: the library is loaded by one thread, and is never unloaded.
    unsafe {
        pg_sys::MarkGUCPrefixReserved(c"pg_simhash".as_ptr());
        PREVIOUS_HOOK.set(pg_sys::set_rel_pathlist_hook);
        pg_sys::set_rel_pathlist_hook = Some(offer_scans);
    }
    // In a semi-join or anti-join, as of EXISTS and NOT EXISTS, PostgreSQL expects a hash join to find a match at once,
    // so that it would prefer one that compares all rows of a tenant with each other to a search for each row.
    on_semi_joins(|join| {
        if join.conditions().into_iter().any(|condition| is_near_condition(condition.expression)) {
            join.charge_hash_joins();
        }
    });
}

#[pg_guard]
unsafe extern "C-unwind" fn offer_scans(
    root: *mut pg_sys::PlannerInfo,
    relation: *mut pg_sys::RelOptInfo,
    number: pg_sys::Index,
    entry: *mut pg_sys::RangeTblEntry,
) {
    // SAFETY: the planner passes what the hook is documented to get.
    unsafe {
        if let Some(previous) = PREVIOUS_HOOK.get() {
            pgrx::pg_sys::ffi::pg_guard_ffi_boundary(|| previous(root, relation, number, entry));
        }
        if let Some(relation) = BaseRelation::new(root, relation, entry) {
            let conditions = SearchCondition::all_of(relation);
            let is_offered = IS_ENABLED.get() && relation.is_table();
            #[cfg(feature = "pg19")]
            let is_offered = is_offered && !relation.has_chosen_scan();
            if is_offered {
                offer(relation, &conditions);
            }
            estimate(relation, &conditions);
        }
    }
}

fn offer(relation: BaseRelation, conditions: &[SearchCondition]) {
    let order = relation.orders().into_iter().find_map(|order| ByDistance::read(relation, order, conditions));
    if conditions.is_empty() && order.is_none() {
        return;
    }
    let compared = conditions.iter().map(|condition| (condition.fingerprint, condition.query));
    warn_of_other_options(relation, compared.chain(order.iter().map(|order| (order.fingerprint, order.query))));
    let mut indexes = Indexes { relation, known: Vec::new() };
    for condition in conditions {
        for table in indexes.tables(condition.fingerprint, condition.outer) {
            table.offer_near(condition);
        }
    }
    if let Some(order) = &order {
        let tables = indexes.tables(order.fingerprint, Outer::NONE).into_iter();
        for table in tables.filter(|table| table.outer.is_empty()) {
            table.offer_nearest(order);
        }
    }
}

/// Corrects the planner's estimates of rows. The planner's default is that a third of the rows fulfils a condition with
/// `<=`.
fn estimate(relation: BaseRelation, conditions: &[SearchCondition]) {
    let mut shares = Vec::new();
    for SearchCondition { condition, fingerprint, query, estimate, .. } in
        conditions.iter().filter(|condition| !condition.is_estimated)
    {
        let rows = relation.planner().most_rows([*fingerprint, *query]);
        relation.set_share(condition, estimate.share(rows), estimate.share_with_near_row(rows));
        shares.push((*condition, estimate.share(rows)));
    }
    if shares.is_empty() {
        return;
    }
    for condition in relation.conditions() {
        if let Some((distance, exceeded)) = exceeded_distance(condition.expression) {
            let share = relation.planner().share_not_null(distance) * (1.0 - share_within(exceeded));
            relation.set_share(&condition, share, share);
            shares.push((condition, share));
        }
    }
    relation.estimate_rows(&shares);
}

struct ByDistance {
    fingerprint: Expression,
    query: Expression,
    limit: Option<SearchCondition>,
}

impl ByDistance {
    /// Reads an order; None unless it is by the distance from a query that refers to no relation.
    fn read(relation: BaseRelation, order: Expression, conditions: &[SearchCondition]) -> Option<Self> {
        if !relation.may_see_hidden_rows(order) {
            return None;
        }
        let fingerprints = fingerprints_of_distance(order)?;
        let (fingerprint, query) = fingerprint_sides(relation, fingerprints)
            .find(|(_, query)| relation.outer([*query]).is_some_and(Outer::is_empty))?;
        let same = |condition: &&SearchCondition| {
            condition.outer.is_empty() && condition.fingerprint.equals(fingerprint) && condition.query.equals(query)
        };
        // The condition with the smallest expected distance is the cheapest to search for.
        let expected = |condition: &&SearchCondition| condition.limit.expected(DEFAULT_BLOCKS).max_distance();
        let limit = conditions.iter().filter(same).min_by_key(expected).copied();
        Some(Self { fingerprint, query, limit })
    }
}

/// The indexed blocks of each fingerprint in the query.
struct Indexes {
    relation: BaseRelation,
    /// The fingerprints whose blocks have been read.
    known: Vec<(Expression, Vec<ScopedBlock>)>,
}

/// A table with indexed layouts that a search can use together, within one scope.
struct IndexedTable {
    relation: BaseRelation,
    layouts: Vec<Layout>,
    scope: Vec<Equality>,
    /// The other relations that the search and its scope refer to.
    outer: Outer,
    rows: f64,
}

impl Indexes {
    /// The table with the layouts of a fingerprint, for a search that refers to the relations `outer`. It is listed
    /// once for each scope that the query has values for.
    fn tables(&mut self, fingerprint: Expression, outer: Outer) -> Vec<IndexedTable> {
        let relation = self.relation;
        let indexed = self.blocks(fingerprint);
        let scopes: BTreeSet<_> = indexed.iter().map(|scoped| &scoped.scope).collect();
        let mut tables = Vec::new();
        for columns in scopes {
            let equalities: Vec<_> = columns.iter().map(|&column| relation.equalities(column)).collect();
            let blocks = || indexed.iter().filter(|scoped| scoped.scope == *columns).map(|scoped| scoped.block);
            let value = |block: IndexedBlock, position: usize| {
                let of_column = equalities[position].iter();
                let looked_up = of_column.filter(|equality| relation.looks_up(block.index, position, equality));
                // Prefer a value that refers to no further relation.
                looked_up.min_by_key(|equality| !equality.outer.is_within(outer)).copied()
            };
            let values = |block| (0..columns.len()).map(|position| value(block, position)).collect::<Option<Vec<_>>>();
            let Some(scope) = blocks().find_map(values) else { continue };
            // The scan looks up the same values in all indexes.
            let looks_up = |block: &IndexedBlock| {
                scope.iter().enumerate().all(|(position, value)| relation.looks_up(block.index, position, value))
            };
            let blocks: Vec<_> = blocks().filter(looks_up).collect();
            let outer = scope.iter().fold(outer, |outer, equality| outer.with(equality.outer));
            let rows = (relation.rows() * scope.iter().map(|equality| equality.share).product::<f64>()).max(1.0);
            tables.push(IndexedTable { relation, layouts: layouts_of(blocks.iter()), scope, outer, rows });
        }
        tables
    }

    /// The indexed blocks of a fingerprint.
    fn blocks(&mut self, fingerprint: Expression) -> &[ScopedBlock] {
        let mut known = self.known.iter();
        let index = known.position(|(known, _)| known.equals(fingerprint)).unwrap_or_else(|| {
            let of = match fingerprint.as_own_column().filter(|&column| column > 0) {
                Some(column) => RowValue::Column(column),
                None => RowValue::Expression(fingerprint.with_varno(self.relation.relid(), 1)),
            };
            let indexes = self.relation.indexes().into_iter().map(Relation::open_locked);
            let table = Relation::open_locked(self.relation.table());
            self.known.push((fingerprint, indexed_blocks(&table, indexes, of)));
            self.known.len() - 1
        });
        &self.known[index].1
    }
}

impl IndexedTable {
    /// Offers the path that finds near rows; None if the layouts do not serve the distance.
    fn offer_near(&self, condition: &SearchCondition) -> Option<()> {
        let &SearchCondition { fingerprint, query, limit, estimate, .. } = condition;
        let found = self.rows * estimate.share(self.rows);
        let cost = self.search_cost(self.expected(limit), self.share_read(limit))?;
        self.offer(0.0, cost + self.fetch_cost(found), [fingerprint, query], Some(limit), false);
        Some(())
    }

    /// Offers the path that returns rows nearest first; None if the layouts do not serve the distance.
    fn offer_nearest(&self, order: &ByDistance) -> Option<()> {
        let full_scan = self.full_scan_cost();
        // The cost of the full scans after the first one: each finds as many rows as can be stored.
        let full_scans = |rows: f64| full_scan * (rows / largest_capacity() as f64).floor();
        let (growth, rest) = match order.limit {
            Some(SearchCondition { limit, estimate, .. }) => {
                let (near, found) = (self.expected(limit), self.rows * estimate.share(self.rows));
                let growth = self.search_cost(near, self.share_read(limit))?;
                (growth, full_scans(self.rows * share_within(near.max_distance())) + self.fetch_cost(found))
            }
            None => {
                // Expect the nearest row at the smallest distance at which one row is near by chance.
                let nearest = (0..64).find(|&distance| self.rows * share_within(distance) >= 1.0);
                let growth = nearest.and_then(|nearest| self.search_cost(Nearness::within(nearest), 1.0));
                let growth = growth.map_or(full_scan, |cost| cost.min(full_scan));
                (growth, full_scan + full_scans(self.rows) + self.fetch_cost(self.rows))
            }
        };
        let limit = order.limit.map(|condition| condition.limit);
        self.offer(growth, growth + rest, [order.fingerprint, order.query], limit, true);
        Some(())
    }

    /// Offers a path with these costs, beside that of evaluating the conditions once.
    fn offer(
        &self,
        before_first_row: f64,
        total: f64,
        [fingerprint, query]: [Expression; 2],
        limit: Option<Limit>,
        is_ordered: bool,
    ) {
        let Self { relation, outer, rows, .. } = *self;
        let key = |equality: &Equality| {
            let (function, value_type, collation) = equality.key();
            ScopeKey { function, value_type, collation }
        };
        let has_sizes = self.layouts.iter().flatten().any(|found| found.has_size);
        let limit = limit.map(|limit| Limit { sizes: limit.sizes.filter(|_| has_sizes), ..limit });
        let limits = limit.into_iter().flat_map(Limit::expressions);
        let scope = self.scope.iter().map(|equality| (Role::Scope, equality.comparison.value));
        let expressions =
            [(Role::Fingerprint, fingerprint), (Role::Query, query)].into_iter().chain(limits).chain(scope);
        let (roles, expressions): (Vec<_>, Vec<_>) = expressions.unzip();
        let settings = Settings {
            is_ordered,
            roles,
            has_exact_sizes: limit.and_then(|limit| limit.sizes).is_some_and(|sizes| sizes.is_exact),
            rows,
            pages: relation.pages(),
            scope: self.scope.iter().map(key).collect(),
            layouts: self.layouts.clone(),
        };
        let (startup, _) = relation.condition_costs();
        let costs = [before_first_row, total].map(|cost| startup + cost);
        // SAFETY: the list is made here, and the expressions are valid.
        let append = |list, expression: &Expression| unsafe { pg_sys::lappend(list, expression.as_ptr().cast()) };
        let lists = path_lists(expressions.iter().fold(std::ptr::null_mut(), append), settings.to_list());
        // SAFETY: the node's methods make a plan of these lists.
        unsafe { relation.offer(outer, is_ordered, costs, lists, custom_scan::PATH_METHODS) };
    }

    /// The nearness for cost estimates. Radii that are not known are taken to be those of the layout with the number of
    /// blocks that is nearest to [`DEFAULT_BLOCKS`].
    fn expected(&self, limit: Limit) -> Nearness {
        let blocks = self.layouts.iter().flatten().map(|found| found.blocks);
        limit.expected(blocks.min_by_key(|blocks| blocks.abs_diff(DEFAULT_BLOCKS)).unwrap_or(DEFAULT_BLOCKS))
    }

    /// The share of the entries of near rows' blocks that a search reads, by their sizes.
    fn share_read(&self, limit: Limit) -> f64 {
        share_read(&self.layouts, limit.sizes.map(|sizes| expected_share(sizes.resemblance.value().unwrap_or(COPY))))
    }

    /// The cost of finding everything near, in the planner's units; None if the layouts do not serve the search.
    /// `share` is the share of the entries that are read.
    fn search_cost(&self, near: Nearness, share: f64) -> Option<f64> {
        let growth = Growth::new(self.rows * share, block_indexes(&self.layouts), near);
        let total = growth.total(near.max_distance())?;
        let (random, _) = self.relation.page_costs();
        let pages: f64 = self.index_pages().sum();
        let leaves = self.relation.pages_fetched(total.probes.min(pages), pages, self.outer);
        // Charge a descent as PostgreSQL does (btcostestimate in selfuncs.c): for comparisons, and for each page.
        // SAFETY: the settings are plain numbers.
        let (operator, entry) = unsafe { (pg_sys::cpu_operator_cost, pg_sys::cpu_index_tuple_cost) };
        let descent = operator * (self.rows.log2().ceil().max(0.0) + PAGES_OF_DESCENT * PAGE_OPERATORS);
        let entries = total.entries.min(self.rows);
        let cost = total.probes * descent + leaves * random + entries * (entry + operator);
        Some(cost.min(self.full_scan_cost()))
    }

    /// The cost of reading all entries of one index.
    fn full_scan_cost(&self) -> f64 {
        let (_, sequential) = self.relation.page_costs();
        let share = self.rows / self.relation.rows();
        let pages = share * self.index_pages().fold(f64::INFINITY, f64::min);
        // SAFETY: the settings are plain numbers.
        let entry = unsafe { pg_sys::cpu_operator_cost + pg_sys::cpu_index_tuple_cost };
        pages * sequential + self.rows * entry
    }

    /// The cost of fetching and returning rows.
    fn fetch_cost(&self, rows: f64) -> f64 {
        let (random, _) = self.relation.page_costs();
        let pages = self.relation.pages_fetched(rows, self.relation.pages(), self.outer);
        // SAFETY: the setting is a plain number.
        let row = unsafe { pg_sys::cpu_tuple_cost } + self.relation.condition_costs().1;
        pages * random + rows * row
    }

    fn index_pages(&self) -> impl Iterator<Item = f64> {
        self.layouts.iter().flatten().filter_map(|found| self.relation.index_pages(found.index))
    }
}

/// The number of pages that a descent reads in a btree of a million entries, from the root to the leaf.
const PAGES_OF_DESCENT: f64 = 3.0;
/// DEFAULT_PAGE_CPU_MULTIPLIER in PostgreSQL's selfuncs.c.
const PAGE_OPERATORS: f64 = 50.0;
