//! Paths that search for near texts by the indexes on their bands.

use std::cell::RefCell;

use pgrx::pg_sys::{self, Oid};
use postgres::catalog::index::ExpressionForm;
use postgres::catalog::relation::Relation;
use postgres::planner::base_relation::{BaseRelation, Costs};
use postgres::planner::planner_info::Compared;
use postgres::planner::row_estimate::ConditionEstimate;
use postgres::text::TextArgument;
use postgres::text_identity::CachedText;
use simhash::criterion::TextCriterion;
use simhash::fingerprint::options::Options;

use super::estimate::MIN_SHARE_WITH_NEAR_ROW;
use super::near_texts::{NearTexts, TextCondition};
use super::other_options::{warn_of_other_bands, warn_of_too_few_bands};
use super::plan::{Role, Search};
use super::scoped_table::ScopedTable;
use crate::sql::lookup::band_indexes::{BandIndex, Bands, band_indexes};
use crate::sql::lookup::text_keys::TextKeys;

/// The conditions on texts of a relation, with the indexes that serve them.
pub struct TextPaths {
    relation: BaseRelation,
    searches: Vec<TextSearch>,
}

struct TextSearch {
    condition: TextCondition,
    /// The indexes on the bands of its text that its criterion compares.
    indexes: Vec<BandIndex>,
    /// The share of the rows that have a band of the query, by the statistics on bands without the option `same` and on
    /// bands with it; None without statistics.
    shares: [Option<f64>; 2],
}

thread_local! {
    /// The last queries with known values, the most recently used first. Each partition of a table needs their keys.
    static CACHED_QUERIES: RefCell<Vec<CachedQuery>> = const { RefCell::new(Vec::new()) };
}

struct CachedQuery {
    text: CachedText,
    criterion: TextCriterion,
    options: Options,
    /// None if the text has no feature, or cannot be read.
    keys: Option<TextKeys>,
}

/// The number of queries that are cached, for a statement that has several.
const MAX_CACHED_QUERIES: usize = 4;
/// The longest query that is cached, in bytes.
const MAX_CACHED_QUERY_BYTES: usize = 1 << 20;
/// The share of the candidates that have the same numbers: PostgreSQL's default for an equality without statistics.
const SHARE_SAME_NUMBERS: f64 = 1.0 / 200.0; // DEFAULT_NUM_DISTINCT of utils/selfuncs.h

impl TextPaths {
    /// Reads the conditions on texts of a relation. Warns if indexes on bands of a text do not serve its condition.
    pub fn of(relation: BaseRelation) -> Self {
        // A usable index has a band, a size and a fingerprint as keys, one after the other.
        let may_serve =
            |keys: &[Oid], _| keys.windows(3).any(|keys| keys == [pg_sys::INT4OID, pg_sys::INT4OID, pg_sys::INT8OID]);
        let indexes = if relation.is_table() { relation.indexes(may_serve) } else { Vec::new() };
        let conditions = TextCondition::all_of(relation, !indexes.is_empty());
        if conditions.is_empty() || indexes.is_empty() {
            let search_for = |condition| TextSearch { condition, indexes: Vec::new(), shares: [None; 2] };
            return Self { relation, searches: conditions.into_iter().map(search_for).collect() };
        }
        let table = Relation::open_locked(relation.table());
        let indexes = band_indexes(&table, indexes.into_iter().map(Relation::open_locked), ExpressionForm::Planned);
        let search_for = |condition| TextSearch::new(relation, &table, condition, &indexes);
        Self { relation, searches: conditions.into_iter().filter_map(search_for).collect() }
    }

    pub fn is_empty(&self) -> bool {
        self.searches.is_empty()
    }

    /// Offers the paths of the conditions whose bands are all indexed.
    pub fn offer(&self) {
        for search in &self.searches {
            let (relation, outer) = (self.relation, search.condition.outer);
            let tables = ScopedTable::by_scope(relation, outer, &search.indexes, |index| (index.oid, &index.scope));
            for (table, indexes) in tables {
                search.offer(&table, &indexes, false);
                search.offer(&table, &indexes, true);
            }
        }
    }

    /// The estimates of the conditions for which there are statistics.
    pub fn estimates(&self) -> Vec<ConditionEstimate> {
        let rows = self.relation.rows();
        let estimates = self.searches.iter().filter_map(|search| {
            let TextCondition { query_condition: condition, text, query, .. } = search.condition;
            // The other table of a join has one copy of a row, whatever its size. Other near rows grow with its size.
            let others = search.near_rows(rows)? - 1.0;
            let share = others / rows + 1.0 / self.relation.planner().rows_of_largest([text, query]).max(rows);
            Some(ConditionEstimate { condition, share, share_of_outer: others.clamp(MIN_SHARE_WITH_NEAR_ROW, 1.0) })
        });
        estimates.collect()
    }
}

impl TextSearch {
    /// The search for the rows that fulfil a condition; None if the condition is within another one. Warns if the table
    /// has indexes on bands of the text, and they do not serve the condition.
    fn new(relation: BaseRelation, table: &Relation, condition: TextCondition, indexed: &[BandIndex]) -> Option<Self> {
        let NearTexts { criterion: TextCriterion { bands, .. }, options, .. } = &condition.near;
        let text = condition.text.as_stored(relation.relid());
        let matching = indexed.iter().filter(|index| index.is_of_text(table, text));
        let (serving, others): (Vec<_>, Vec<_>) = matching.partition(|index| index.call.options.has_bands_for(options));
        let indexed_band_count =
            Bands::of(serving.iter().copied()).iter().map(|bands| bands.indexes.len()).max().unwrap_or(0);
        if serving.is_empty() {
            others.first().inspect(|other| warn_of_other_bands(table, &other.call));
        } else if indexed_band_count < *bands {
            warn_of_too_few_bands(table, indexed_band_count, *bands);
        }
        if !condition.is_whole {
            return None;
        }
        let indexes: Vec<_> = serving.into_iter().filter(|index| index.call.band < *bands).cloned().collect();
        let shares = [false, true].map(|has_same| share_near(relation, table, &condition, &indexes, has_same));
        Some(Self { condition, indexes, shares })
    }

    /// Offers the path that looks up the bands in indexes of one scope: on bands with the option `same` if `has_same`,
    /// otherwise on bands without it. None if a band is not indexed.
    fn offer(&self, table: &ScopedTable, indexes: &[&BandIndex], has_same: bool) -> Option<()> {
        let TextCondition { near, query, .. } = &self.condition;
        let bands = near.criterion.bands;
        let is_on = |index: &BandIndex, band| index.call.band == band && index.call.has_same() == has_same;
        let find_index = |band| indexes.iter().find(|index| is_on(index, band)).map(|index| index.oid);
        let indexes: Vec<_> = (0..bands).map(find_index).collect::<Option<_>>()?;
        let expressions = [(Role::Query, *query), (Role::Criterion, near.document)];
        let costs = Costs { startup: 0.0, total: self.cost(table, &indexes, has_same) };
        table.offer(costs, false, expressions, Search::Bands { indexes, has_same });
        Some(())
    }

    fn cost(&self, table: &ScopedTable, indexes: &[Oid], has_same: bool) -> f64 {
        let (relation, bands) = (table.relation, indexes.len() as f64);
        // Each band has about as many entries as there are candidates.
        let candidates = (table.rows * self.shares[usize::from(has_same)].unwrap_or(0.0)).max(1.0);
        let page_counts = indexes.iter().filter_map(|index| relation.index_pages(*index));
        let (pages, leaves) = page_counts.fold((0.0, 0.0), |(all, leaves), pages| {
            (all + pages, leaves + (candidates * pages / relation.rows()).ceil())
        });
        // A btree has entries with equal keys in the order of their tids, and so of the pages.
        let fetched = candidates.min(relation.pages());
        table.look_up_cost(bands, leaves, pages, bands * candidates) + table.fetch_cost(candidates, fetched)
    }

    /// The expected number of near rows among `rows` rows, at least one; None without statistics.
    fn near_rows(&self, rows: f64) -> Option<f64> {
        let share_agreeing = if self.condition.near.options.same.numbers { SHARE_SAME_NUMBERS } else { 1.0 };
        let [plain, with_same] = self.shares;
        with_same.or(plain.map(|share| share * share_agreeing)).map(|share| (share * rows).max(1.0))
    }
}

/// The expected share of near rows: the mean, over the bands of the query, of the share of rows that have the band.
/// Near rows lack some of the bands, and other rows have some. But in seven sets of documents, at the default
/// resemblance, the result is within a factor of 10 of the truth for .97 to all of the texts (record `dedup`). None
/// without statistics.
fn share_near(
    relation: BaseRelation,
    table: &Relation,
    condition: &TextCondition,
    indexes: &[BandIndex],
    has_same: bool,
) -> Option<f64> {
    let indexes: Vec<_> = indexes.iter().filter(|index| index.call.has_same() == has_same).collect();
    if indexes.is_empty() {
        return None;
    }
    let NearTexts { criterion, options, .. } = &condition.near;
    let text = relation.planner().known_value(condition.query).and_then(|query| query.text_argument());
    let keys = text.and_then(|text| cached_keys(text, *criterion, options));
    let band_share = |index: &BandIndex| {
        let band = index.key.expression(table)?.in_query(relation.relid());
        let value = match &keys {
            Some(keys) => Compared::Constant(keys.band(index.call.band, has_same)),
            // Assume that the texts of a join are as common as the texts of the table.
            None if !condition.outer.is_empty() => Compared::InOtherRow,
            None => Compared::Unknown,
        };
        relation.planner().share_equal(band, value)
    };
    let shares: Vec<_> = indexes.into_iter().filter_map(band_share).collect();
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}

/// The keys that a search for a text looks up, cached for the last few texts. None if the text has no feature, cannot
/// be read, or is too long to be cached, since it would be read again for each partition.
fn cached_keys(text: TextArgument<'_>, criterion: TextCriterion, options: &Options) -> Option<TextKeys> {
    let identity = text.identity();
    CACHED_QUERIES.with_borrow_mut(|queries| {
        let is_same = |query: &CachedQuery| {
            query.text.has_identity(identity) && query.criterion == criterion && query.options == *options
        };
        if let Some(position) = queries.iter().position(is_same) {
            queries[..=position].rotate_right(1);
            return queries[0].keys.clone();
        }
        let mut cached_text = CachedText::default();
        if !cached_text.store(identity, MAX_CACHED_QUERY_BYTES) {
            return None;
        }
        let keys = TextKeys::of(text, criterion, options).ok().flatten();
        queries.truncate(MAX_CACHED_QUERIES - 1);
        queries.insert(0, CachedQuery { text: cached_text, criterion, options: options.clone(), keys: keys.clone() });
        keys
    })
}
