//! The output of EXPLAIN for a scan.

use std::ffi::{CStr, CString};

use pgrx::pg_sys::{self, CustomScanState, ExplainState, Oid};
use postgres::expression::{Expression, expressions};
use postgres::ffi::NodeInstrumentation;

use super::plan::{Role, Search};
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
    // SAFETY: the caller passes the arguments of `ExplainCustomScan`. The plan has the expressions of the settings.
    unsafe {
        let plan = node.ss.ps.plan.cast::<pg_sys::CustomScan>();
        let output = Output { state: output, plan, ancestors };
        let expressions = expressions((*plan).custom_exprs);
        let of_role = |role| settings.of_role(&expressions, role).next();
        let shown = |role| of_role(role).map(|expression| output.deparsed(expression));
        if let Search::Distance(settings) = &settings.search {
            if settings.is_ordered
                && let (Some(fingerprint), Some(query)) = (shown(Role::Fingerprint), shown(Role::Query))
            {
                output.text(c"Order By", &[b"(", &fingerprint[..], b" <~> ", &query, b")"].concat());
            }
            if let Some(max_distance) = shown(Role::MaxDistance) {
                output.text(c"Within", &max_distance);
            }
        }
        if !settings.scope.is_empty() {
            let values = settings.of_role(&expressions, Role::Scope).enumerate().filter_map(|(position, value)| {
                let name = key_name(settings.first_index()?, position);
                Some([b"(", &name[..], b" = ", &output.deparsed(value), b")"].concat())
            });
            output.list(c"Scope", values);
        }
        match &settings.search {
            Search::Distance(settings) => {
                let layouts = settings.layouts.iter().filter_map(|layout| layout.first());
                output.list(c"Layouts", layouts.map(|indexed| format!("{} blocks", indexed.blocks).into_bytes()));
            }
            Search::Bands { indexes, .. } => output.number(c"Bands", indexes.len() as f64),
        }
        if let Some(search) = &scan.search
            && let Some(instrument) = node.ss.ps.instrument.as_ref()
        {
            show_counts(search, instrument, &output);
        }
    }
}

/// The name of a column before the block or the band of an index, quoted.
fn key_name(index: Oid, position: usize) -> Vec<u8> {
    // SAFETY: both functions return a string in the current memory context. The index of a plan has the column.
    unsafe {
        let name = pg_sys::get_attname(index, position as i16 + 1, false);
        CStr::from_ptr(pg_sys::quote_identifier(name)).to_bytes().to_vec()
    }
}

/// Shows the work of the searches. Rows that the texts have refuted are PostgreSQL's Rows Removed by Filter.
fn show_counts(search: &RunningSearch, instrument: &NodeInstrumentation, output: &Output) {
    if let RunningSearch::Distance(search) = search
        && let Some(radii) = search.walk.radii()
    {
        output.number(c"Blocks", radii.len() as f64);
        let radii = radii.iter().map(|radius| radius.map_or("-".to_owned(), |radius| radius.to_string()));
        output.list(c"Radii", radii.map(String::into_bytes));
    }
    let work = search.work();
    // Parallel workers report PostgreSQL's own counters only, not these counts. So show these only if this process has
    // made all searches.
    if work.searches as f64 >= instrument.nloops {
        output.number(c"Index Descents", work.descents as f64);
        if work.full_scans > 0 {
            output.number(c"Index Passes", work.full_scans as f64);
        }
    }
    output.number(c"Index Entries", instrument.nfiltered2);
    output.number(c"Heap Fetches", instrument.ntuples2);
}

/// The output of a running EXPLAIN for a plan. All pointers are valid as long as it is used.
struct Output {
    state: *mut ExplainState,
    plan: *mut pg_sys::CustomScan,
    ancestors: *mut pg_sys::List,
}

impl Output {
    fn deparsed(&self, expression: Expression) -> Vec<u8> {
        // SAFETY: the output and its plan are valid.
        unsafe {
            let state = &*self.state;
            let context = pg_sys::set_deparse_context_plan(state.deparse_cxt, self.plan.cast(), self.ancestors);
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
            let list = values
                .iter()
                .fold(std::ptr::null_mut(), |list, value| pg_sys::lappend(list, value.as_ptr().cast_mut().cast()));
            pg_sys::ExplainPropertyList(label.as_ptr(), list, self.state);
        }
    }
}
