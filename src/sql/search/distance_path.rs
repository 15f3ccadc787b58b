//! Paths that search by distance: they find near rows, or return rows nearest first.

use pgrx::pg_sys;
use postgres::catalog::index::ExpressionForm;
use postgres::catalog::relation::Relation;
use postgres::catalog::row_value::RowValue;
use postgres::expression::Expression;
use postgres::planner::base_relation::{BaseRelation, Costs, Outer};
use simhash::distance::share_within;
use simhash::search::growth::Growth;

use super::condition::{DistanceCondition, expected_distance, fingerprint_sides, fingerprints_of_distance};
use super::nearest::largest_capacity;
use super::other_options::warn_of_other_fingerprints;
use super::plan::{DistanceSettings, Role, Search};
use super::scoped_table::ScopedTable;
use crate::sql::indexed::layouts::{Layout, ScopedBlock, group_by_layout, indexed_blocks, layout_blocks};

/// Offers the paths for conditions on distances, and for the query's order.
pub fn offer_by_distance(relation: BaseRelation, conditions: &[DistanceCondition]) {
    let sort_keys = relation.forms_of_first_sort_key();
    let order = sort_keys.into_iter().find_map(|key| DistanceOrder::read(relation, key, conditions));
    if conditions.is_empty() && order.is_none() {
        return;
    }
    let compared = conditions.iter().map(|condition| (condition.fingerprint, condition.query));
    let mut compared = compared.chain(order.iter().map(|order| (order.fingerprint, order.query)));
    compared.find_map(|(fingerprint, query)| warn_of_other_fingerprints(relation, fingerprint, query));
    let mut indexes = IndexedFingerprints { relation, fingerprints: Vec::new() };
    for condition in conditions {
        for table in indexes.tables(condition.fingerprint, condition.outer) {
            table.offer_near(condition);
        }
    }
    if let Some(order) = &order {
        let tables = indexes.tables(order.fingerprint, Outer::NONE).into_iter();
        for table in tables.filter(|table| table.scoped.outer.is_empty()) {
            table.offer_nearest(order);
        }
    }
}

/// The order of the query, by the distance of a fingerprint from a query.
struct DistanceOrder {
    fingerprint: Expression,
    query: Expression,
    /// The condition on this distance, if there is one.
    condition: Option<DistanceCondition>,
}

impl DistanceOrder {
    /// Reads a sort key; None unless it is the distance from a query that refers to no relation, and that a scan can
    /// evaluate.
    fn read(relation: BaseRelation, sort_key: Expression, conditions: &[DistanceCondition]) -> Option<Self> {
        if !relation.may_see_hidden_rows(sort_key) || sort_key.is_of_several_rows() {
            return None;
        }
        let fingerprints = fingerprints_of_distance(sort_key)?;
        let (fingerprint, query) = fingerprint_sides(relation, fingerprints)
            .find(|(_, query)| relation.outer([*query]).is_some_and(Outer::is_empty))?;
        let is_same_distance = |condition: &&DistanceCondition| {
            condition.outer.is_empty() && condition.fingerprint.equals(fingerprint) && condition.query.equals(query)
        };
        // The condition with the smallest expected distance makes the cheapest search.
        let expected = |condition: &&DistanceCondition| expected_distance(condition.max_distance);
        let condition = conditions.iter().filter(is_same_distance).min_by_key(expected).copied();
        Some(Self { fingerprint, query, condition })
    }
}

/// The indexed blocks of each fingerprint in the query.
struct IndexedFingerprints {
    relation: BaseRelation,
    /// The fingerprints whose blocks have been read.
    fingerprints: Vec<(Expression, Vec<ScopedBlock>)>,
}

/// A table with indexed layouts that a search can use together, within one scope.
struct IndexedTable {
    scoped: ScopedTable,
    layouts: Vec<Layout>,
}

impl IndexedFingerprints {
    /// The table with the layouts of a fingerprint, once for each scope for which the query has values. The search
    /// refers to the relations `outer`.
    fn tables(&mut self, fingerprint: Expression, outer: Outer) -> Vec<IndexedTable> {
        let (relation, blocks) = (self.relation, self.blocks(fingerprint));
        let tables = ScopedTable::by_scope(relation, outer, blocks, |scoped| (scoped.block.index, &scoped.scope));
        let with_layouts = |(scoped, blocks): (_, Vec<&ScopedBlock>)| {
            let layouts = group_by_layout(blocks.iter().map(|block| &block.block));
            IndexedTable { scoped, layouts }
        };
        tables.into_iter().map(with_layouts).collect()
    }

    fn blocks(&mut self, fingerprint: Expression) -> &[ScopedBlock] {
        let index = self.fingerprints.iter().position(|(own, _)| own.equals(fingerprint)).unwrap_or_else(|| {
            // The planner has folded the constants of the query, but not those of a generated column.
            let stored = fingerprint.as_stored(self.relation.relid());
            let (value, form) = match fingerprint.as_own_column().filter(|&column| column > 0) {
                Some(column) => (RowValue::Column(column), ExpressionForm::Stored),
                None => (RowValue::Expression(stored), ExpressionForm::Planned),
            };
            // A usable index has a block as a key, and the fingerprint as a key or an included column.
            let may_serve = |keys: &[pg_sys::Oid], has_included| {
                keys.contains(&pg_sys::INT4OID) && (has_included || keys.contains(&pg_sys::INT8OID))
            };
            let indexes = self.relation.indexes(may_serve).into_iter().map(Relation::open_locked);
            let table = Relation::open_locked(self.relation.table());
            self.fingerprints.push((fingerprint, indexed_blocks(&table, indexes, value, form)));
            self.fingerprints.len() - 1
        });
        &self.fingerprints[index].1
    }
}

impl IndexedTable {
    /// Offers the path that finds near rows; None if the layouts do not serve the distance.
    fn offer_near(&self, condition: &DistanceCondition) -> Option<()> {
        let &DistanceCondition { fingerprint, query, max_distance, estimate, .. } = condition;
        let rows = self.scoped.rows;
        let cost = self.search_cost(expected_distance(max_distance))?;
        let total = cost + self.fetch_cost(rows * estimate.share(rows));
        self.offer(Costs { startup: 0.0, total }, [fingerprint, query], Some(max_distance), false);
        Some(())
    }

    /// Offers the path that returns rows nearest first; None if the layouts do not serve the distance.
    fn offer_nearest(&self, order: &DistanceOrder) -> Option<()> {
        let rows = self.scoped.rows;
        let full_scan = self.full_scan_cost();
        // The cost of the full scans after the first one: each finds at most as many rows as can be stored.
        let further_scans_cost = |rows: f64| full_scan * (rows / largest_capacity() as f64).floor();
        let (steps_cost, rest_cost) = match order.condition {
            Some(DistanceCondition { max_distance, estimate, .. }) => {
                let (distance, near_rows) = (expected_distance(max_distance), rows * estimate.share(rows));
                let steps_cost = self.search_cost(distance)?;
                (steps_cost, further_scans_cost(rows * share_within(distance)) + self.fetch_cost(near_rows))
            }
            None => {
                // Expect the nearest row at the smallest distance at which one row is near by chance.
                let nearest = (0..64).find(|&distance| rows * share_within(distance) >= 1.0);
                let steps_cost = nearest.and_then(|nearest| self.search_cost(nearest));
                let steps_cost = steps_cost.map_or(full_scan, |cost| cost.min(full_scan));
                (steps_cost, full_scan + further_scans_cost(rows) + self.fetch_cost(rows))
            }
        };
        let max_distance = order.condition.map(|condition| condition.max_distance);
        let costs = Costs { startup: steps_cost, total: steps_cost + rest_cost };
        self.offer(costs, [order.fingerprint, order.query], max_distance, true);
        Some(())
    }

    fn offer(
        &self,
        costs: Costs,
        [fingerprint, query]: [Expression; 2],
        max_distance: Option<Expression>,
        is_ordered: bool,
    ) {
        let operands = [(Role::Fingerprint, fingerprint), (Role::Query, query)].into_iter();
        let expressions = operands.chain(max_distance.map(|max_distance| (Role::MaxDistance, max_distance)));
        let ScopedTable { relation, rows, .. } = self.scoped;
        let settings = DistanceSettings { is_ordered, rows, pages: relation.pages(), layouts: self.layouts.clone() };
        self.scoped.offer(costs, is_ordered, expressions, Search::Distance(settings));
    }

    /// The cost of finding everything within a distance, in the planner's units; None if the layouts do not serve the
    /// search.
    fn search_cost(&self, distance: i32) -> Option<f64> {
        let total = Growth::new(self.scoped.rows, layout_blocks(&self.layouts)).remaining_work(distance)?;
        let pages = self.index_pages().sum();
        let entries = total.entries.min(self.scoped.rows);
        let cost = self.scoped.look_up_cost(total.probes, total.probes, pages, entries);
        Some(cost.min(self.full_scan_cost()))
    }

    /// The cost of reading all entries of one index.
    fn full_scan_cost(&self) -> f64 {
        let ScopedTable { relation, rows, .. } = self.scoped;
        let (_, sequential_page_cost) = relation.page_costs();
        let share = rows / relation.rows();
        let pages = share * self.index_pages().fold(f64::INFINITY, f64::min);
        // SAFETY: the settings are plain numbers.
        let entry_cost = unsafe { pg_sys::cpu_operator_cost + pg_sys::cpu_index_tuple_cost };
        pages * sequential_page_cost + rows * entry_cost
    }

    /// The cost of fetching and returning rows, each from another page.
    fn fetch_cost(&self, rows: f64) -> f64 {
        self.scoped.fetch_cost(rows, rows)
    }

    fn index_pages(&self) -> impl Iterator<Item = f64> {
        self.layouts.iter().flatten().filter_map(|indexed| self.scoped.relation.index_pages(indexed.index))
    }
}
