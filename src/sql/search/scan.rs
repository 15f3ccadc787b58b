//! The scan of indexes: the node that runs in a query.

use pgrx::PgMemoryContexts;
use pgrx::pg_sys::{self, CustomScanState, Datum, ScanKeyData, TupleTableSlot};
use pgrx::prelude::*;
use postgres::error::{raise, user_error};
use postgres::expression::{Expression, expressions, integer_value};
use postgres::ffi::NodeInstrumentation;
use postgres::heap::computed::evaluate;
use postgres::text::TextArgument;
use simhash::criterion::TextCriterion;
use simhash::fingerprint::options::Options;
use simhash::search::growth::LARGEST_DISTANCE;

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
    expressions: Expressions,
    /// None if the indexes have no scope.
    scope: Option<ScopeConditions>,
    /// None in EXPLAIN without ANALYZE, and after the end.
    pub running: Option<Running>,
}

/// The state of a scan that is executed.
pub struct Running {
    pub search: RunningSearch,
    /// Whether a search has begun: what it is for has been evaluated.
    is_begun: bool,
    pub searches: u64,
    slot: *mut TupleTableSlot,
    /// The work that PostgreSQL's counters already include.
    reported: Work,
}

pub enum RunningSearch {
    Distance(DistanceSearch),
    Bands(BandWalk, (TextCriterion, Options)),
}

/// The expressions that are evaluated when a search begins.
struct Expressions(Vec<(Role, *mut pg_sys::ExprState)>);

impl NearScan {
    /// Begins a scan, without reading any rows yet.
    ///
    /// # Safety
    /// The node is being initialised, and has the plan of a path that was offered.
    pub unsafe fn begin(node: &mut CustomScanState, is_explain_only: bool) -> Self {
        // SAFETY: the caller passes a node that is being initialised, with a plan of this scan.
        unsafe {
            let plan = &*node.ss.ps.plan.cast::<pg_sys::CustomScan>();
            let settings = Settings::from_list(plan.custom_private).unwrap_or_else(|| raise_unreadable_plan());
            let (snapshot, table) = ((*node.ss.ps.state).es_snapshot, node.ss.ss_currentRelation);
            let slot = prepare_slot(node);
            let expressions = expressions(plan.custom_exprs);
            let parent = &raw mut node.ss.ps;
            let values: Vec<_> = settings.of_role(&expressions, Role::Scope).collect();
            let scope = (!values.is_empty()).then(|| ScopeConditions::new(&settings.scope, &values, parent));
            let running = (!is_explain_only).then(|| {
                let search = match &settings.search {
                    Search::Distance(settings) => {
                        RunningSearch::Distance(DistanceSearch::new(settings, table, snapshot, slot))
                    }
                    Search::Bands(bands) => {
                        let document = settings.of_role(&expressions, Role::Criterion).find_map(constant_document);
                        let criterion = document.and_then(|document| read_text_criterion(document).ok());
                        let criterion = criterion.unwrap_or_else(|| raise_unreadable_plan());
                        let opened = bands.indexes.iter().map(|index| (*index, None));
                        let indexes = QueryIndexes::open(table, snapshot, slot, opened);
                        RunningSearch::Bands(BandWalk::new(indexes, bands.indexes.len(), bands.has_same), criterion)
                    }
                };
                Running { search, is_begun: false, searches: 0, slot, reported: Work::default() }
            });
            let of_search = settings.roles.iter().zip(&expressions);
            let of_search = of_search.filter(|(role, _)| matches!(role, Role::Query | Role::MaxDistance));
            let compiled =
                |(&role, value): (&Role, &Expression)| (role, pg_sys::ExecInitExpr(value.as_ptr().cast(), parent));
            let expressions = Expressions(of_search.map(compiled).collect());
            Self { settings, expressions, scope, running }
        }
    }

    /// The next row, in the node's scan slot; at the end, an empty slot or null.
    ///
    /// # Safety
    /// The node is running.
    pub unsafe fn next(&mut self, node: &mut CustomScanState) -> *mut TupleTableSlot {
        let Self { settings, expressions, scope, running: Some(running) } = self else { return std::ptr::null_mut() };
        if !running.is_begun {
            // SAFETY: the node is running.
            unsafe {
                // Nothing equals NULL.
                let scope = scope.as_mut().map_or_else(|| Some(Vec::new()), |scope| scope.keys());
                running.begin(settings, expressions, scope, node);
            }
        }
        let has_row = match &mut running.search {
            RunningSearch::Distance(search) => search.next(),
            RunningSearch::Bands(search, _) => search.next(),
        };
        // SAFETY: the counters are null, or the node's. The slot is valid; an empty one says that there are no more
        // rows.
        unsafe {
            if let Some(counters) = node.ss.ps.instrument.as_mut() {
                running.report(counters);
            }
            if has_row { running.slot } else { pg_sys::ExecClearTuple(running.slot) }
        }
    }

    /// Restarts the scan. Parameters may have changed.
    pub fn rescan(&mut self) {
        if let Some(running) = &mut self.running {
            running.is_begun = false;
        }
    }

    /// Releases the resources of the scan.
    pub fn end(&mut self) {
        match self.running.take().map(|running| running.search) {
            Some(RunningSearch::Distance(search)) => search.end(),
            Some(RunningSearch::Bands(search, _)) => search.indexes.end(),
            None => {}
        }
    }
}

impl Expressions {
    fn compiled(&self, role: Role) -> Option<*mut pg_sys::ExprState> {
        self.0.iter().find(|(of, _)| *of == role).map(|(_, compiled)| *compiled)
    }

    /// The value of an expression, which does not depend on the scanned row; None if it is NULL, or if the plan does
    /// not have the expression.
    ///
    /// # Safety
    /// The node is running. A value that is not passed by value is valid until the next row.
    unsafe fn value(&self, role: Role, node: &CustomScanState) -> Option<Datum> {
        // SAFETY: the expressions are those of the caller's running node.
        unsafe { evaluate(self.compiled(role)?, node.ss.ps.ps_ExprContext) }
    }

    /// The rows that a search by distance is for. None if it is for none, because the condition is NULL for every row.
    ///
    /// # Safety
    /// The node is running.
    unsafe fn goal(&self, node: &CustomScanState) -> Option<Goal> {
        // SAFETY: the caller passes the running node of the expressions. The query, a bigint, and the largest
        // distance, an integer, are passed by value.
        unsafe {
            let query = self.value(Role::Query, node).map(|query| query.value() as u64);
            let Some(compiled) = self.compiled(Role::MaxDistance) else {
                // If the query is NULL, so are all distances, and all rows may come in any order.
                let query = query.unwrap_or(0);
                return Some(Goal { query, max_distance: LARGEST_DISTANCE, is_for_all: true });
            };
            let bound = self.value(Role::MaxDistance, node)?;
            let bound = integer_value(pg_sys::exprType((*compiled).expr.cast()), bound);
            let max_distance = largest_distance(bound.unwrap_or_else(|| raise_unreadable_plan()));
            Some(Goal { query: query?, max_distance, is_for_all: false })
        }
    }

    /// What a search for near texts looks up. None if the query is NULL or has no word: no row is near it.
    ///
    /// # Safety
    /// The node is running.
    unsafe fn text_keys(
        &self,
        criterion: TextCriterion,
        options: &Options,
        node: &CustomScanState,
    ) -> Option<TextKeys> {
        // SAFETY: the caller passes the running node of the expressions. The query is a text, which is read before
        // another expression is evaluated. One that is stored in a table is detoasted, which makes a copy.
        unsafe {
            let query = TextArgument::new(self.value(Role::Query, node)?);
            let memory = (*node.ss.ps.ps_ExprContext).ecxt_per_tuple_memory;
            let keys = PgMemoryContexts::For(memory).switch_to(|_| TextKeys::of(query, criterion, options));
            keys.unwrap_or_else(|error| raise(error))
        }
    }
}

impl RunningSearch {
    /// The work of all searches.
    pub fn work(&self) -> Work {
        match self {
            Self::Distance(search) => search.work(),
            Self::Bands(search, _) => search.indexes.work(),
        }
    }
}

impl Running {
    /// Begins a search. `scope` is None if a value of the scope is NULL.
    ///
    /// # Safety
    /// The node is running.
    unsafe fn begin(
        &mut self,
        settings: &Settings,
        expressions: &Expressions,
        scope: Option<Vec<ScanKeyData>>,
        node: &CustomScanState,
    ) {
        self.is_begun = true;
        let is_again = self.searches > 0;
        self.searches += 1;
        match (&mut self.search, &settings.search) {
            (RunningSearch::Distance(search), Search::Distance(settings)) => {
                // SAFETY: the caller passes a running node.
                let goal = unsafe { expressions.goal(node) };
                search.begin(settings, goal.zip(scope), is_again);
            }
            (RunningSearch::Bands(search, (criterion, options)), _) => {
                // SAFETY: the caller passes a running node.
                let keys = unsafe { expressions.text_keys(*criterion, options, node) };
                let keys = keys.filter(|_| scope.is_some());
                search.begin(keys, scope.unwrap_or_default(), is_again);
            }
            (RunningSearch::Distance(_), Search::Bands(_)) => raise_unreadable_plan(),
        }
    }

    /// Adds to PostgreSQL's counters of the node, which parallel workers report to their leader. Entries are counted as
    /// rows that an index recheck removed, and fetches as the heap fetches of an index-only scan.
    fn report(&mut self, counters: &mut NodeInstrumentation) {
        let work = self.search.work();
        counters.nfiltered2 += (work.entries - self.reported.entries) as f64;
        counters.ntuples2 += (work.fetches - self.reported.fetches) as f64;
        self.reported = work;
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
        let kind = pg_sys::table_slot_callbacks(table);
        #[cfg(not(feature = "pg19"))]
        pg_sys::ExecInitScanTupleSlot(state, &mut node.ss, columns, kind);
        #[cfg(feature = "pg19")]
        pg_sys::ExecInitScanTupleSlot(state, &mut node.ss, columns, kind, 0);
        pg_sys::ExecAssignScanProjectionInfoWithVarno(&mut node.ss, (*plan).scan.scanrelid as _);
        node.ss.ps.qual = pg_sys::ExecInitQual((*plan).scan.plan.qual, &mut node.ss.ps);
        node.ss.ss_ScanTupleSlot
    }
}
