//! Offers the scan of block indexes to the planner, as a way to find near rows and to read rows nearest first.
//!
//! PostgreSQL has attached each condition to the table that it belongs to when it asks for ways to scan that table. So
//! no column of another query can be taken for a column of the table.

use std::cell::Cell;

use pgrx::guc::{GucContext, GucFlags, GucRegistry, GucSetting};
use pgrx::pg_sys;
use pgrx::prelude::*;
use simhash::search::growth::Growth;
use simhash::search::nearness::Nearness;

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
use crate::sql::indexed::layouts::{Fingerprint, Layout, growing, indexed_blocks, is_covering, layouts_of};

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
    let order = relation.orders().into_iter().find_map(|order| ByDistance::read(relation, order, &wanted));
    if wanted.is_empty() && order.is_none() {
        return;
    }
    let usable = relation.indexes();
    let mut tables = Tables { relation, usable: &usable, known: Vec::new() };
    for wanted in &wanted {
        let ways = tables.of(wanted.fingerprint, wanted.schema).iter().filter_map(|table| table.near(wanted));
        if let Some(way) = ways.min_by(|a, b| a.cost.compare(&b.cost)) {
            way.offer_near(wanted);
        }
    }
    if let Some(order) = &order {
        let ways = tables.of(order.fingerprint, order.schema).iter().filter_map(|table| table.nearest(order));
        if let Some(way) = ways.min_by(|a, b| a.cost.compare(&b.cost)) {
            way.offer_nearest(order);
        }
    }
}

/// The order by distance that a query needs.
struct ByDistance {
    order: Order,
    fingerprint: Expression,
    query: Expression,
    schema: ExtensionSchema,
    /// The largest distance that is wanted.
    limit: Option<Limit>,
    /// The other relations that the scan needs.
    outer: Outer,
}

impl ByDistance {
    /// Reads an order; None if it is not the distance from a query that is the same for all rows.
    fn read(relation: BaseRelation, order: Order, wanted: &[Wanted]) -> Option<Self> {
        if !relation.may_see_hidden_rows(order.expression) {
            return None;
        }
        let Distance { fingerprints: [a, b], schema } = Distance::read(order.expression)?;
        let sides = [(a, b), (b, a)].into_iter();
        let mut sides = sides.filter(|&(fingerprint, _)| relation.owns(fingerprint) && !fingerprint.is_volatile());
        let (fingerprint, query, outer) = sides.find_map(|(fingerprint, query)| {
            let outer = relation.outer([query]).filter(|outer| outer.is_empty())?;
            Some((fingerprint, query, outer))
        })?;
        let same = |wanted: &&Wanted| {
            wanted.outer.is_empty() && wanted.fingerprint.equals(fingerprint) && wanted.query.equals(query)
        };
        let limit = cheapest(wanted.iter().filter(same).copied()).map(|wanted| wanted.limit);
        Some(Self { order, fingerprint, query, schema, limit, outer })
    }
}

/// What the scanned table has indexed of each fingerprint of the query.
struct Tables<'a> {
    relation: BaseRelation,
    usable: &'a [UsableIndex],
    known: Vec<(Expression, ExtensionSchema, Vec<Table<'a>>)>,
}

impl<'a> Tables<'a> {
    fn of(&mut self, fingerprint: Expression, schema: ExtensionSchema) -> &[Table<'a>] {
        let mut known = self.known.iter();
        let place = known.position(|(known, of, _)| known.equals(fingerprint) && *of == schema).unwrap_or_else(|| {
            let tables = Table::read(self.relation, self.usable, fingerprint, schema);
            self.known.push((fingerprint, schema, tables));
            self.known.len() - 1
        });
        &self.known[place].2
    }
}

/// A table with layouts that it has indexed, within one scope.
struct Table<'a> {
    relation: BaseRelation,
    usable: &'a [UsableIndex],
    layouts: Vec<Layout>,
    scope: Vec<Equality>,
    /// The number of the fingerprint's column, if it is one and all these indexes have it.
    covered: Option<i16>,
    /// The number of rows within the scope.
    rows: f64,
}

/// A way to search a table.
struct Way<'a> {
    table: &'a Table<'a>,
    cost: PathCost,
    /// The fingerprint's column, if the query needs nothing else and all indexes have it.
    only_column: Option<i16>,
}

impl<'a> Table<'a> {
    /// Reads what a table has indexed of a fingerprint, for each scope that the query has. If some of the layouts are
    /// covering, they also come by themselves.
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
        let mut tables = Vec::new();
        for columns in scopes {
            let equalities = |index| -> Option<Vec<Equality>> {
                let equality = |(place, &column)| relation.equality(index, place, column);
                columns.iter().enumerate().map(equality).collect()
            };
            let mut scope: Option<Vec<Equality>> = None;
            let mut blocks = Vec::new();
            for found in found.iter().filter(|found| found.scope == *columns) {
                // All indexes are searched with the same keys, so they must have the same collations and operators.
                let Some(of_index) = equalities(found.block.index) else { continue };
                let scope = scope.get_or_insert_with(|| of_index.clone());
                if scope.iter().zip(&of_index).all(|(a, b)| a.is_same(b)) {
                    blocks.push(found.block);
                }
            }
            let Some(scope) = scope else { continue };
            let rows = (relation.rows() * scope.iter().map(|equality| equality.share).product::<f64>()).max(1.0);
            let layouts = layouts_of(blocks.iter());
            let covering: Vec<_> = layouts.iter().filter(|layout| is_covering(layout)).cloned().collect();
            let covered = column.filter(|_| covering.len() == layouts.len());
            let has_both = column.is_some() && !covering.is_empty() && covered.is_none();
            tables.push(Self { relation, usable, layouts, scope: scope.clone(), covered, rows });
            if has_both {
                tables.push(Self { relation, usable, layouts: covering, scope, covered: column, rows });
            }
        }
        tables
    }

    /// The way to find near rows; None if the layouts do not serve the distance.
    fn near(&'a self, wanted: &Wanted) -> Option<Way<'a>> {
        let near = wanted.limit.expected();
        let only_column = self.covered.filter(|&column| self.relation.needs_only(column, wanted.outer));
        let (startup, each) = self.relation.condition_costs();
        let found = self.rows * near_share(self.rows, near.max_distance());
        let total = self.search_cost(near)? + found * (each + self.visit_cost(only_column.is_some()));
        Some(Way { table: self, cost: PathCost { startup, total: startup + total }, only_column })
    }

    /// The way to read rows nearest first.
    fn nearest(&'a self, order: &ByDistance) -> Option<Way<'a>> {
        let only_column = self.covered.filter(|&column| self.relation.needs_only(column, order.outer));
        let (startup, each) = self.relation.condition_costs();
        let visit = each + self.visit_cost(only_column.is_some());
        let (growth, rest) = match order.limit {
            Some(limit) => {
                let near = limit.expected();
                (self.search_cost(near)?, self.rows * near_share(self.rows, near.max_distance()) * visit)
            }
            None => {
                // The nearest row may be as far as chance puts it.
                let nearest = (0..64).find(|&distance| self.rows * near_share(self.rows, distance) >= 2.0);
                let pass = self.pass_cost();
                let growth = nearest
                    .and_then(|nearest| self.search_cost(Nearness::within(nearest)))
                    .map_or(pass, |cost| cost.min(pass));
                (growth, pass + self.rows * visit)
            }
        };
        let cost = PathCost { startup: startup + growth, total: startup + growth + rest };
        Some(Way { table: self, cost, only_column })
    }

    /// The cost of finding everything near, in the planner's units; None if the layouts do not serve it.
    fn search_cost(&self, near: Nearness) -> Option<f64> {
        let growth = Growth::new(self.rows, growing(&self.layouts), near);
        let total = growth.total(near.max_distance())?;
        let (random, _) = self.relation.page_costs();
        let pages: f64 = self.index_pages().sum();
        // As PostgreSQL charges the descent of a btree, for a tree of this height (btcostestimate in selfuncs.c).
        // SAFETY: the settings are plain numbers.
        let (operator, entry) = unsafe { (pg_sys::cpu_operator_cost, pg_sys::cpu_index_tuple_cost) };
        let descent = operator * (self.rows.log2().ceil().max(0.0) + PAGES_OF_DESCENT * PAGE_OPERATORS);
        let entries = total.entries.min(self.rows);
        let mut cost = total.probes * descent + total.probes.min(pages) * random + entries * (entry + operator);
        let visits = total.visits.min(self.rows);
        if visits > 0.0 {
            cost += visits * cpu_tuple_cost() + self.heap_cost(visits);
        }
        Some(cost.min(self.pass_cost()))
    }

    /// The cost of reading all entries of one index.
    fn pass_cost(&self) -> f64 {
        let (_, sequential) = self.relation.page_costs();
        let pages = self.index_pages().fold(f64::INFINITY, f64::min);
        // SAFETY: the settings are plain numbers.
        let entry = unsafe { pg_sys::cpu_operator_cost + pg_sys::cpu_index_tuple_cost };
        let has_covering = self.layouts.iter().flatten().any(|found| found.fingerprint.is_some());
        let heap = if has_covering { 0.0 } else { self.heap_cost(self.rows) + self.rows * cpu_tuple_cost() };
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
        let (random, _) = self.relation.page_costs();
        let visited = if is_only_index { 1.0 - self.relation.visible_share() } else { 1.0 };
        visited * random + cpu_tuple_cost()
    }

    fn index_pages(&self) -> impl Iterator<Item = f64> {
        let indexes = self.layouts.iter().flatten();
        indexes.filter_map(|found| self.usable.iter().find(|index| index.oid == found.index)).map(|index| index.pages)
    }
}

impl Way<'_> {
    fn offer_near(&self, wanted: &Wanted) {
        let search = self.search(false, wanted.fingerprint, wanted.query, Some(wanted.limit));
        self.offer(wanted.outer, None, &search);
    }

    fn offer_nearest(&self, order: &ByDistance) {
        let search = self.search(true, order.fingerprint, order.query, order.limit);
        self.offer(order.outer, Some(order.order), &search);
    }

    fn offer(&self, outer: Outer, order: Option<Order>, search: &Search) {
        let relation = self.table.relation;
        // SAFETY: the lists hold expressions, integers and OIDs, of which the node's methods make a plan.
        unsafe { relation.offer(outer, order, self.cost, search.to_list(), Methods::<NearScan>::PATH) };
    }

    fn search(&self, is_ordered: bool, fingerprint: Expression, query: Expression, limit: Option<Limit>) -> Search {
        let Table { relation, layouts, scope, rows, .. } = self.table;
        let key = |equality: &Equality| {
            let Equality { function, right_type, collation, .. } = *equality;
            ScopeKey { function, value_type: right_type, collation }
        };
        let settings = Settings {
            is_ordered,
            only_column: self.only_column,
            has_limit: limit.is_some(),
            has_radii: limit.is_some_and(|limit| limit.radii.is_some()),
            is_strict: limit.is_some_and(|limit| limit.is_strict),
            rows: *rows,
            pages: relation.pages(),
            scope: scope.iter().map(key).collect(),
            layouts: layouts.clone(),
        };
        let scope = scope.iter().map(|equality| equality.value).collect();
        Search { fingerprint, query, limit, scope, settings }
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
