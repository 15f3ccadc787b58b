//! The output of EXPLAIN for a scan.

use std::ffi::{CStr, CString};

use pgrx::pg_sys::{self, CustomScanState, ExplainState};
use postgres::expression::{Expression, expressions};
use postgres::planner::custom_scan::NodeInstrumentation;
use simhash::fingerprint::size::SimilarSizes;
use simhash::search::flips::Flippable;

use super::finder::FinderCounts;
use super::plan::Settings;
use super::sizes::SizeLimit;
use crate::sql::fingerprint::options::read_criterion;
use crate::sql::indexed::layouts::is_covering;
use crate::sql::radii::check_radii;

pub struct ScanWork {
    /// The radius within which the last search has looked up each block; None if it has completed no step.
    pub radii: Option<Vec<Option<u32>>>,
    pub counts: FinderCounts,
    pub searches: u64,
}

/// Adds the properties of a scan to the output of EXPLAIN.
///
/// # Safety
/// The arguments are those of `ExplainCustomScan`, of a node of this scan.
pub unsafe fn explain(
    settings: &Settings,
    work: Option<ScanWork>,
    node: &CustomScanState,
    ancestors: *mut pg_sys::List,
    output: *mut ExplainState,
) {
    // SAFETY: the caller passes the arguments of `ExplainCustomScan`. The plan has the expressions of `Search`.
    unsafe {
        let plan = node.ss.ps.plan.cast::<pg_sys::CustomScan>();
        let output = Output { state: output, plan, ancestors };
        let expressions = expressions((*plan).custom_exprs);
        let shown = |index: usize| expressions.get(index).map(|&expression| output.deparsed(expression));
        if let (Some(fingerprint), Some(query)) = (shown(0).filter(|_| settings.is_ordered), shown(1)) {
            output.text(c"Order By", &[b"(", &fingerprint[..], b" <~> ", &query, b")"].concat());
        }
        if let Some(limit) = settings.limit_index().and_then(shown) {
            output.text(if settings.is_strict { c"Nearer Than" } else { c"Within" }, &limit);
        }
        if let Some(radii) = settings.radii_index().and_then(shown) {
            output.text(c"Within Radii", &radii);
        }
        if let Some(flips) = settings.flips_index().and_then(|index| flips_of(&expressions[index - 1..=index])) {
            output.text(c"Flips", format!("{flips:?}").as_bytes());
        }
        if let Some(index) = settings.sizes_index()
            && let [size, least] = expressions[index..index + 2]
        {
            let limit = SizeLimit { size, least, is_exact: settings.has_exact_sizes == Some(true) };
            let sizes = match limit.constant() {
                Some(SimilarSizes { range, .. }) => format!("{} to {}", range.start(), range.end()).into_bytes(),
                None => {
                    let least = match least.value::<f64>() {
                        Some(least) => least.to_string().into_bytes(),
                        None => output.deparsed(least),
                    };
                    [&least[..], b" of ", &output.deparsed(size)].concat()
                }
            };
            output.text(c"Sizes", &sizes);
        }
        if !settings.scope.is_empty() {
            let equality = |position| {
                let value = shown(settings.scope_index() + position)?;
                Some([b"(", &key_name(settings, position)[..], b" = ", &value, b")"].concat())
            };
            output.list(c"Scope", (0..settings.scope.len()).filter_map(equality));
        }
        let layouts = settings.layouts.iter().map(|layout| {
            let blocks = layout.first().map_or(0, |found| found.blocks);
            format!("{blocks} blocks{}", if is_covering(layout) { "" } else { " (not covering)" })
        });
        output.list(c"Layouts", layouts.map(String::into_bytes));
        if settings.only_column.is_some() || !output.is_text() {
            pg_sys::ExplainPropertyBool(c"Index Only".as_ptr(), settings.only_column.is_some(), output.state);
        }
        if let Some(work) = work
            && let Some(instrument) = node.ss.ps.instrument.as_ref()
        {
            show_counts(&work, instrument, &output);
        }
    }
}

/// The flips of a criterion: of the call of `simhash_flips`, whose criterion is constant, or by its constant result.
fn flips_of(radii_and_masks: &[Expression]) -> Option<Vec<u32>> {
    let &[radii, masks] = radii_and_masks else { return None };
    if let Some((_, arguments)) = masks.call() {
        return Some(read_criterion(arguments.get(1)?.jsonb()?).ok()?.of_texts().near.flips().collect());
    }
    let masks = masks.value::<Vec<i64>>()?.into_iter().map(i64::cast_unsigned);
    Some(check_radii(0, &radii.array()?).ok()?.flipping(Flippable::from_masks(masks)).flips().collect())
}

fn key_name(settings: &Settings, position: usize) -> Vec<u8> {
    let index = settings.layouts.iter().flatten().map(|found| found.index).next().unwrap_or(pg_sys::InvalidOid);
    // SAFETY: both functions return a string in the current memory context, or null for an unknown column.
    unsafe {
        let name = pg_sys::get_attname(index, position as i16 + 1, true);
        if name.is_null() { Vec::new() } else { CStr::from_ptr(pg_sys::quote_identifier(name)).to_bytes().to_vec() }
    }
}

fn show_counts(work: &ScanWork, instrument: &NodeInstrumentation, output: &Output) {
    if let Some(radii) = &work.radii {
        output.number(c"Blocks", radii.len() as f64);
        let radii = radii.iter().map(|radius| radius.map_or("-".to_owned(), |radius| radius.to_string()));
        output.list(c"Radii", radii.map(String::into_bytes));
    }
    let FinderCounts { descents, full_scans, .. } = work.counts;
    // Parallel workers report PostgreSQL's own counters only, not these counts. So show these only if this process has
    // made all searches.
    if work.searches as f64 >= instrument.nloops {
        output.number(c"Index Descents", descents as f64);
        if full_scans > 0 || !output.is_text() {
            output.number(c"Index Passes", full_scans as f64);
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
    fn is_text(&self) -> bool {
        // SAFETY: the output is valid.
        unsafe { (*self.state).format == pg_sys::ExplainFormat::EXPLAIN_FORMAT_TEXT }
    }

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
