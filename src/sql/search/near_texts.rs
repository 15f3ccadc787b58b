//! Recognises `simhash_near(a, b, criterion)` of two texts. If a table stores or indexes the fingerprints of one of
//! them, by the options of the criterion, it can be searched by these: near texts have near fingerprints.

use pgrx::pg_sys;
use postgres::catalog::column::Column;
use postgres::catalog::index::{Index, KeyExpressions};
use postgres::catalog::relation::Relation;
use postgres::expression::Expression;
use postgres::planner::base_relation::BaseRelation;
use simhash::criterion::{Criterion, CriterionDocument};
use simhash::fingerprint::options::Options;
use simhash::fingerprint::size::is_exact;
use simhash::search::nearness::Nearness;

use super::condition::{Flips, Limit, SizeLimit};
use super::other_options::warn_of_other_criterion;
use crate::sql::fingerprint::options::read_criterion;
use crate::sql::functions::ExtensionSchema;
use crate::sql::indexed::layouts::{block_keys, size_key};
use crate::sql::indexed::recognise::FingerprintCall;

/// The condition that two texts are near-duplicates by a constant criterion.
pub struct NearTexts {
    schema: ExtensionSchema,
    texts: [Expression; 2],
    options: Options,
    criterion: Criterion,
    document: Expression,
}

impl NearTexts {
    /// Reads a condition; None if it is another one, or if its criterion is not known when the query is planned.
    pub fn read(condition: Expression) -> Option<Self> {
        let (function, arguments) = condition.call()?;
        let &[a, b, criterion] = &arguments[..] else { return None };
        let types = [pg_sys::TEXTOID, pg_sys::TEXTOID, pg_sys::JSONBOID];
        let schema = ExtensionSchema::of(function, c"simhash_near", &types, c"simhash_near_support")?;
        let read = document(criterion)?;
        Some(Self { schema, texts: [a, b], criterion: read.of_texts(), options: read.options, document: criterion })
    }

    /// When the fingerprints are near, for the planner's estimates: by the default criterion if it is not known.
    pub fn expected(criterion: Expression) -> Nearness {
        document(criterion).unwrap_or_default().of_texts().near
    }

    /// The conditions on fingerprints of a table that follow from this condition on texts: the fingerprint of the
    /// table's text, of type `bigint`, that of the other text, and the limit.
    pub fn of_fingerprints(&self, relation: BaseRelation) -> Vec<(Expression, Expression, Limit)> {
        let [a, b] = self.texts;
        let sides = [(a, b, true), (b, a, false)].into_iter();
        let sides = sides.filter(|(own, ..)| relation.owns(*own) && !own.is_volatile());
        let of_side = |(own, other, is_searched_for): (Expression, Expression, bool)| {
            let found = self.stored(relation, own).into_iter();
            found.filter_map(move |(fingerprint, call)| {
                // A stored call may name its arguments, which only folding puts in their order.
                let query = call.with_folded_constants().with_first_argument(other)?;
                let limit =
                    Limit { sizes: self.sizes(relation, call, other), ..self.limit(is_searched_for.then_some(other))? };
                Some((fingerprint, query, limit))
            })
        };
        sides.flat_map(of_side).collect()
    }

    /// The fingerprints of a text of the table's columns, which are columns or keys of an index, each with the call
    /// that makes it. Warns if all are made by other options than those of the criterion.
    fn stored(&self, relation: BaseRelation, text: Expression) -> Vec<(Expression, Expression)> {
        let relid = relation.relid();
        let table = Relation::open_locked(relation.table());
        let text = text.with_varno(relid, 1).without_relabelling();
        let mut other = None;
        let mut is_of_text = |call: &Expression| {
            let read = FingerprintCall::read(*call, self.schema);
            let Some(call) = read.filter(|call| call.source.without_relabelling().equals(text)) else { return false };
            let is_same = call.options.makes_same_fingerprints(&self.options);
            if !is_same {
                other = Some(call);
            }
            is_same
        };
        let columns = Column::all(&table).filter(|column| column.is_stored && column.data_type == pg_sys::INT8OID);
        let of_column = |column: Column| {
            let call = column.generation(&table)?.without_relabelling();
            is_of_text(&call).then_some((column.as_variable()?.with_varno(1, relid), call))
        };
        let mut found: Vec<_> = columns.filter_map(of_column).collect();
        for index in planned_indexes(relation) {
            let keys = block_keys(&table, &index).map(|key| key.call.fingerprint);
            for call in keys.filter(&mut is_of_text) {
                let fingerprint = call.with_varno(1, relid);
                if found.iter().all(|(known, _)| !known.equals(fingerprint)) {
                    found.push((fingerprint, call));
                }
            }
        }
        if let (true, Some(other)) = (found.is_empty(), other) {
            warn_of_other_criterion(&table, &other);
        }
        found
    }

    /// The sizes of the texts that resemble another text, if the texts are compared and indexes have the sizes of
    /// the table's. `call` makes the fingerprints.
    fn sizes(&self, relation: BaseRelation, call: Expression, other: Expression) -> Option<SizeLimit> {
        let resemblance = Expression::of_value(self.criterion.resemblance?)?;
        let call = FingerprintCall::of_text(Some(call), self.schema)?;
        let is_size = |size: &Expression| {
            let size = FingerprintCall::read_size(*size, self.schema);
            size.is_some_and(|size| size.has_sizes_of(call.source, &call.options))
        };
        let table = Relation::open_locked(relation.table());
        let stored = planned_indexes(relation).find_map(|index| {
            block_keys(&table, &index).filter_map(|key| size_key(&table, &index, &key)).find(is_size)
        })?;
        // A stored call may name its arguments or leave some out, which only folding puts in order.
        let size = stored.with_folded_constants().with_first_argument(other)?.with_folded_constants();
        Some(SizeLimit { size, resemblance, is_exact: is_exact(&call.options) })
    }

    /// The limit without the sizes. `query` is the other text, if its votes decide which bits are flipped. Otherwise
    /// the votes of each row's text decide, so any may have to be flipped.
    fn limit(&self, query: Option<Expression>) -> Option<Limit> {
        let near = if query.is_some() { self.criterion.near } else { self.criterion.near.by_any_votes() };
        let flips = match query.filter(|_| near.flips().next().is_some()) {
            Some(query) => {
                let function = self.schema.function(c"simhash_flips", &[pg_sys::TEXTOID, pg_sys::JSONBOID])?;
                let masks = Expression::of_call(function, pg_sys::INT8ARRAYOID, &[query, self.document])?;
                Some(Flips { masks: masks.with_folded_constants(), expected: near.flippable() })
            }
            None => None,
        };
        let radii = near.blocks().and_then(|_| Expression::of_value(near.radii().collect::<Vec<_>>()));
        let expression = Expression::of_value(near.max_distance())?;
        Some(Limit { flips, ..Limit::new(expression, radii) })
    }
}

/// The indexes that the query can use, with their expressions as the planner has them.
fn planned_indexes(relation: BaseRelation) -> impl Iterator<Item = Index> {
    let indexes = relation.indexes().into_iter().map(Relation::open_locked);
    indexes.filter_map(|index| Index::read_usable(&index, KeyExpressions::Planned))
}

/// A constant criterion; None if it is not constant, or if it cannot be read.
fn document(criterion: Expression) -> Option<CriterionDocument> {
    read_criterion(criterion.jsonb()?).ok()
}
