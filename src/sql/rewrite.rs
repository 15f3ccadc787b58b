//! `simhash_near` as a condition on indexed blocks.
//!
//! Where a table has indexed the blocks of a layout, `simhash_near(fingerprint, query, k)` becomes
//!
//! ```sql
//! (block0 = simhash_block(query, 0, m) OR block1 = ANY (simhash_probes(query, 1, m, k)) OR ...)
//! AND hamming(fingerprint, query) <= k
//! ```
//!
//! with equality for a block of radius 0, nothing for one that need not be looked at, and probes otherwise. From there on
//! it is the planner's: it knows how to make index scans of it, in any query, and what they cost. The two conditions are
//! equal for every row, also where they are NULL: a NULL fingerprint has only NULL blocks, and no pair within the
//! distance differs in each block by more than its radius.
//!
//! The functions in it are public, since expressions of a plan may be sent to other servers, and bear their schema.

use pgrx::pg_sys;

use super::expression::{Expression, IntegerOperator};
use super::functions::Functions;
use super::layouts::{Fingerprint, Indexed, Key};
use super::planner::Planner;
use crate::simhash::blocks::{LAYOUTS, radius};
use crate::simhash::layout;

/// Most probes that a search with a distance known to the planner is made into. It estimates each of them.
const MOST_PROBES: u64 = 1 << 16;
/// Largest share of all rows that is worth finding by an index.
const LARGEST_SHARE: f64 = 0.1;
/// What is assumed of a distance that is not known to the planner.
const USUAL_DISTANCE: i32 = 3;
/// The fewest blocks with which any distance can be searched: the values of a block are fewer than the possible probes.
const SMALL_BLOCKS: i32 = 4;

/// A call `simhash_near(fingerprint, query, max_distance)` in other words; None if no index would help.
///
/// # Safety
/// `root` is null or that of the running planner.
pub unsafe fn rewrite(root: *mut pg_sys::PlannerInfo, call: Expression) -> Option<Expression> {
    // SAFETY: by the contract.
    let planner = unsafe { Planner::new(root) }?;
    let (function, arguments) = call.call()?;
    let &[a, b, max_distance] = &arguments[..] else { return None };
    // What is repeated must always give the same; and above a grouping there are no rows to find.
    if call.is_volatile() || call.is_computed_from_groups() {
        return None;
    }
    let search = Search { planner, functions: Functions::beside(function)?, max_distance };
    let conditions = match (search.side(a, b), search.side(b, a)) {
        // In a join, each side can be the one that is searched.
        (Some(left), Some(right)) => search.join(&left, &right),
        (Some(side), None) | (None, Some(side)) => vec![search.find(&side)],
        (None, None) => return None,
    };
    Some(search.with_distance(conditions, a, b).simplified(planner.as_ptr()))
}

struct Search {
    planner: Planner,
    functions: Functions,
    max_distance: Expression,
}

/// An argument whose blocks are indexed, and the other one.
struct Side {
    /// Number of blocks.
    blocks: i32,
    /// What is indexed, for the blocks that have to be looked at.
    keys: Vec<(i32, Expression)>,
    query: Expression,
}

impl Search {
    /// How a table can be searched for `query`, if `fingerprint` is its fingerprint and its blocks are indexed.
    fn side(&self, fingerprint: Expression, query: Expression) -> Option<Side> {
        let &[relation] = &self.planner.relations(fingerprint)[..] else { return None };
        if [query, self.max_distance].iter().any(|&other| self.planner.relations(other).contains(&relation)) {
            return None;
        }
        let table = self.planner.table(relation)?;
        let column = fingerprint.without_relabelling().column();
        let indexed = match column {
            Some(column) if column.levels_up > 0 || self.planner.may_be_grouped_away(column) => return None,
            Some(column) if table.with_inheritors => Indexed::of_tree(table.oid, column.number, &self.functions),
            Some(column) => Indexed::of_table(table.oid, Fingerprint::Column(column.number), &self.functions),
            // The members of a tree, whose columns have other numbers, come one by one later.
            None if table.with_inheritors => None,
            None => {
                let expression = fingerprint.moved(relation, 1);
                Indexed::of_table(table.oid, Fingerprint::Expression(expression), &self.functions)
            }
        }?;
        let (blocks, keys) = self.cheapest(&indexed)?;
        let expression_of = |(block, key)| {
            let key = match key {
                Key::Column(number) => match column {
                    Some(_) => fingerprint.without_relabelling().sibling(number)?,
                    None => Expression::of_column(relation, number),
                },
                Key::OfFingerprint => self.block(fingerprint, block, blocks),
                // It would have to be NULL where an outer join makes the fingerprint NULL.
                Key::Expression(_) if fingerprint.is_nullable() => return None,
                Key::Expression(expression) => expression.moved(1, relation),
            };
            Some((block, key))
        };
        let keys = keys.into_iter().map(expression_of).collect::<Option<_>>()?;
        Some(Side { blocks, keys, query })
    }

    /// The layout to search with, and its keys: the cheapest of those that any search can use, or else of all.
    fn cheapest(&self, indexed: &Indexed) -> Option<(i32, Vec<(i32, Key)>)> {
        let layouts = LAYOUTS.filter_map(|blocks| {
            let cost = self.cost(blocks, indexed.rows)?;
            let mut unconditional = true;
            let mut keys = Vec::new();
            for block in self.probed_blocks(blocks) {
                let of_block = indexed.blocks.iter().filter(|found| (found.block, found.blocks) == (block, blocks));
                let found = of_block.max_by_key(|found| found.unconditional)?;
                unconditional &= found.unconditional;
                keys.push((block, found.key));
            }
            Some((!unconditional, cost, (blocks, keys)))
        });
        layouts.min_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))).map(|(_, _, chosen)| chosen)
    }

    /// What a search costs with a layout; None if it is no use.
    fn cost(&self, blocks: i32, rows: f64) -> Option<f64> {
        let known = self.max_distance.integer();
        let distance = known.unwrap_or(USUAL_DISTANCE);
        let probes = layout::probes(blocks, distance)?;
        let share = layout::uniform_share(blocks, distance);
        let useful = (1..=MOST_PROBES).contains(&probes) && share <= LARGEST_SHARE;
        // With few blocks, an unknown distance costs another condition.
        let detour = if known.is_none() && blocks < SMALL_BLOCKS { f64::INFINITY } else { 0.0 };
        useful.then(|| layout::cost(probes, rows.max(1.0) * share) + detour)
    }

    /// The numbers of the blocks that a search has to look at, as far as its distance is known.
    fn probed_blocks(&self, blocks: i32) -> impl Iterator<Item = i32> {
        let distance = self.max_distance.integer();
        (0..blocks).filter(move |&block| distance.is_none_or(|distance| radius(block, blocks, distance).is_some()))
    }

    /// One of the blocks of what is searched is one that the query may have.
    fn find(&self, side: &Side) -> Expression {
        let mut conditions: Vec<_> = side
            .keys
            .iter()
            .map(|&(block, key)| match self.radius(block, side.blocks) {
                Some(0) => {
                    let wanted = self.block(side.query, block, side.blocks);
                    Expression::of_comparison(IntegerOperator::Equal, key, wanted)
                }
                _ => Expression::of_equality_with_any(key, self.probes(side.query, block, side.blocks)),
            })
            .collect();
        if self.max_distance.integer().is_none() && side.blocks < SMALL_BLOCKS {
            conditions.extend(side.keys.first().map(|&(_, key)| self.all_beyond_probes(key, side.blocks)));
        }
        Expression::of_any(&conditions)
    }

    /// Each side is found by the other, so that the planner can search either.
    fn join(&self, left: &Side, right: &Side) -> Vec<Expression> {
        let plain = left.keys.iter().all(|&(block, _)| self.radius(block, left.blocks) == Some(0));
        if left.blocks != right.blocks || !plain {
            return vec![self.find(left), self.find(right)];
        }
        let pairs = left.keys.iter().zip(&right.keys);
        let equal = |(a, b): (&(i32, Expression), &(i32, Expression))| {
            Expression::of_comparison(IntegerOperator::Equal, a.1, b.1)
        };
        vec![Expression::of_any(&pairs.map(equal).collect::<Vec<_>>())]
    }

    fn radius(&self, block: i32, blocks: i32) -> Option<u32> {
        self.max_distance.integer().and_then(|distance| radius(block, blocks, distance))
    }

    /// A range of a block's values that is empty, unless the distance is so large that `simhash_probes` gives NULL: then
    /// it is all values, for all rows must be looked at.
    fn all_beyond_probes(&self, key: Expression, blocks: i32) -> Expression {
        let last = (0..).take_while(|&distance| layout::probes(blocks, distance).is_some()).last();
        let last = Expression::of_integer(last.unwrap_or(-1));
        let beyond = Expression::of_comparison(IntegerOperator::Greater, self.max_distance.copy(), last);
        let lowest = Expression::of_integer_where(beyond, Expression::of_integer(i32::MIN));
        // Both ends, so that the planner sees a range and expects few rows.
        Expression::of_all(&[
            Expression::of_comparison(IntegerOperator::GreaterOrEqual, key.copy(), lowest),
            Expression::of_comparison(IntegerOperator::LessOrEqual, key.copy(), Expression::of_integer(i32::MAX)),
        ])
    }

    fn block(&self, fingerprint: Expression, block: i32, blocks: i32) -> Expression {
        let arguments = [fingerprint.copy(), Expression::of_integer(block), Expression::of_integer(blocks)];
        Expression::of_call(self.functions.simhash_block, pg_sys::INT4OID, &arguments)
    }

    fn probes(&self, query: Expression, block: i32, blocks: i32) -> Expression {
        let [block, blocks] = [block, blocks].map(Expression::of_integer);
        let arguments = [query.copy(), block, blocks, self.max_distance.copy()];
        Expression::of_call(self.functions.simhash_probes, pg_sys::INT4ARRAYOID, &arguments)
    }

    /// The conditions, and then the distance itself.
    fn with_distance(&self, mut conditions: Vec<Expression>, a: Expression, b: Expression) -> Expression {
        let distance = Expression::of_call(self.functions.hamming, pg_sys::INT4OID, &[a.copy(), b.copy()]);
        let within = Expression::of_comparison(IntegerOperator::LessOrEqual, distance, self.max_distance.copy());
        conditions.push(within);
        Expression::of_all(&conditions)
    }
}
