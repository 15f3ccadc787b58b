//! The scan of indexes: the node that runs in a query.

use pgrx::PgMemoryContexts;
use pgrx::pg_sys::{self, CustomScanState, ExprState, TupleTableSlot};
use pgrx::prelude::*;
use postgres::catalog::types::integer_value;
use postgres::error::{raise, user_error};
use postgres::expression::expressions;
use postgres::ffi::NodeInstrumentation;
use postgres::heap::prepared_expression::evaluate;
use postgres::text::TextArgument;
use simhash::criterion::TextCriterion;
use simhash::fingerprint::options::Options;
use simhash::search::growth::MAX_DISTANCE;

use super::condition::largest_distance;
use super::distance_search::{DistanceSearch, Goal};
use super::plan::{Role, Search, Settings};
use super::scope::ScopeConditions;
use crate::sql::fingerprint::options::read_text_criterion;
use crate::sql::indexed::recognise::constant_document;
use crate::sql::lookup::band_walk::BandWalk;
use crate::sql::lookup::query_indexes::{QueryIndexes, Work};
use crate::sql::lookup::text_keys::TextKeys;

/// A scan that finds near rows, or returns rows nearest first.
pub struct NearScan {
    pub settings: Settings,
    expressions: GoalExpressions,
    /// None if the indexes have no scope.
    scope: Option<ScopeConditions>,
    slot: *mut TupleTableSlot,
    /// None in EXPLAIN without ANALYZE, and after the end.
    pub search: Option<RunningSearch>,
    /// Whether the search has begun, with the values of its expressions.
    has_begun: bool,
    /// The work that PostgreSQL's counters already include.
    reported: Work,
}

/// A search whose indexes are open.
pub enum RunningSearch {
    Distance(DistanceSearch),
    /// A search for near texts, with the criterion and its options.
    Bands(BandWalk, (TextCriterion, Options)),
}

/// The expressions of a search's goal. They belong to the node of the scan, and do not depend on the scanned row.
struct GoalExpressions {
    query: Option<*mut ExprState>,
    /// None if the search is for all rows.
    max_distance: Option<*mut ExprState>,
    context: *mut pg_sys::ExprContext,
}

impl NearScan {
    /// Begins a scan, without reading any rows yet.
    ///
    /// # Safety
    /// The node is being initialised, has the plan of a path that was offered, and lives as long as the result.
    pub unsafe fn begin(node: &mut CustomScanState, is_explain_only: bool) -> Self {
        // SAFETY: the caller passes a node that is being initialised, with a plan of this scan.
        unsafe {
            let plan = &*node.ss.ps.plan.cast::<pg_sys::CustomScan>();
            let settings = Settings::from_list(plan.custom_private).unwrap_or_else(|| raise_unreadable_plan());
            let (snapshot, table) = ((*node.ss.ps.state).es_snapshot, node.ss.ss_currentRelation);
            let slot = prepare_slot(node);
            let (context, parent) = (node.ss.ps.ps_ExprContext, &raw mut node.ss.ps);
            let expressions = expressions(plan.custom_exprs);
            let of_role = |role| settings.of_role(&expressions, role);
            let values: Vec<_> = of_role(Role::Scope).collect();
            let scope = (!values.is_empty()).then(|| ScopeConditions::new(&settings.scope, &values, parent));
            let search = (!is_explain_only).then(|| {
                let open_indexes = QueryIndexes::open(table, snapshot, slot, settings.indexes());
                match &settings.search {
                    Search::Distance(settings) => {
                        let pages = pg_sys::RelationGetNumberOfBlocksInFork(table, pg_sys::ForkNumber::MAIN_FORKNUM);
                        RunningSearch::Distance(DistanceSearch::new(settings, pages.into(), open_indexes))
                    }
                    Search::Bands { indexes, has_same } => {
                        let document = of_role(Role::Criterion).find_map(constant_document);
                        let criterion = document.and_then(|document| read_text_criterion(document).ok());
                        let criterion = criterion.unwrap_or_else(|| raise_unreadable_plan());
                        RunningSearch::Bands(BandWalk::new(open_indexes, indexes.len(), *has_same), criterion)
                    }
                }
            });
            let compile = |role| Some(pg_sys::ExecInitExpr(of_role(role).next()?.as_ptr().cast(), parent));
            let (query, max_distance) = (compile(Role::Query), compile(Role::MaxDistance));
            let expressions = GoalExpressions { query, max_distance, context };
            Self { settings, expressions, scope, slot, search, has_begun: false, reported: Work::default() }
        }
    }

    /// The next row, in the node's scan slot; at the end, an empty slot or null. Adds to PostgreSQL's counters of the
    /// node.
    pub fn next(&mut self, counters: Option<&mut NodeInstrumentation>) -> *mut TupleTableSlot {
        let Some(search) = &mut self.search else { return std::ptr::null_mut() };
        if !self.has_begun {
            self.has_begun = true;
            search.begin(&self.expressions, self.scope.as_mut());
        }
        let has_row = match search {
            RunningSearch::Distance(search) => search.next(),
            RunningSearch::Bands(search, _) => search.next(),
        };
        if let Some(counters) = counters {
            // Parallel workers report these counters to their leader. Entries are counted as rows that an index recheck
            // removed, and fetches as the heap fetches of an index-only scan.
            let work = search.work();
            counters.nfiltered2 += (work.entries - self.reported.entries) as f64;
            counters.ntuples2 += (work.fetches - self.reported.fetches) as f64;
            self.reported = work;
        }
        // SAFETY: the slot is the node's. An empty slot means that no more rows exist.
        if has_row { self.slot } else { unsafe { pg_sys::ExecClearTuple(self.slot) } }
    }

    /// Restarts the scan. Parameters may have changed.
    pub fn rescan(&mut self) {
        self.has_begun = false;
    }

    pub fn end(&mut self) {
        match self.search.take() {
            Some(RunningSearch::Distance(search)) => search.walk.indexes.end(),
            Some(RunningSearch::Bands(search, _)) => search.indexes.end(),
            None => {}
        }
    }
}

impl RunningSearch {
    /// Begins a search for the current values of the expressions, within a scope if there is one.
    fn begin(&mut self, expressions: &GoalExpressions, scope: Option<&mut ScopeConditions>) {
        // Nothing equals NULL, so no row is within the scope if one of its values is NULL.
        let scope = scope.map_or_else(|| Some(Vec::new()), ScopeConditions::keys);
        match self {
            Self::Distance(search) => search.begin(expressions.goal().zip(scope)),
            Self::Bands(search, (criterion, options)) => {
                search.begin(expressions.text_keys(*criterion, options).zip(scope));
            }
        }
    }

    pub fn work(&self) -> Work {
        match self {
            Self::Distance(search) => search.walk.indexes.work(),
            Self::Bands(search, _) => search.indexes.work(),
        }
    }
}

impl GoalExpressions {
    /// The goal of a search by distance; None if the condition is NULL for every row, so that no row is found.
    fn goal(&self) -> Option<Goal> {
        // SAFETY: the node is running. The query, a bigint, and the largest distance, an integer, are passed by value.
        unsafe {
            let query = evaluate(self.query?, self.context).map(|query| query.value() as u64);
            let Some(max_distance) = self.max_distance else {
                // If the query is NULL, so are all distances, and all rows may come in any order.
                let query = query.unwrap_or(0);
                return Some(Goal { query, max_distance: MAX_DISTANCE, nulls_follow: true });
            };
            let bound = evaluate(max_distance, self.context)?;
            let bound = integer_value(pg_sys::exprType((*max_distance).expr.cast()), bound);
            let max_distance = largest_distance(bound.unwrap_or_else(|| raise_unreadable_plan()));
            Some(Goal { query: query?, max_distance, nulls_follow: false })
        }
    }

    /// The keys that a search for near texts looks up. None if the query is NULL or has no word: no row is near it.
    fn text_keys(&self, criterion: TextCriterion, options: &Options) -> Option<TextKeys> {
        // SAFETY: the node is running. The query is a text, which is read before another expression is evaluated. A
        // text that is stored in a table is detoasted, which makes a copy.
        unsafe {
            let query = TextArgument::new(evaluate(self.query?, self.context)?);
            let memory = (*self.context).ecxt_per_tuple_memory;
            let keys = PgMemoryContexts::For(memory).switch_to(|_| TextKeys::of(query, criterion, options));
            keys.unwrap_or_else(|error| raise(error))
        }
    }
}

/// Raises the error for a plan that this library did not make.
fn raise_unreadable_plan() -> ! {
    raise(user_error(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, "the plan of a search is not one of pg_simhash"))
}

/// Gives the node a slot for rows of its table.
///
/// PostgreSQL has given the node a virtual slot, and has compiled the conditions and the projection for it. Before
/// version 16, a node cannot ask for another kind of slot.
///
/// # Safety
/// The node is being initialised.
unsafe fn prepare_slot(node: &mut CustomScanState) -> *mut TupleTableSlot {
    // SAFETY: the node is being initialised, with an open table.
    unsafe {
        let (table, plan) = (node.ss.ss_currentRelation, node.ss.ps.plan.cast::<pg_sys::CustomScan>());
        let (state, columns) = (node.ss.ps.state, (*table).rd_att);
        let callbacks = pg_sys::table_slot_callbacks(table);
        #[cfg(not(feature = "pg19"))]
        pg_sys::ExecInitScanTupleSlot(state, &mut node.ss, columns, callbacks);
        #[cfg(feature = "pg19")]
        pg_sys::ExecInitScanTupleSlot(state, &mut node.ss, columns, callbacks, 0);
        pg_sys::ExecAssignScanProjectionInfoWithVarno(&mut node.ss, (*plan).scan.scanrelid as _);
        node.ss.ps.qual = pg_sys::ExecInitQual((*plan).scan.plan.qual, &mut node.ss.ps);
        node.ss.ss_ScanTupleSlot
    }
}
