//! The sizes of the texts that a search is for. If a query compares the texts of rows with another text, rows whose
//! texts have very different sizes are out of the question, and the search does not read their index entries.
//!
//! The range of sizes follows from the other text and from the least resemblance alone, so it tells nothing about rows
//! that the user may not see. The query's conditions are checked for each row that is found, as without a range.

use pgrx::pg_sys;
use postgres::catalog::column::{Column, generation_of};
use postgres::catalog::index::{Index, KeyExpressions};
use postgres::catalog::relation::Relation;
use postgres::expression::{Expression, FLOAT_BTREE_FAMILY, btree_strategy};
use postgres::planner::base_relation::{BaseRelation, Outer};
use simhash::fingerprint::options::Options;
use simhash::fingerprint::size::{SimilarSizes, is_exact};

use crate::sql::fingerprint::options::{OptionsDocument, read_options};
use crate::sql::functions::ExtensionSchema;
use crate::sql::indexed::layouts::{block_keys, size_key};
use crate::sql::indexed::text_source::TextSource;

/// What limits the sizes of the texts that a search is for.
#[derive(Clone, Copy)]
pub struct SizeLimit {
    /// The size of the text that they are compared with, an `integer`.
    pub size: Expression,
    /// The least resemblance, a `double precision`.
    pub least: Expression,
    pub is_exact: bool,
}

pub struct ResemblanceCondition {
    schema: ExtensionSchema,
    texts: [Expression; 2],
    options: Options,
    least: Expression,
}

impl ResemblanceCondition {
    /// The conditions on a table's rows. Others that protect rows may have to be evaluated before them.
    pub fn all_of(relation: BaseRelation) -> Vec<Self> {
        let conditions = if relation.is_table() { relation.all_conditions() } else { Vec::new() };
        conditions.into_iter().filter_map(|condition| Self::read(condition.expression)).collect()
    }

    fn read(condition: Expression) -> Option<Self> {
        let (operator, _, [left, right]) = condition.operation()?;
        let (resemblance, least) = match btree_strategy(operator, FLOAT_BTREE_FAMILY)? {
            pg_sys::BTGreaterEqualStrategyNumber | pg_sys::BTGreaterStrategyNumber => (left, right),
            pg_sys::BTLessEqualStrategyNumber | pg_sys::BTLessStrategyNumber => (right, left),
            _ => return None,
        };
        let (function, arguments) = resemblance.call()?;
        let &[a, b, options] = &arguments[..] else { return None };
        let types = [pg_sys::TEXTOID, pg_sys::TEXTOID, pg_sys::JSONBOID];
        let schema = ExtensionSchema::beside(function, c"simhash_near_support")?;
        if schema.function(c"simhash_resemblance", &types) != Some(function) || least.value_type() != pg_sys::FLOAT8OID
        {
            return None;
        }
        let options = read_options(OptionsDocument::Jsonb(options.jsonb()?)).ok()?;
        Some(Self { schema, texts: [a, b], options, least })
    }

    /// The limit for a search by a fingerprint of the relation, with parameters from `outer`: if the condition compares
    /// the text that the fingerprint is made from, by the same options.
    pub fn limit(&self, relation: BaseRelation, fingerprint: Expression, outer: Outer) -> Option<SizeLimit> {
        let relid = relation.relid();
        let table = Relation::open_locked(relation.table());
        let fingerprint = fingerprint.with_varno(relid, 1);
        let computation = match fingerprint.as_own_column() {
            Some(column) => generation_of(&table, column),
            None => Some(fingerprint),
        };
        let source = TextSource::of(computation, self.schema)?;
        if !source.options.makes_same_fingerprints(&self.options) {
            return None;
        }
        let stored = source.of_stored_row(&table);
        let [a, b] = self.texts;
        [(a, b), (b, a)].into_iter().find_map(|(own, other)| {
            let is_own = relation.owns(own);
            let own = own.with_varno(relid, 1).without_relabelling();
            let is_source =
                is_own && [source.expression, stored].iter().any(|text| text.without_relabelling().equals(own));
            if !is_source || !relation.outer([other, self.least])?.is_within(outer) {
                return None;
            }
            SizeLimit::new(relation, &table, &source, self.schema, other, self.least)
        })
    }
}

impl SizeLimit {
    /// The limit for the texts of a table that resemble another text; None if no size of theirs is stored.
    pub fn new(
        relation: BaseRelation,
        table: &Relation,
        source: &TextSource,
        schema: ExtensionSchema,
        other: Expression,
        least: Expression,
    ) -> Option<Self> {
        // A stored call may name its arguments or leave some out, which only folding puts in order.
        let stored = stored_size(relation, table, source, schema)?.with_folded_constants();
        let size = stored.with_first_argument(other)?.with_folded_constants();
        Some(Self { size, least, is_exact: is_exact(&source.options) })
    }

    /// The sizes, if they are known when the query is planned.
    pub fn constant(self) -> Option<SimilarSizes> {
        Some(SimilarSizes::new(self.size.value()?, self.least.value()?, self.is_exact))
    }
}

/// The call that makes the sizes of a text that a table stores or indexes.
fn stored_size(
    relation: BaseRelation,
    table: &Relation,
    source: &TextSource,
    schema: ExtensionSchema,
) -> Option<Expression> {
    let is_size =
        |call: &Expression| TextSource::of_size(*call, schema).is_some_and(|size| size.has_same_sizes(source));
    let columns = Column::all(table).filter(|column| column.is_stored && column.data_type == pg_sys::INT4OID);
    let of_column = columns.filter_map(|column| column.generation(table)).find(is_size);
    of_column.or_else(|| {
        let indexes = relation.indexes().into_iter().map(|index| Relation::open_locked(index.oid));
        indexes
            .filter_map(|index| Index::read_usable(&index, KeyExpressions::Planned))
            .find_map(|index| block_keys(table, &index).filter_map(|key| size_key(table, &index, &key)).find(is_size))
    })
}
