//! The output of EXPLAIN for a scan.

use std::ffi::{CStr, CString};

use pgrx::pg_sys::{self, CustomScanState, ExplainState, Oid};
use postgres::expression::{Expression, expressions};
use postgres::ffi::NodeInstrumentation;
use postgres::text::TextArgument;

use super::plan::{DistanceSettings, Role, Search};
use super::scan::{NearScan, RunningSearch};

/// Adds the properties of a scan to the output of EXPLAIN.
///
/// # Safety
/// The arguments are those of `ExplainCustomScan`, of a node of this scan.
pub unsafe fn explain(
    scan: &NearScan,
    node: &CustomScanState,
    ancestors: *mut pg_sys::List,
    output: *mut ExplainState,
) {
    let settings = &scan.settings;
    let output = Output { state: output, plan: node.ss.ps.plan, ancestors };
    // SAFETY: the plan of the node is one of this scan, and has its expressions. Its counters are valid, or null.
    let (expressions, counters) = unsafe {
        let plan = output.plan.cast::<pg_sys::CustomScan>();
        (expressions((*plan).custom_exprs), node.ss.ps.instrument.as_ref())
    };
    let deparse = |role| settings.of_role(&expressions, role).map(|expression| output.deparsed(expression));
    if let Search::Distance(DistanceSettings { is_ordered, .. }) = settings.search {
        if is_ordered
            && let (Some(fingerprint), Some(query)) = (deparse(Role::Fingerprint).next(), deparse(Role::Query).next())
        {
            output.text(c"Order By", &[b"(", &fingerprint[..], b" <~> ", &query, b")"].concat());
        }
        if let Some(max_distance) = deparse(Role::MaxDistance).next() {
            output.text(c"Within", &max_distance);
        }
    }
    if let Some((index, _)) = settings.indexes().first()
        && !settings.scope.is_empty()
    {
        let equality =
            |(position, value): (i16, Vec<u8>)| [b"(", &key_sql(*index, position)[..], b" = ", &value, b")"].concat();
        output.list(c"Scope", (1..).zip(deparse(Role::Scope)).map(equality));
    }
    match &settings.search {
        Search::Distance(settings) => {
            let layouts = settings.layouts.iter().filter_map(|layout| layout.first());
            output.list(c"Layouts", layouts.map(|indexed| format!("{} blocks", indexed.blocks).into_bytes()));
        }
        Search::Bands { indexes, .. } => output.number(c"Bands", indexes.len() as f64),
    }
    if let (Some(search), Some(counters)) = (&scan.search, counters) {
        show_counts(search, counters, &output);
    }
}

/// The table's column at a position of an index, from 1 on, quoted if need be. The index itself keeps the name that the
/// column had when the index was created.
fn key_sql(index: Oid, position: i16) -> Vec<u8> {
    let function = pg_sys::F_PG_GET_INDEXDEF_OID_INT4_BOOL.into();
    let [index, position, is_pretty] = [index.into(), i32::from(position).into(), false.into()];
    // SAFETY: an index of the plan has the column. The function returns a text in the current memory context.
    unsafe {
        TextArgument::new(pg_sys::OidFunctionCall3Coll(function, Oid::INVALID, index, position, is_pretty))
            .detoast()
            .to_vec()
    }
}

/// Shows the work of the searches. PostgreSQL counts rows that the texts have refuted as Rows Removed by Filter.
fn show_counts(search: &RunningSearch, counters: &NodeInstrumentation, output: &Output) {
    if let RunningSearch::Distance(search) = search
        && let Some(radii) = search.walk.radii()
    {
        output.number(c"Blocks", radii.len() as f64);
        let radii = radii.iter().map(|radius| radius.map_or("-".to_owned(), |radius| radius.to_string()));
        output.list(c"Radii", radii.map(String::into_bytes));
    }
    let work = search.work();
    // Parallel workers report only PostgreSQL's own counters. Show these counts only if this process has made all
    // searches.
    if work.searches as f64 >= counters.nloops {
        output.number(c"Index Descents", work.descents as f64);
        if work.full_scans > 0 {
            output.number(c"Index Full Scans", work.full_scans as f64);
        }
    }
    output.number(c"Index Entries", counters.nfiltered2);
    output.number(c"Heap Fetches", counters.ntuples2);
}

/// The output of a running EXPLAIN for a plan. All pointers are valid as long as it is used.
struct Output {
    state: *mut ExplainState,
    plan: *mut pg_sys::Plan,
    ancestors: *mut pg_sys::List,
}

impl Output {
    fn deparsed(&self, expression: Expression) -> Vec<u8> {
        // SAFETY: the output and its plan are valid.
        unsafe {
            let state = &*self.state;
            let context = pg_sys::set_deparse_context_plan(state.deparse_cxt, self.plan, self.ancestors);
            let has_others = !state.rtable.is_null() && (*state.rtable).length > 1;
            let text = pg_sys::deparse_expression(expression.as_ptr(), context, has_others || state.verbose, false);
            CStr::from_ptr(text).to_bytes().to_vec()
        }
    }

    /// Adds a text in the server's encoding.
    fn text(&self, label: &CStr, value: &[u8]) {
        let value = CString::new(value).unwrap_or_default();
        // SAFETY: the output is valid. Both strings are NUL-terminated; the value is copied.
        unsafe { pg_sys::ExplainPropertyText(label.as_ptr(), value.as_ptr(), self.state) };
    }

    fn number(&self, label: &CStr, value: f64) {
        // SAFETY: the output is valid, and the label is NUL-terminated.
        unsafe { pg_sys::ExplainPropertyFloat(label.as_ptr(), std::ptr::null(), value, 0, self.state) };
    }

    fn list(&self, label: &CStr, values: impl IntoIterator<Item = Vec<u8>>) {
        let values: Vec<_> = values.into_iter().filter_map(|value| CString::new(value).ok()).collect();
        // SAFETY: the output is valid. The strings are NUL-terminated, and are copied.
        unsafe {
            let append = |list, value: &CString| pg_sys::lappend(list, value.as_ptr().cast_mut().cast());
            let list = values.iter().fold(std::ptr::null_mut(), append);
            pg_sys::ExplainPropertyList(label.as_ptr(), list, self.state);
        }
    }
}
