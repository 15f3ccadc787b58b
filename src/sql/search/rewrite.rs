//! Rewrites `simhash_near` as a condition on indexed blocks.
//!
//! If a table has indexed the blocks of a layout, `simhash_near(fingerprint, query, k)` becomes
//!
//! ```sql
//! simhash_within(fingerprint, query, k, m)
//! AND (block0 = simhash_block(query, 0, m) OR block1 = ANY (simhash_probes(query, 1, m, k)) OR ...)
//! ```
//!
//! with equality for a block of radius 0, nothing for a block that need not be looked at, and probes otherwise. The
//! first condition is `hamming(fingerprint, query) <= k` under another name: of that, the planner would assume that it
//! keeps a third of the rows that the blocks find, instead of a few, which is enough to prefer a sequential scan for
//! `EXISTS` and `LIMIT 1`. The planner does the rest: it can make index scans of the conditions in any query, and knows
//! what they cost. Rewritten or not, the result is the same for every row, even if it is NULL: a NULL fingerprint has
//! only NULL blocks, and no pair within the distance differs in each block by more than its radius.
//!
//! The functions in the conditions are public, and their names schema-qualified, because a plan's expressions may be
//! sent to other servers.

use pgrx::pg_sys;
use simhash::search::blocks::radius;
use simhash::search::cost;

use crate::postgres::nodes::build::{self, IntegerOperator};
use crate::postgres::nodes::expression::Expression;
use crate::postgres::nodes::planner::Planner;
use crate::sql::functions::Functions;
use crate::sql::indexed::choice::{self, SMALL_BLOCKS};
use crate::sql::indexed::layouts::{BlockKey, Fingerprint, Indexed};

/// The condition that a call `simhash_near(fingerprint, query, max_distance)` becomes; None if no index would help.
pub fn rewrite(planner: Planner, call: Expression) -> Option<Expression> {
    let (function, arguments) = call.call()?;
    let &[a, b, max_distance] = &arguments[..] else { return None };
    // The arguments are repeated, so they must not be volatile. Above a grouping there are no rows to find.
    if call.is_volatile() || call.is_computed_from_groups() {
        return None;
    }
    let search = Rewrite { planner, functions: Functions::beside(function)?, max_distance };
    let (conditions, blocks) = match (search.side(a, b), search.side(b, a)) {
        // In a join, either side can be the one that is searched.
        (Some(left), Some(right)) => (search.join(&left, &right), left.blocks.max(right.blocks)),
        (Some(side), None) | (None, Some(side)) => (vec![search.find(&side)], side.blocks),
        (None, None) => return None,
    };
    Some(planner.simplify(search.with_distance(conditions, blocks, a, b)))
}

struct Rewrite {
    planner: Planner,
    functions: Functions,
    max_distance: Expression,
}

/// The argument whose blocks are indexed, and the other argument as the query.
struct Side {
    /// Number of blocks.
    blocks: i32,
    /// The blocks that are probed.
    probed: Vec<ProbedKey>,
    query: Expression,
}

/// A block that is probed.
struct ProbedKey {
    block: i32,
    /// None if the distance is not known.
    radius: Option<u32>,
    key: Expression,
}

impl Rewrite {
    /// How to search a table for `query`; None unless `fingerprint` is the table's fingerprint and its blocks are
    /// indexed.
    fn side(&self, fingerprint: Expression, query: Expression) -> Option<Side> {
        let &[relation] = &self.planner.relations(fingerprint)[..] else { return None };
        if [query, self.max_distance].iter().any(|&other| self.planner.relations(other).contains(&relation)) {
            return None;
        }
        let table = self.planner.table(relation)?;
        if !self.planner.searches(relation, &table, fingerprint) || self.planner.may_be_grouped_away(fingerprint) {
            return None;
        }
        let column = fingerprint.without_relabelling().column();
        let indexed = match column {
            Some(column) if column.levels_up > 0 => return None,
            // The planner passes a condition on this table alone on to the members that it does not prune, and asks
            // again for each.
            _ if table.with_inheritors && self.planner.relations(query).is_empty() => None,
            Some(column) if table.with_inheritors => Indexed::read_family(table.oid, column.number, &self.functions),
            Some(column) => Indexed::read_table(table.oid, Fingerprint::Column(column.number), &self.functions)
                .map(Indexed::only_on_columns),
            None if table.with_inheritors => None,
            // Where an outer join makes the columns NULL, the fingerprint would not be NULL, but its blocks would.
            None if !fingerprint.is_strict() => None,
            None => {
                let expression = fingerprint.moved(relation, 1);
                Indexed::read_table(table.oid, Fingerprint::Expression(expression), &self.functions)
            }
        }?;
        let choice = choice::cheapest(&indexed, self.distance(), query.bigint().map(i64::cast_unsigned))?;
        let probed = |probed: &choice::ProbedBlock| {
            let key = match probed.indexed.key {
                BlockKey::Column(number) => match column {
                    Some(_) => fingerprint.without_relabelling().sibling(number)?,
                    None => build::column(relation, number),
                },
                BlockKey::OfFingerprint => self.block(fingerprint, probed.indexed.block, choice.blocks),
                // The key must be NULL where an outer join makes the fingerprint NULL.
                BlockKey::Expression(expression) if fingerprint.is_marked_nullable() || !expression.is_strict() => {
                    return None;
                }
                BlockKey::Expression(expression) => expression.moved(1, relation),
            };
            Some(ProbedKey { block: probed.indexed.block, radius: probed.radius, key })
        };
        let probed = choice.probed.iter().map(probed).collect::<Option<_>>()?;
        Some(Side { blocks: choice.blocks, probed, query })
    }

    fn distance(&self) -> Option<i32> {
        self.max_distance.integer()
    }

    /// The condition that a block of the searched side has one of the values that the query allows.
    fn find(&self, side: &Side) -> Expression {
        // This comes first because, where it is true, the rest is not evaluated.
        let all = side.probed.first().filter(|_| self.distance().is_none() && side.blocks < SMALL_BLOCKS);
        let all = all.map(|probed| self.all_beyond_probes(probed.key, side.blocks));
        let by_block = side.probed.iter().map(|probed| match probed.radius {
            Some(0) => {
                let wanted = self.block(side.query, probed.block, side.blocks);
                build::comparison(IntegerOperator::Equal, probed.key, wanted)
            }
            radius => {
                let wanted = self.probes(side.query, probed.block, side.blocks, radius);
                build::equality_with_any(probed.key, wanted)
            }
        });
        build::any(&all.into_iter().chain(by_block).collect::<Vec<_>>())
    }

    /// The conditions by which each side finds the other, so that the planner can search either.
    fn join(&self, left: &Side, right: &Side) -> Vec<Expression> {
        let equal = |(a, b): (&ProbedKey, &ProbedKey)| {
            let same = a.block == b.block && (a.radius, b.radius) == (Some(0), Some(0));
            same.then(|| build::comparison(IntegerOperator::Equal, a.key, b.key))
        };
        let same_blocks = left.blocks == right.blocks && left.probed.len() == right.probed.len();
        let pairs: Option<Vec<_>> = left.probed.iter().zip(&right.probed).map(equal).collect();
        match pairs.filter(|_| same_blocks) {
            Some(pairs) => vec![build::any(&pairs)],
            None => vec![self.find(left), self.find(right)],
        }
    }

    /// A range condition on a block's values. It is empty, unless the distance is too large for probes: then it is all
    /// values, because all rows must be looked at.
    fn all_beyond_probes(&self, key: Expression, blocks: i32) -> Expression {
        let last = build::integer(cost::largest_distance(blocks));
        let beyond = build::comparison(IntegerOperator::Greater, self.max_distance.copy(), last);
        let lowest = build::integer_where(beyond, build::integer(i32::MIN));
        // Give both ends, so that the planner sees a range and expects few rows.
        build::all(&[
            build::comparison(IntegerOperator::GreaterOrEqual, key.copy(), lowest),
            build::comparison(IntegerOperator::LessOrEqual, key.copy(), build::integer(i32::MAX)),
        ])
    }

    fn block(&self, fingerprint: Expression, block: i32, blocks: i32) -> Expression {
        let arguments = [fingerprint.copy(), build::integer(block), build::integer(blocks)];
        build::call(self.functions.simhash_block, pg_sys::INT4OID, &arguments)
    }

    /// The `simhash_probes` call for the values of a block within the radius `wanted`; if that is None, within the
    /// radius that follows from the distance.
    fn probes(&self, query: Expression, block: i32, blocks: i32, wanted: Option<u32>) -> Expression {
        let distance = match wanted {
            Some(wanted) if self.distance().and_then(|known| radius(block, blocks, known)) != Some(wanted) => {
                build::integer(cost::distance_of_radius(blocks, wanted))
            }
            None if blocks < SMALL_BLOCKS => {
                // A distance beyond what can be probed becomes NULL. The planner evaluates this with a guessed distance,
                // and would otherwise report an error that the query does not have.
                let largest = build::integer(cost::largest_distance(blocks));
                let possible = build::comparison(IntegerOperator::LessOrEqual, self.max_distance.copy(), largest);
                build::integer_where(possible, self.max_distance.copy())
            }
            _ => self.max_distance.copy(),
        };
        let [block, blocks] = [block, blocks].map(build::integer);
        let arguments = [query.copy(), block, blocks, distance];
        build::call(self.functions.simhash_probes, pg_sys::INT4ARRAYOID, &arguments)
    }

    /// The condition on the distance, then the other conditions. In this order, few rows are compared with probes where
    /// no index is used, as under NOT.
    fn with_distance(&self, conditions: Vec<Expression>, blocks: i32, a: Expression, b: Expression) -> Expression {
        let arguments = [a.copy(), b.copy(), self.max_distance.copy(), build::integer(blocks)];
        let within = build::call(self.functions.simhash_within, pg_sys::BOOLOID, &arguments);
        build::all(&[vec![within], conditions].concat())
    }
}
