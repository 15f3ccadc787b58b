//! The scan of block indexes: the node that runs in a query.

use std::ffi::CStr;

use pgrx::pg_sys::TupleTableSlot;
use pgrx::pg_sys::{self, CustomScanState, Datum};
use pgrx::{AnyArray, FromDatum, PgMemoryContexts, PgSqlErrorCode};
use postgres::error::{raise, user_error};
use postgres::expression::{expressions, integer_value};
use postgres::heap::computed::evaluate;
use postgres::planner::custom_scan::{CustomScan, NodeInstrumentation};
use simhash::fingerprint::size::SimilarSizes;
use simhash::search::flips::Flippable;
use simhash::search::growth::LARGEST_DISTANCE;
use simhash::search::nearness::Nearness;

use super::explain::{ScanWork, explain};
use super::finder::{Finder, FinderOutcome, NearEntry};
use super::nearest::{Capacity, Nearby, NearestSearch};
use super::plan::Settings;
use super::rows::FetchedRows;
use super::scope::ScopeConditions;
use crate::sql::radii::check_radii;

/// A scan that finds near rows, or returns rows nearest first.
pub struct NearScan {
    settings: Settings,
    expressions: Expressions,
    /// None if the indexes have no scope.
    scope: Option<ScopeConditions>,
    /// None in EXPLAIN without ANALYZE, and after the end.
    running: Option<Running>,
}

/// The state of a scan that is executed.
struct Running {
    finder: Finder,
    rows: FetchedRows,
    /// The slot of the node.
    slot: *mut TupleTableSlot,
    state: SearchState,
    searches: u64,
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
    /// It returns all rows with a fingerprint. The rows without a fingerprint follow.
    All,
    /// It returns the rows without a fingerprint.
    Nulls,
    Done,
}

/// The expressions that are evaluated when a search begins.
struct Expressions {
    query: *mut pg_sys::ExprState,
    /// The largest distance, an integer of the type `limit_type`; null if the search is for all rows.
    limit: *mut pg_sys::ExprState,
    limit_type: pg_sys::Oid,
    /// The radii; null without radii.
    radii: *mut pg_sys::ExprState,
    /// The bits to flip; null without flips.
    flips: *mut pg_sys::ExprState,
    /// The size of the text that is compared, an integer, and the least resemblance, a double; null without sizes.
    sizes: [*mut pg_sys::ExprState; 2],
}

/// The rows that a search is for.
enum Goal {
    All,
    Near(Nearness, Option<SimilarSizes>),
    /// No rows, because the condition is NULL for every row: the limit, the radii, the size or the least resemblance is
    /// NULL, or the radii fit no layout.
    None,
}

impl CustomScan for NearScan {
    const NAME: &'static CStr = c"SimhashScan";

    unsafe fn begin(node: &mut CustomScanState, is_explain_only: bool) -> Self {
        // SAFETY: the node is being initialised; its plan was made by `plan`.
        unsafe {
            let plan = &*node.ss.ps.plan.cast::<pg_sys::CustomScan>();
            let settings = Settings::from_list(plan.custom_private).unwrap_or_else(|| raise_unreadable_plan());
            let (state, table) = (node.ss.ps.state, node.ss.ss_currentRelation);
            let slot = prepare_slot(node, settings.only_column.is_some());
            let expressions = expressions(plan.custom_exprs);
            let parent = &raw mut node.ss.ps;
            let compile = |index: usize| match expressions.get(index) {
                Some(expression) => pg_sys::ExecInitExpr(expression.as_ptr().cast(), parent),
                None => std::ptr::null_mut(),
            };
            let (fingerprint, query) = (compile(0), compile(1));
            let [limit, radii, flips] = [settings.limit_index(), settings.radii_index(), settings.flips_index()]
                .map(|index| index.map_or(std::ptr::null_mut(), compile));
            let sizes = settings.sizes_index();
            let sizes = [0, 1].map(|next| sizes.map_or(std::ptr::null_mut(), |size| compile(size + next)));
            let limit_type = settings.limit_index().and_then(|index| expressions.get(index));
            let limit_type = limit_type.map_or(pg_sys::InvalidOid, |limit| limit.value_type());
            let values = expressions.get(settings.scope_index()..).unwrap_or_default();
            let scope = (!values.is_empty()).then(|| ScopeConditions::new(&settings.scope, values, parent));
            let running = (!is_explain_only).then(|| {
                let rows_slot = match settings.only_column {
                    Some(_) => {
                        pg_sys::ExecInitExtraTupleSlot(state, (*table).rd_att, pg_sys::table_slot_callbacks(table))
                    }
                    None => slot,
                };
                let context = node.ss.ps.ps_ExprContext;
                let rows = FetchedRows::new(table, (*state).es_snapshot, rows_slot, fingerprint, context);
                let pages = pg_sys::RelationGetNumberOfBlocksInFork(table, pg_sys::ForkNumber::MAIN_FORKNUM);
                let finder = Finder::new(&settings, settings.rows_in(pages.into()));
                Running { finder, rows, slot, state: SearchState::New, searches: 0, reported: (0, 0) }
            });
            let expressions = Expressions { query, limit, limit_type, radii, flips, sizes };
            Self { settings, expressions, scope, running }
        }
    }

    unsafe fn next(&mut self, node: &mut CustomScanState) -> *mut TupleTableSlot {
        let Some(running) = &mut self.running else { return std::ptr::null_mut() };
        if matches!(running.state, SearchState::New) {
            // SAFETY: the node is running. The query, a bigint, is passed by value.
            let (query, goal) =
                unsafe { (value(node, self.expressions.query), self.expressions.goal(&self.settings, node)) };
            if let Some(scope) = &mut self.scope {
                // SAFETY: the node is running.
                match unsafe { scope.keys(node) } {
                    Some(keys) => running.finder.set_scope(keys),
                    // Nothing equals NULL.
                    None => {
                        running.searches += 1;
                        running.state = SearchState::Done;
                        return running.next(&self.settings);
                    }
                }
            }
            running.begin(&self.settings, query.map(|query| query.value() as u64), goal);
        }
        let slot = running.next(&self.settings);
        // SAFETY: the counters are null, or the node's.
        if let Some(counters) = unsafe { node.ss.ps.instrument.as_mut() } {
            running.report(counters);
        }
        slot
    }

    fn rescan(&mut self) {
        if let Some(running) = &mut self.running {
            running.rows.reset();
            running.state = SearchState::New;
        }
    }

    unsafe fn end(&mut self) {
        if let Some(Running { finder, mut rows, .. }) = self.running.take() {
            finder.end();
            rows.end();
        }
    }

    unsafe fn explain(&self, node: &CustomScanState, ancestors: *mut pg_sys::List, output: *mut pg_sys::ExplainState) {
        // SAFETY: the caller passes the arguments of `ExplainCustomScan`.
        unsafe { explain(&self.settings, self.running.as_ref().map(Running::work), node, ancestors, output) };
    }
}

impl Expressions {
    /// Evaluates the limit, the radii, the flips and the sizes.
    ///
    /// # Safety
    /// The node is running.
    unsafe fn goal(&self, settings: &Settings, node: &CustomScanState) -> Goal {
        if self.limit.is_null() {
            return Goal::All;
        }
        // SAFETY: the caller passes the running node of the expressions. The radii, an `integer[]`, are read before
        // another expression is evaluated.
        unsafe {
            let Some(limit) = value(node, self.limit) else { return Goal::None };
            let Some(limit) = integer_value(self.limit_type, limit) else { raise_unreadable_plan() };
            let max_distance = settings.largest_distance(limit);
            let mut sizes = None;
            if let Some(is_exact) = settings.has_exact_sizes {
                let [size, least] = self.sizes.map(|expression| value(node, expression));
                let Some((size, least)) = size.zip(least) else { return Goal::None };
                sizes = Some(SimilarSizes::new(size.value() as i32, f64::from_bits(least.value() as u64), is_exact));
            }
            if self.radii.is_null() {
                return Goal::Near(Nearness::within(max_distance), sizes);
            }
            let Some(array) = value(node, self.radii) else { return Goal::None };
            // An array that is stored in a table is detoasted, which makes a copy.
            let memory = (*node.ss.ps.ps_ExprContext).ecxt_per_tuple_memory;
            let near = PgMemoryContexts::For(memory).switch_to(|_| {
                let radii = AnyArray::from_polymorphic_datum(array, false, pg_sys::INT4ARRAYOID)?;
                check_radii(max_distance, &radii).ok()
            });
            // NULL if the text has no feature: then the query is NULL as well.
            let flips = value(node, self.flips).and_then(|flips| Vec::<i64>::from_datum(flips, false));
            let flipping = |near: Nearness, flips: Vec<i64>| {
                near.flipping(Flippable::from_masks(flips.into_iter().map(i64::cast_unsigned)))
            };
            let near = near.map(|near| flips.map_or(near, |flips| flipping(near, flips)));
            near.map_or(Goal::None, |near| Goal::Near(near, sizes))
        }
    }
}

/// Raises the error for a plan that this library did not make.
fn raise_unreadable_plan() -> ! {
    raise(user_error(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, "the plan of a search is not one of pg_simhash"))
}

/// Gives the node a slot for rows of its table or, if `has_one_column`, a virtual slot.
///
/// PostgreSQL has given the node a virtual slot, and has compiled the conditions and the projection for it. Before
/// version 16, a node cannot ask for another kind of slot.
///
/// # Safety
/// The node is being initialised.
unsafe fn prepare_slot(node: &mut CustomScanState, has_one_column: bool) -> *mut TupleTableSlot {
    // SAFETY: the node is being initialised, with an open table.
    unsafe {
        let (table, plan) = (node.ss.ss_currentRelation, node.ss.ps.plan.cast::<pg_sys::CustomScan>());
        let kind = if has_one_column { &raw const pg_sys::TTSOpsVirtual } else { pg_sys::table_slot_callbacks(table) };
        let (state, columns) = (node.ss.ps.state, (*table).rd_att);
        #[cfg(not(feature = "pg19"))]
        pg_sys::ExecInitScanTupleSlot(state, &mut node.ss, columns, kind);
        #[cfg(feature = "pg19")]
        pg_sys::ExecInitScanTupleSlot(state, &mut node.ss, columns, kind, 0);
        if has_one_column {
            // EvalPlanQual rechecks a row in a slot of another kind.
            node.ss.ps.scanopsfixed = false;
            node.ss.ps.scanops = std::ptr::null();
        }
        pg_sys::ExecAssignScanProjectionInfoWithVarno(&mut node.ss, (*plan).scan.scanrelid as _);
        node.ss.ps.qual = pg_sys::ExecInitQual((*plan).scan.plan.qual, &mut node.ss.ps);
        node.ss.ss_ScanTupleSlot
    }
}

/// The value of an expression that does not depend on the scanned row; None if it is NULL, or if there is no
/// expression.
///
/// # Safety
/// The node is running, and the expression belongs to it. A value that is not passed by value is valid until the next
/// row.
unsafe fn value(node: &CustomScanState, expression: *mut pg_sys::ExprState) -> Option<Datum> {
    if expression.is_null() {
        return None;
    }
    // SAFETY: the caller passes an expression of the running node.
    unsafe { evaluate(expression, node.ss.ps.ps_ExprContext) }
}

impl Running {
    /// Adds to PostgreSQL's counters of the node, which parallel workers report to their leader. Entries are counted as
    /// rows that an index recheck removed, and fetches as the heap fetches of an index-only scan.
    fn report(&mut self, counters: &mut NodeInstrumentation) {
        let now = (self.finder.counts().entries, self.rows.fetches());
        counters.nfiltered2 += (now.0 - self.reported.0) as f64;
        counters.ntuples2 += (now.1 - self.reported.1) as f64;
        self.reported = now;
    }

    /// The work of the scan.
    fn work(&self) -> ScanWork {
        ScanWork { radii: self.finder.radii(), counts: self.finder.counts(), searches: self.searches }
    }

    fn begin(&mut self, settings: &Settings, query: Option<u64>, goal: Goal) {
        self.searches += 1;
        let is_for_all = matches!(goal, Goal::All);
        let near = match goal {
            Goal::All => Some((Nearness::within(LARGEST_DISTANCE), None)),
            Goal::Near(near, sizes) => Some((near, sizes)),
            Goal::None => None,
        };
        self.state = match (query, near) {
            (None, _) if is_for_all => {
                // All distances are NULL, so the rows may come in any order.
                self.finder.begin_full_scan(&self.rows, false);
                SearchState::All
            }
            (None, _) | (_, None) => SearchState::Done,
            (Some(query), Some((near, sizes))) => {
                self.finder.begin(settings, query, near, sizes, self.searches > 1);
                if settings.is_ordered {
                    let needs_visibility = settings.only_column.is_some();
                    let full_scan = self.finder.full_scan_cost();
                    let (limit, capacity) = (near.max_distance(), Capacity::new(settings.expected));
                    let nearest =
                        NearestSearch::new(limit, self.finder.growth(), full_scan, capacity, needs_visibility);
                    SearchState::Nearest { nearest: Box::new(nearest), and_nulls: is_for_all }
                } else {
                    SearchState::Near { is_full_scan: false }
                }
            }
        };
    }

    /// The next row in the node's slot; an empty slot at the end.
    fn next(&mut self, settings: &Settings) -> *mut TupleTableSlot {
        loop {
            pgrx::check_for_interrupts!();
            match &mut self.state {
                SearchState::New | SearchState::Done => {
                    // SAFETY: the slot is the node's.
                    return unsafe { pg_sys::ExecClearTuple(self.slot) };
                }
                SearchState::Near { is_full_scan } => {
                    let limit = self.finder.near().max_distance();
                    let Ok(most) = u32::try_from(limit) else {
                        self.state = SearchState::Done;
                        continue;
                    };
                    let full_scan = self.finder.full_scan_cost();
                    match self.finder.next(&mut self.rows, limit, &(0..=most), full_scan) {
                        FinderOutcome::Entry(entry) => {
                            if let Some(slot) = self.return_found(settings, entry) {
                                return slot;
                            }
                        }
                        FinderOutcome::Complete if !*is_full_scan => {}
                        FinderOutcome::Exhausted
                            if !*is_full_scan
                                && self.finder.growth().complete_within() < limit.min(LARGEST_DISTANCE) =>
                        {
                            *is_full_scan = true;
                            self.finder.begin_full_scan(&self.rows, true);
                        }
                        FinderOutcome::Complete | FinderOutcome::Exhausted => self.state = SearchState::Done,
                    }
                }
                SearchState::Nearest { nearest, and_nulls } => match nearest.next(&mut self.finder, &mut self.rows) {
                    Some(Nearby::Found(entry)) => {
                        if let Some(slot) = self.return_found(settings, entry) {
                            return slot;
                        }
                    }
                    Some(Nearby::Stored(entry)) => {
                        if entry.is_visible_to_all {
                            return self.return_column(settings, Some(entry.fingerprint), entry.tid);
                        }
                        if self.rows.fetch(entry.tid) {
                            return self.return_row(settings, Some(entry.fingerprint));
                        }
                    }
                    None if *and_nulls => self.begin_nulls(),
                    None => self.state = SearchState::Done,
                },
                SearchState::All | SearchState::Nulls => match self.finder.next_any() {
                    Some(tid) => {
                        if self.rows.fetch(tid) {
                            let fingerprint = settings.only_column.and_then(|column| self.column_of_row(column));
                            return self.return_row(settings, fingerprint);
                        }
                    }
                    None if matches!(self.state, SearchState::All) => self.begin_nulls(),
                    None => self.state = SearchState::Done,
                },
            }
        }
    }

    fn begin_nulls(&mut self) {
        self.finder.begin_nulls(&self.rows);
        self.state = SearchState::Nulls;
    }

    /// Returns the row of an entry that the finder has just found; None if the snapshot does not see it.
    fn return_found(&mut self, settings: &Settings, entry: NearEntry) -> Option<*mut TupleTableSlot> {
        let NearEntry { fingerprint, tid, is_fetched, .. } = entry;
        if !is_fetched {
            // The index page of the entry is still pinned.
            if settings.only_column.is_some() && self.rows.is_visible_to_all(tid) {
                return Some(self.return_column(settings, Some(fingerprint), tid));
            }
            if !self.finder.fetch(&mut self.rows) {
                return None;
            }
        }
        Some(self.return_row(settings, Some(fingerprint)))
    }

    /// Returns the row that was fetched last.
    fn return_row(&mut self, settings: &Settings, fingerprint: Option<u64>) -> *mut TupleTableSlot {
        match settings.only_column {
            Some(_) => self.return_column(settings, fingerprint, self.rows.tid()),
            None => self.slot,
        }
    }

    /// Returns a row of which only the fingerprint is needed.
    fn return_column(
        &mut self,
        settings: &Settings,
        fingerprint: Option<u64>,
        tid: pg_sys::ItemPointerData,
    ) -> *mut TupleTableSlot {
        let column = settings.only_column.unwrap_or(1) as usize - 1;
        // SAFETY: the slot is a virtual one for the table's columns, of which `column` is one.
        unsafe {
            pg_sys::ExecClearTuple(self.slot);
            let slot = &mut *self.slot;
            let columns = (*slot.tts_tupleDescriptor).natts as usize;
            std::slice::from_raw_parts_mut(slot.tts_isnull, columns).fill(true);
            if let Some(fingerprint) = fingerprint {
                *slot.tts_isnull.add(column) = false;
                *slot.tts_values.add(column) = Datum::from(fingerprint);
            }
            slot.tts_tableOid = (*self.rows.table()).rd_id;
            pg_sys::ExecStoreVirtualTuple(self.slot);
            (*self.slot).tts_tid = tid;
            self.slot
        }
    }

    /// A bigint column of the row that was fetched last; None for NULL.
    fn column_of_row(&self, column: i16) -> Option<u64> {
        let mut is_null = false;
        // SAFETY: the slot holds a row of the table.
        let value = unsafe { pg_sys::slot_getattr(self.rows.slot(), column.into(), &mut is_null) };
        (!is_null).then(|| value.value() as u64)
    }
}
