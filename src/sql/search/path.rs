//! Offers the scan of block indexes to the planner, as a way to find near rows and to read rows nearest first.
//!
//! PostgreSQL has attached each condition to the table that it belongs to when it asks for ways to scan that table. So
//! no column of another query can be taken for a column of the table.

use std::cell::Cell;

use pgrx::guc::{GucContext, GucFlags, GucRegistry, GucSetting};
use pgrx::pg_sys;
use pgrx::prelude::*;
use simhash::search::growth::Growth;

use super::USUAL_DISTANCE;
use super::condition::{Distance, Limit};
use super::near::near_share;
use super::plan::{ScopeKey, Search, Settings};
use super::scan::NearScan;
use super::wanted::{Wanted, cheapest};
use crate::postgres::catalog::relation::Relation;
use crate::postgres::custom_scan::Methods;
use crate::postgres::nodes::base_relation::{BaseRelation, Equality, Order, Outer, PathCost, UsableIndex};
use crate::postgres::nodes::expression::Expression;
use crate::sql::functions::ExtensionSchema;
use crate::sql::indexed::layouts::{Fingerprint, Layout, growing, indexed_blocks, layouts_of};

static IS_ENABLED: GucSetting<bool> = GucSetting::<bool>::new(true);

thread_local! {
    static PREVIOUS_HOOK: Cell<pg_sys::set_rel_pathlist_hook_type> = const { Cell::new(None) };
}

/// Defines the setting, makes the scan known, and sets the hook. Called once, when the library is loaded.
pub fn initialise() {
    GucRegistry::define_bool_guc(
        c"pg_simhash.enable_scan",
        c"Enables the planner's use of scans of block indexes.",
        c"Without them, conditions on the distance of fingerprints are filters.",
        &IS_ENABLED,
        GucContext::Userset,
        GucFlags::EXPLAIN,
    );
    Methods::<NearScan>::register();
    // SAFETY: the library is loaded by one thread, and is never unloaded.
    unsafe {
        PREVIOUS_HOOK.set(pg_sys::set_rel_pathlist_hook);
        pg_sys::set_rel_pathlist_hook = Some(offer_scans);
    }
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
        if IS_ENABLED.get()
            && let Some(relation) = BaseRelation::new(root, relation, entry)
        {
            offer(relation);
        }
    }
}

fn offer(relation: BaseRelation) {
    let wanted = Wanted::among(relation, &relation.conditions());
    let orders = relation.orders();
    let orders: Vec<_> = orders
        .into_iter()
        .filter(|order| relation.may_see_hidden_rows(order.expression))
        .filter_map(|order| {
            let Distance { fingerprints: [a, b], schema } = Distance::read(order.expression)?;
            let sides = [(a, b), (b, a)].into_iter();
            sides
                .filter(|&(fingerprint, _)| relation.owns(fingerprint) && !fingerprint.is_volatile())
                .filter(|&(_, query)| relation.outer([query]).is_some_and(Outer::is_empty))
                .map(|(fingerprint, query)| (order, fingerprint, query, schema))
                .next()
        })
        .collect();
    if wanted.is_empty() && orders.is_empty() {
        return;
    }
    let usable = relation.indexes();
    for wanted in &wanted {
        let tables = Table::read(relation, &usable, wanted.fingerprint, wanted.schema);
        let costs = tables.iter().map(|table| (table, table.near_cost(wanted)));
        if let Some((table, Some(cost))) = costs.min_by(|(_, a), (_, b)| cheaper(a, b)) {
            table.offer_near(wanted, cost);
        }
    }
    if let Some(&(order, fingerprint, query, schema)) = orders.first() {
        let same = |wanted: &&Wanted| {
            wanted.outer.is_empty() && wanted.fingerprint.equals(fingerprint) && wanted.query.equals(query)
        };
        let limit = cheapest(wanted.iter().filter(same).copied()).map(|wanted| wanted.limit);
        let tables = Table::read(relation, &usable, fingerprint, schema);
        let costs = tables.iter().map(|table| (table, table.nearest_cost(query, limit)));
        if let Some((table, Some(cost))) = costs.min_by(|(_, a), (_, b)| cheaper(a, b)) {
            table.offer_nearest(order, fingerprint, query, limit, cost);
        }
    }
}

/// Compares costs of which some may be unknown.
fn cheaper(a: &Option<PathCost>, b: &Option<PathCost>) -> std::cmp::Ordering {
    let total = |cost: &Option<PathCost>| cost.map_or(f64::INFINITY, |cost| cost.startup + cost.total);
    total(a).total_cmp(&total(b))
}

/// A table with the layouts that it has indexed, within one scope.
struct Table<'a> {
    relation: BaseRelation,
    usable: &'a [UsableIndex],
    layouts: Vec<Layout>,
    scope: Vec<Equality>,
    /// The number of the fingerprint's column, if it is one and all indexes have it.
    covered: Option<i16>,
    /// The number of rows within the scope.
    rows: f64,
}

impl<'a> Table<'a> {
    /// Reads what a table has indexed of a fingerprint, for each scope that the query has.
    fn read(
        relation: BaseRelation,
        usable: &'a [UsableIndex],
        fingerprint: Expression,
        schema: ExtensionSchema,
    ) -> Vec<Self> {
        let Some(table) = Relation::open_for_planning(relation.table()) else { return Vec::new() };
        let Some(simhash_block) = schema.simhash_block() else { return Vec::new() };
        let column = fingerprint.as_own_column().filter(|&column| column > 0);
        let of = match column {
            Some(column) => Fingerprint::Column(column),
            None => Fingerprint::Expression(fingerprint.moved(relation.number(), 1)),
        };
        let indexes: Vec<_> = usable.iter().map(|index| index.oid).collect();
        let found = indexed_blocks(&table, &indexes, of, simhash_block);
        let mut scopes: Vec<&Vec<i16>> = found.iter().map(|found| &found.scope).collect();
        scopes.sort();
        scopes.dedup();
        let within = |columns: &Vec<i16>| {
            let found = found.iter().filter(|found| found.scope == *columns);
            let index = found.clone().next()?.block.index;
            let equality = |(place, &column)| relation.equality(index, place, column);
            let scope: Vec<_> = columns.iter().enumerate().map(equality).collect::<Option<_>>()?;
            let layouts = layouts_of(found.map(|found| &found.block));
            let covers = layouts.iter().flatten().all(|found| found.fingerprint.is_some());
            let rows = (relation.rows() * scope.iter().map(|equality| equality.share).product::<f64>()).max(1.0);
            Some(Self { relation, usable, layouts, scope, covered: column.filter(|_| covers), rows })
        };
        scopes.into_iter().filter_map(within).collect()
    }

    fn near_cost(&self, wanted: &Wanted) -> Option<PathCost> {
        let distance = wanted.distance();
        let only = self.covered.filter(|&column| self.relation.needs_only(column, wanted.outer));
        let (startup, each) = self.relation.condition_costs();
        let found = self.rows * near_share(self.rows, distance);
        let total = self.search_cost(distance)? + found * (each + self.visit_cost(only.is_some()));
        Some(PathCost { startup, total: startup + total })
    }

    fn offer_near(&self, wanted: &Wanted, cost: PathCost) {
        let only = self.covered.filter(|&column| self.relation.needs_only(column, wanted.outer));
        let search = self.search(false, only, wanted.fingerprint, wanted.query, Some(wanted.limit));
        // SAFETY: the lists hold expressions, integers and OIDs, of which the node's methods make a plan.
        unsafe { self.relation.offer(wanted.outer, None, cost, search.to_list(), Methods::<NearScan>::PATH) };
    }

    fn nearest_cost(&self, query: Expression, limit: Option<Limit>) -> Option<PathCost> {
        let outer = self.relation.outer([query])?;
        let only = self.covered.filter(|&column| self.relation.needs_only(column, outer));
        let (startup, each) = self.relation.condition_costs();
        let visit = each + self.visit_cost(only.is_some());
        let (growth, rest) = match limit {
            Some(limit) => {
                let distance = limit.constant().unwrap_or(USUAL_DISTANCE);
                (self.search_cost(distance)?, self.rows * near_share(self.rows, distance) * visit)
            }
            None => {
                // The nearest row may be as far as chance puts it.
                let nearest = (0..64).find(|&distance| self.rows * near_share(self.rows, distance) >= 2.0);
                let pass = self.pass_cost();
                let growth = nearest.and_then(|nearest| self.search_cost(nearest)).map_or(pass, |cost| cost.min(pass));
                (growth, pass + self.rows * visit)
            }
        };
        Some(PathCost { startup: startup + growth, total: startup + growth + rest })
    }

    fn offer_nearest(
        &self,
        order: Order,
        fingerprint: Expression,
        query: Expression,
        limit: Option<Limit>,
        cost: PathCost,
    ) {
        let Some(outer) = self.relation.outer([query]) else { return };
        let only = self.covered.filter(|&column| self.relation.needs_only(column, outer));
        let search = self.search(true, only, fingerprint, query, limit);
        // SAFETY: the lists hold expressions, integers and OIDs, of which the node's methods make a plan.
        unsafe { self.relation.offer(outer, Some(order), cost, search.to_list(), Methods::<NearScan>::PATH) };
    }

    fn search(
        &self,
        is_ordered: bool,
        only_column: Option<i16>,
        fingerprint: Expression,
        query: Expression,
        limit: Option<Limit>,
    ) -> Search {
        let key = |equality: &Equality| {
            let Equality { function, right_type, collation, .. } = *equality;
            ScopeKey { function, value_type: right_type, collation }
        };
        let scope = self.scope.iter().map(key).collect();
        let settings = Settings::new(is_ordered, only_column, self.rows, scope, self.layouts.clone());
        let values = self.scope.iter().map(|equality| equality.value).collect();
        Search::new(fingerprint, query, limit, values, settings)
    }

    /// The cost of finding everything within a distance, in the planner's units; None if the layouts do not serve it.
    fn search_cost(&self, distance: i32) -> Option<f64> {
        let growth = Growth::new(self.rows, growing(&self.layouts));
        let total = growth.total(distance)?;
        let (random, _) = self.relation.page_costs();
        let pages: f64 = self.index_pages().sum();
        // As PostgreSQL charges the descent of a btree, for a tree of this height (btcostestimate in selfuncs.c).
        // SAFETY: the settings are plain numbers.
        let (operator, entry) = unsafe { (pg_sys::cpu_operator_cost, pg_sys::cpu_index_tuple_cost) };
        let descent = operator * (self.rows.log2().ceil().max(0.0) + PAGES_OF_DESCENT * PAGE_OPERATORS);
        let entries = total.entries.min(self.rows);
        let mut cost = total.probes * descent + total.probes.min(pages) * random + entries * (entry + operator);
        if !self.is_covering() {
            cost += entries * cpu_tuple_cost() + self.heap_cost(entries);
        }
        Some(cost.min(self.pass_cost()))
    }

    /// The cost of reading all entries of one index.
    fn pass_cost(&self) -> f64 {
        let (_, sequential) = self.relation.page_costs();
        let pages = self.index_pages().fold(f64::INFINITY, f64::min);
        // SAFETY: the settings are plain numbers.
        let entry = unsafe { pg_sys::cpu_operator_cost + pg_sys::cpu_index_tuple_cost };
        let heap = if self.is_covering() { 0.0 } else { self.heap_cost(self.rows) + self.rows * cpu_tuple_cost() };
        pages * sequential + self.rows * entry + heap
    }

    /// The cost of visiting rows in the order of their places, as in a bitmap heap scan (cost_bitmap_heap_scan in
    /// costsize.c).
    fn heap_cost(&self, rows: f64) -> f64 {
        let (random, sequential) = self.relation.page_costs();
        let pages = self.relation.pages();
        let visited = (2.0 * pages * rows / (2.0 * pages + rows)).min(pages);
        visited * (random - (random - sequential) * (visited / pages).sqrt())
    }

    /// The cost of returning a row.
    fn visit_cost(&self, is_only_index: bool) -> f64 {
        if is_only_index { cpu_tuple_cost() } else { self.relation.page_costs().0 + cpu_tuple_cost() }
    }

    fn index_pages(&self) -> impl Iterator<Item = f64> {
        let indexes = self.layouts.iter().flatten();
        indexes.filter_map(|found| self.usable.iter().find(|index| index.oid == found.index)).map(|index| index.pages)
    }

    fn is_covering(&self) -> bool {
        self.layouts.iter().flatten().all(|found| found.fingerprint.is_some())
    }
}

/// Levels of a btree of a million entries, below its root.
const PAGES_OF_DESCENT: f64 = 3.0;
/// DEFAULT_PAGE_CPU_MULTIPLIER in PostgreSQL's selfuncs.c.
const PAGE_OPERATORS: f64 = 50.0;

fn cpu_tuple_cost() -> f64 {
    // SAFETY: the setting is a plain number.
    unsafe { pg_sys::cpu_tuple_cost }
}
