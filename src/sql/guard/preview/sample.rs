//! A sample of the rows of a table.

use pgrx::PgMemoryContexts;
use pgrx::itemptr::item_pointer_to_u64;
use pgrx::pg_sys::{self, ItemPointerData};
use postgres::catalog::relation::ACCESS_SHARE;
use postgres::catalog::target::Target;
use postgres::error::Result;
use postgres::heap::row::{Row, TableSlot};
use postgres::query::Query;
use postgres::server_string::to_server_cstring;
use simhash::random::GOLDEN_RATIO;

use crate::sql::guard::definition::searched_table::SearchedTable;
use crate::sql::indexed::fingerprint_sample::renamed_while_sampled;

/// The limit on the rows that are sampled, as a multiple of the number that is asked for.
const MAX_SAMPLE_RATIO: i64 = 4;
/// A sample of at least this share of the rows that are asked for is large enough.
const MIN_SAMPLE_RATIO: f64 = 0.8;
/// If too few rows have come, at most this many times as many pages are read next.
const MAX_PAGE_RATIO: f64 = 10.0;

/// Calls `read` with about `sample` rows of a table and its partitions. Their order mixes rows from all over the table,
/// so that the first ones are a sample too, and is the same each time. The memory that `read` allocates is freed after
/// each row.
pub fn each_sampled_row(
    searched: &[SearchedTable],
    table: &Target,
    sample: i32,
    mut read: impl FnMut(&SearchedTable, Row<'_>) -> Result<()>,
) -> Result<()> {
    let family = table.family(ACCESS_SHARE)?;
    let members: Vec<_> =
        family.iter().filter_map(|member| Some((member, searched.iter().find(|own| own.oid == member.oid)?))).collect();
    let mut sampled = sample_tids(&members, sample)?;
    // In the order of a hash. A tid has 48 bits.
    sampled.sort_by_key(|(position, tid)| {
        (item_pointer_to_u64(*tid) ^ (*position as u64) << 48).wrapping_mul(GOLDEN_RATIO)
    });
    let mut memory = PgMemoryContexts::new("simhash_preview row");
    for (position, tid) in sampled {
        postgres::interrupts::tick();
        let (member, own) = members[position];
        let table = member.open();
        let slot = TableSlot::new(&table);
        // SAFETY: a running function has an active snapshot.
        let Some(row) = (unsafe { slot.fetch(&table, tid, pg_sys::GetActiveSnapshot()) }) else { continue };
        // SAFETY: `read` returns nothing that is in this memory.
        unsafe { memory.switch_to(|_| read(own, row)) }?;
        // SAFETY: `read` has returned, and nothing else uses this memory.
        unsafe { memory.reset() };
    }
    Ok(())
}

/// The tids of sampled rows, with the positions of their tables.
type SampledTids = Vec<(usize, ItemPointerData)>;

/// Samples about `sample` rows: reads more pages until enough rows have come.
fn sample_tids(tables: &[(&Target, &SearchedTable)], sample: i32) -> Result<SampledTids> {
    let all_rows: f64 = tables.iter().map(|(table, _)| table.open().estimated_rows().max(0.0)).sum();
    let mut percent = (100.0 * f64::from(sample) / all_rows.max(1.0)).min(100.0);
    loop {
        let sampled = sample_pages(tables, percent as f32, i64::from(sample) * MAX_SAMPLE_RATIO)?;
        let sampled_rows = sampled.len() as f64;
        if percent >= 100.0 || sampled_rows >= MIN_SAMPLE_RATIO * f64::from(sample) {
            return Ok(sampled);
        }
        percent = (percent * (f64::from(sample) / sampled_rows).min(MAX_PAGE_RATIO)).min(100.0);
    }
}

/// Samples `percent` of the pages, and at most `limit` rows. The same percentage selects the same pages each time, and
/// a larger one selects these pages too.
fn sample_pages(tables: &[(&Target, &SearchedTable)], percent: f32, limit: i64) -> Result<SampledTids> {
    let mut sampled = Vec::new();
    for (position, (table, _)) in tables.iter().enumerate() {
        let rows_left = limit - sampled.len() as i64;
        let query = Query::parse(to_server_cstring(&format!(
            "SELECT t.ctid FROM ONLY {} AS t TABLESAMPLE pg_catalog.system ({percent}) REPEATABLE (0) LIMIT {rows_left}",
            table.sql()?,
        ))?)?;
        // The table is locked, but another table may have got its name.
        if query.only_relation() != Some(table.oid) {
            return Err(renamed_while_sampled(table.oid));
        }
        // SAFETY: a ctid is a pointer to a tid, which is copied.
        query.for_each_value(|tid| sampled.push((position, unsafe { *tid.cast_mut_ptr::<ItemPointerData>() })))?;
    }
    Ok(sampled)
}
