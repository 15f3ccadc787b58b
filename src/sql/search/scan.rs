//! The scan of block indexes: the node that runs in a query.

use pgrx::pg_sys::{self, CustomScanState, Datum, TupleTableSlot};
use pgrx::{AnyArray, FromDatum, PgMemoryContexts, PgSqlErrorCode};
use postgres::error::{raise, user_error};
use postgres::expression::{Expression, expressions, integer_value};
use postgres::heap::computed::evaluate;
use simhash::fingerprint::size::SimilarSizes;
use simhash::search::flips::Flippable;
use simhash::search::growth::LARGEST_DISTANCE;
use simhash::search::nearness::Nearness;

use super::condition::largest_distance;
use super::custom_scan::NodeInstrumentation;
use super::finder::{Finder, FinderOutcome};
use super::nearest::NearestSearch;
use super::plan::{Role, Settings};
use super::rows::FetchedRows;
use super::scope::ScopeConditions;
use crate::sql::arguments::check_radii;

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
    pub finder: Finder,
    rows: FetchedRows,
    state: SearchState,
    pub searches: u64,
    /// The entries and the fetches that PostgreSQL's counters already include.
    reported: (u64, u64),
}

/// The state of a search.
enum SearchState {
    /// It has not begun: the query and the limit have not been evaluated.
    New,
    /// It finds near rows in any order.
    Near {
        /// Whether steps are over, and a full scan finds the rest.
        is_full_scan: bool,
    },
    /// It returns rows nearest first.
    Nearest {
        nearest: Box<NearestSearch>,
        /// Whether the rows without a fingerprint follow.
        and_nulls: bool,
    },
    /// It returns the rows without a fingerprint.
    Nulls,
    Done,
}

/// The expressions that are evaluated when a search begins.
struct Expressions(Vec<(Role, *mut pg_sys::ExprState)>);

/// The rows that a search is for.
struct Goal {
    near: Nearness,
    sizes: Option<SimilarSizes>,
    /// Whether the search is for all rows, with or without a fingerprint.
    is_for_all: bool,
}

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
                let pages = pg_sys::RelationGetNumberOfBlocksInFork(table, pg_sys::ForkNumber::MAIN_FORKNUM);
                let finder = Finder::new(&settings, settings.rows_in(pages.into()), table, snapshot);
                let rows = FetchedRows::new(table, snapshot, slot);
                Running { finder, rows, state: SearchState::New, searches: 0, reported: (0, 0) }
            });
            let of_search = settings.roles.iter().zip(&expressions);
            let of_search = of_search.filter(|(role, _)| !matches!(role, Role::Fingerprint | Role::Scope));
            let compiled =
                |(role, found): (&Role, &Expression)| (*role, pg_sys::ExecInitExpr(found.as_ptr().cast(), parent));
            let expressions = Expressions(of_search.map(compiled).collect());
            Self { settings, expressions, scope, running }
        }
    }

    /// The next row, in the node's scan slot; at the end, an empty slot or null.
    ///
    /// # Safety
    /// The node is running.
    pub unsafe fn next(&mut self, node: &mut CustomScanState) -> *mut TupleTableSlot {
        let Some(running) = &mut self.running else { return std::ptr::null_mut() };
        if matches!(running.state, SearchState::New) {
            // SAFETY: the node is running. The query, a bigint, is passed by value.
            let (query, mut goal) =
                unsafe { (self.expressions.value(Role::Query, node), self.expressions.goal(&self.settings, node)) };
            if let Some(scope) = &mut self.scope {
                // SAFETY: the node is running.
                match unsafe { scope.keys() } {
                    Some(keys) => running.finder.scope = keys,
                    // Nothing equals NULL.
                    None => goal = None,
                }
            }
            running.begin(&self.settings, query.map(|query| query.value() as u64), goal);
        }
        let slot = running.next();
        // SAFETY: the counters are null, or the node's.
        if let Some(counters) = unsafe { node.ss.ps.instrument.as_mut() } {
            running.report(counters);
        }
        slot
    }

    /// Restarts the scan. Parameters may have changed.
    pub fn rescan(&mut self) {
        if let Some(running) = &mut self.running {
            running.rows.reset();
            running.state = SearchState::New;
        }
    }

    /// Releases the resources of the scan.
    pub fn end(&mut self) {
        if let Some(Running { finder, rows, .. }) = self.running.take() {
            finder.end();
            rows.end();
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

    /// The rows that the search is for. None if it is for none, because the condition is NULL for every row: the limit,
    /// the radii, the size or the least resemblance is NULL, or the radii fit no layout.
    ///
    /// # Safety
    /// The node is running.
    unsafe fn goal(&self, settings: &Settings, node: &CustomScanState) -> Option<Goal> {
        let Some(limit) = self.compiled(Role::Limit) else {
            return Some(Goal { near: Nearness::within(LARGEST_DISTANCE), sizes: None, is_for_all: true });
        };
        // SAFETY: the caller passes the running node of the expressions. The radii, an `integer[]`, are read before
        // another expression is evaluated.
        unsafe {
            let limit = integer_value(pg_sys::exprType((*limit).expr.cast()), self.value(Role::Limit, node)?);
            let max_distance = largest_distance(limit.unwrap_or_else(|| raise_unreadable_plan()));
            let mut goal = Goal { near: Nearness::within(max_distance), sizes: None, is_for_all: false };
            if self.compiled(Role::Size).is_some() {
                let size = self.value(Role::Size, node)?.value() as i32;
                let least = f64::from_bits(self.value(Role::Resemblance, node)?.value() as u64);
                goal.sizes = Some(SimilarSizes::new(size, least, settings.has_exact_sizes));
            }
            if self.compiled(Role::Radii).is_none() {
                return Some(goal);
            }
            let array = self.value(Role::Radii, node)?;
            // An array that is stored in a table is detoasted, which makes a copy.
            let memory = (*node.ss.ps.ps_ExprContext).ecxt_per_tuple_memory;
            goal.near = PgMemoryContexts::For(memory).switch_to(|_| {
                let radii = AnyArray::from_polymorphic_datum(array, false, pg_sys::INT4ARRAYOID)?;
                check_radii(max_distance, &radii).ok()
            })?;
            // NULL if the text has no feature: then the query is NULL as well.
            if let Some(flips) = self.value(Role::Flips, node).and_then(|flips| Vec::<i64>::from_datum(flips, false)) {
                let flips = flips.into_iter().map(i64::cast_unsigned);
                goal.near = goal.near.flipping(Flippable::from_masks(flips));
            }
            Some(goal)
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

impl Running {
    /// Adds to PostgreSQL's counters of the node, which parallel workers report to their leader. Entries are counted as
    /// rows that an index recheck removed, and fetches as the heap fetches of an index-only scan.
    fn report(&mut self, counters: &mut NodeInstrumentation) {
        let now = (self.finder.counts().entries, self.rows.fetches);
        counters.nfiltered2 += (now.0 - self.reported.0) as f64;
        counters.ntuples2 += (now.1 - self.reported.1) as f64;
        self.reported = now;
    }

    /// Begins a search. `query` is None if it is NULL.
    fn begin(&mut self, settings: &Settings, query: Option<u64>, goal: Option<Goal>) {
        self.searches += 1;
        // If the query is NULL, so are all distances, and all rows may come in any order.
        let query = query.or(goal.as_ref().and_then(|goal| goal.is_for_all.then_some(0)));
        self.state = match query.zip(goal) {
            Some((query, Goal { near, sizes, is_for_all })) if near.max_distance() >= 0 => {
                self.finder.begin(settings, query, near, sizes, self.searches > 1);
                if settings.is_ordered {
                    let nearest = Box::new(NearestSearch::new(&self.finder));
                    SearchState::Nearest { nearest, and_nulls: is_for_all }
                } else {
                    SearchState::Near { is_full_scan: false }
                }
            }
            _ => SearchState::Done,
        };
    }

    /// The next row in the node's slot; an empty slot at the end.
    fn next(&mut self) -> *mut TupleTableSlot {
        loop {
            pgrx::check_for_interrupts!();
            let found = match &mut self.state {
                SearchState::New | SearchState::Done => return self.rows.clear(),
                SearchState::Near { is_full_scan } => {
                    let limit = self.finder.near.max_distance().min(LARGEST_DISTANCE);
                    let full_scan = self.finder.full_scan_cost();
                    match self.finder.next(limit, &(0..=limit as u32), full_scan) {
                        FinderOutcome::Entry(entry) => Some(entry.tid),
                        FinderOutcome::Complete if !*is_full_scan => None,
                        FinderOutcome::Exhausted if !*is_full_scan && self.finder.growth.complete_within() < limit => {
                            *is_full_scan = true;
                            self.finder.begin_full_scan(true);
                            None
                        }
                        FinderOutcome::Complete | FinderOutcome::Exhausted => {
                            self.state = SearchState::Done;
                            None
                        }
                    }
                }
                SearchState::Nearest { nearest, and_nulls } => {
                    let found = nearest.next(&mut self.finder);
                    if found.is_none() {
                        self.state = if *and_nulls {
                            self.finder.begin_nulls();
                            SearchState::Nulls
                        } else {
                            SearchState::Done
                        };
                    }
                    found
                }
                SearchState::Nulls => {
                    let found = self.finder.next_null();
                    if found.is_none() {
                        self.state = SearchState::Done;
                    }
                    found
                }
            };
            if let Some(slot) = found.and_then(|tid| self.rows.fetch(tid)) {
                return slot;
            }
        }
    }
}
