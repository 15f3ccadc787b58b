//! `simhash_index`: builds the btrees on the bands of a text, unless they exist; and `simhash_index_commands`, which
//! lists the commands that build them without blocking writers.

use std::ffi::CString;

use pgrx::prelude::*;
use pgrx::{AnyArray, AnyElement};
use postgres::call::Call;
use postgres::catalog::relation::{ACCESS_SHARE, SHARE_ROW_EXCLUSIVE};
use postgres::catalog::target::Target;
use postgres::error::{Explain, Result, invalid_parameter, notice};
use postgres::json::RawJsonb;
use postgres::server_string::{server_string, text_from_server_string};
use postgres::settings::search_path;
use postgres::text::RawText;
use simhash::fingerprint::bands::MAX_BANDS;

use super::band_indexes::{BandIndexes, SourceText};
use super::command;
use super::index_steps::{Step, add_analyze_steps, find_existing_indexes, list_builds, run_steps};
use crate::sql::arguments::required;
use crate::sql::functions::ExtensionSchema;
use crate::sql::indexed::scope::Scope;

#[pg_extern(sql = false)]
fn simhash_index(
    target: Option<pg_sys::Oid>,
    source: Option<RawText<'_>>,
    options: Option<RawJsonb<'_>>,
    bands: Option<i32>,
    scope: Option<AnyArray>,
    call: Call<'_>,
) -> Result<()> {
    let target = required(target, "target")?;
    let asked = Asked::read(source, options, bands, scope)?;
    // The lock of CREATE INDEX, made stronger so that two calls wait for each other.
    let lock = SHARE_ROW_EXCLUSIVE;
    let build = |schema, family: &[Target]| {
        let wanted = asked.indexes(schema, family)?;
        let steps = list_steps(&wanted, family, false)?;
        if steps.is_empty() {
            notice(format!("table \"{}\" already has these indexes, skipping", family[0].name));
            return Ok(());
        }
        run_steps(&steps, |_, _, _| Ok(()))?;
        notice(format!("search with: WHERE {}", wanted.condition_sql()?));
        Ok(())
    };
    Target::lock_indexable(target, lock, |table| command::run(call, table, lock, build))
}

#[pg_extern(sql = false)]
fn simhash_index_commands(
    target: Option<pg_sys::Oid>,
    source: Option<RawText<'_>>,
    options: Option<RawJsonb<'_>>,
    bands: Option<i32>,
    scope: Option<AnyArray>,
    call: Call<'_>,
) -> Result<SetOfIterator<'static, AnyElement>> {
    let target = required(target, "target")?;
    let asked = Asked::read(source, options, bands, scope)?;
    let list = |schema, family: &[Target]| {
        let wanted = asked.indexes(schema, family)?;
        wanted.text.check_repeatable_in(&asked.search_path, &family[0])?;
        let steps = list_steps(&wanted, family, true)?;
        Ok(steps.into_iter().map(|step| step.sql).collect::<Vec<_>>())
    };
    let commands = Target::lock_indexable(target, ACCESS_SHARE, |table| command::run(call, table, ACCESS_SHARE, list))?;
    if !commands.is_empty() {
        let subject =
            if commands.len() == 1 { "1 command is".to_owned() } else { format!("{} commands are", commands.len()) };
        notice(format!("{subject} to be run, each by itself and outside a transaction block (in psql: \\gexec)"));
    }
    let texts = commands.iter().map(|sql| text_from_server_string(sql)).collect::<Result<Vec<_>, _>>()?;
    Ok(SetOfIterator::new(texts))
}

fn list_steps<'a>(wanted: &BandIndexes<'_>, family: &'a [Target], is_concurrent: bool) -> Result<Vec<Step<'a>>> {
    let existing = find_existing_indexes(wanted, family)?;
    let mut steps = list_builds(wanted, family, &existing, is_concurrent)?;
    add_analyze_steps(&mut steps, wanted, family, &existing)?;
    Ok(steps)
}

/// The arguments of both functions, but the table.
struct Asked<'a> {
    source: String,
    options: Option<RawJsonb<'a>>,
    band_count: usize,
    scope: Scope,
    /// The user's search path: commands run under another one.
    search_path: CString,
}

impl<'a> Asked<'a> {
    fn read(
        source: Option<RawText<'_>>,
        options: Option<RawJsonb<'a>>,
        bands: Option<i32>,
        scope: Option<AnyArray>,
    ) -> Result<Self> {
        let bands = required(bands, "bands")?;
        let band_count = usize::try_from(bands).ok().filter(|count| (1..=MAX_BANDS).contains(count));
        let band_count = band_count.ok_or_else(|| {
            invalid_parameter(format!("number of bands {bands} is out of range"))
                .with_detail(format!("A text has 1 to {MAX_BANDS} bands."))
        })?;
        let source = server_string(required(source, "source")?)?;
        Ok(Self { source, options, band_count, scope: Scope::read(scope)?, search_path: search_path() })
    }

    fn indexes(&self, schema: ExtensionSchema, family: &[Target]) -> Result<BandIndexes<'_>> {
        self.scope.check_family(family, &self.source)?;
        let text = SourceText::read(&family[0], &self.source, &self.search_path, self.options)?;
        Ok(BandIndexes { schema, text, band_count: self.band_count, scope: &self.scope })
    }
}
