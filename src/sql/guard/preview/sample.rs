//! Looks up a sample of the rows of a table as a guard looks up new rows, by the same search and the same comparison of
//! texts.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use pgrx::PgMemoryContexts;
use pgrx::pg_sys::{ItemPointerData, Oid};
use pgrx::spi::quote_identifier;
use postgres::call::Call;
use postgres::catalog::target::Target;
use postgres::error::Result;
use postgres::heap::row::{Row, TableSlot};
use postgres::query::Query;
use postgres::text::to_server;

use crate::sql::functions::ExtensionSchema;
use crate::sql::guard::definition::arguments::TRIGGER_NAME;
use crate::sql::guard::definition::condition::{AskedCondition, ConditionArgument, GuardCondition};
use crate::sql::guard::definition::criterion::{AskedCriterion, GuardCriterion};
use crate::sql::guard::definition::members::Members;
use crate::sql::guard::definition::searched_table::SearchedTable;
use crate::sql::guard::row::condition::Condition;
use crate::sql::guard::row::confirmation::TextReader;
use crate::sql::indexed::fingerprint_column::named_fingerprint;
use crate::sql::indexed::fingerprint_sample::renamed_while_sampled;
use crate::sql::indexed::text_source::TextSource;

/// The limit on the rows that are looked up, as a multiple of the sample that is asked for.
const MAX_TIMES_SAMPLE: i64 = 4;

pub struct Preview {
    pub criterion: GuardCriterion,
    /// Whether the fingerprints are made from texts.
    pub has_text: bool,
    pub searched: Vec<SearchedTable>,
    pub texts: TextReader,
    pub among: Option<Condition>,
    /// The condition under which a guard stores a row unchecked.
    pub unless: Option<Condition>,
    /// Whether a row is compared with all others, as a new row is, and not only with earlier rows.
    pub compares_all: bool,
    pub rows: Cell<usize>,
    /// The number of texts that were compared with these rows and do not resemble them.
    pub refuted: Cell<usize>,
    /// The number of near rows that the condition excluded.
    pub excluded: Cell<usize>,
}

pub type PreviewGroups = BTreeMap<GroupKey, PreviewGroup>;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupKey {
    pub kind: GroupKind,
    /// The distance to the earlier row; None if there is none.
    pub distance: Option<u32>,
}

/// The kinds of groups, in the order of the result.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupKind {
    Duplicates,
    /// Rows that are near an earlier row, but do not resemble it.
    Refuted,
    Alone,
}

#[derive(Default)]
pub struct PreviewGroup {
    pub rows: i64,
    /// The row whose resemblance is nearest to the criterion's resemblance.
    pub example: Example,
}

/// A sampled row, and the earlier row that it is near.
#[derive(Default)]
pub struct Example {
    pub resemblance: Option<f64>,
    /// The primary keys of the two rows, or their tids.
    pub keys: [Option<String>; 2],
    /// The beginnings of their texts, decoded.
    pub texts: [Option<String>; 2],
}

impl Preview {
    pub fn new(
        call: Call<'_>,
        table: &Target,
        asked: &AskedCriterion,
        fingerprint: &str,
        scope: &[String],
        [among, unless]: [Option<&AskedCondition>; 2],
    ) -> Result<Self> {
        let schema = ExtensionSchema::running(call)?;
        let relation = table.open();
        let column = named_fingerprint(&relation, fingerprint)?;
        let source = TextSource::of(column.computation(&relation), schema);
        let (members, criteria, has_text) =
            (Members::read(table.oid, None)?, asked.of_rows(source.as_ref())?, source.is_some());
        let (criterion, mut searched) = members.searched_by_layout(fingerprint, scope, criteria, schema)?;
        if has_text && criterion.resemblance.is_none() {
            // Show resemblances even if the criterion has none.
            let with_texts = GuardCriterion { resemblance: Some(0.0), ..criterion.clone() };
            searched = members.searched(fingerprint, scope, &with_texts, Some(schema))?;
        }
        let check = |asked: &AskedCondition| asked.check(&relation, None);
        let conditions = [among.map(check).transpose()?, unless.map(check).transpose()?];
        Ok(Self::of_tables(call.function(), criterion, has_text, conditions, searched))
    }

    pub fn of_tables(
        function: Oid,
        criterion: GuardCriterion,
        has_text: bool,
        [among, unless]: [Option<String>; 2],
        searched: Vec<SearchedTable>,
    ) -> Self {
        let memory = PgMemoryContexts::CurrentMemoryContext.value();
        let name = Rc::<str>::from(TRIGGER_NAME);
        let condition = |argument, sql: Option<String>| {
            let condition = Rc::new(GuardCondition::new(argument, sql?));
            // SAFETY: the memory context of the running call.
            Some(unsafe { Condition::new(condition, name.clone(), memory) })
        };
        let among = condition(ConditionArgument::Among, among);
        let unless = condition(ConditionArgument::Unless, unless);
        // SAFETY: the memory context of the running call.
        let texts = unsafe { TextReader::new(function, name.clone(), memory) };
        let (rows, refuted, excluded) = (Cell::new(0), Cell::new(0), Cell::new(0));
        Self { criterion, has_text, searched, texts, among, unless, compares_all: false, rows, refuted, excluded }
    }

    /// Looks up about `sample` rows of a table and its partitions, until `max_dismissed` near rows were excluded, or
    /// have texts that do not resemble them.
    pub fn of_sample(
        &self,
        family: &[Target],
        fingerprint: &str,
        sample: i32,
        max_dismissed: usize,
    ) -> Result<PreviewGroups> {
        let mut groups = PreviewGroups::new();
        self.each_sampled_row(family, fingerprint, sample, |own, row| {
            self.add(&mut groups, own, row)?;
            Ok(self.refuted.get() + self.excluded.get() < max_dismissed)
        })?;
        Ok(groups)
    }

    /// Calls `read` with about `sample` rows of a table and its partitions, until it returns false. The memory that it
    /// allocates is freed after each row.
    pub fn each_sampled_row(
        &self,
        family: &[Target],
        fingerprint: &str,
        sample: i32,
        mut read: impl FnMut(&SearchedTable, Row<'_>) -> Result<bool>,
    ) -> Result<()> {
        let members = family.iter().filter(|member| member.is_ordinary());
        let rows: f64 = members.clone().map(|member| member.open().estimated_rows().max(0.0)).sum();
        let percent = (100.0 * f64::from(sample) / rows.max(1.0)).min(100.0) as f32;
        let mut memory = PgMemoryContexts::new("simhash_preview row");
        let mut limit = i64::from(sample) * MAX_TIMES_SAMPLE;
        for member in members {
            let Some(own) = self.searched.iter().find(|searched| searched.oid == member.oid) else { continue };
            let tids = sampled_tids(member, fingerprint, percent, limit)?;
            limit -= tids.len() as i64;
            let table = member.open();
            let slot = TableSlot::new(&table);
            for tid in tids {
                pgrx::check_for_interrupts!();
                let Some(row) = slot.fetch(&table, tid) else { continue };
                // SAFETY: what is read of a row is copied to Rust's memory.
                let goes_on = unsafe { memory.switch_to(|_| read(own, row)) }?;
                // SAFETY: as above.
                unsafe { memory.reset() };
                if !goes_on {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn add(&self, groups: &mut PreviewGroups, own: &SearchedTable, row: Row<'_>) -> Result<()> {
        let unchecked = |unless: &Condition| unless.holds(own.oid, row);
        let earlier = match self.unless.as_ref().map(unchecked).transpose()? {
            Some(true) => None,
            _ => self.earlier(own, row)?,
        };
        let kind = match &earlier {
            Some(earlier) if earlier.is_confirmed => GroupKind::Duplicates,
            Some(_) => GroupKind::Refuted,
            None => GroupKind::Alone,
        };
        let group = groups.entry(GroupKey { kind, distance: earlier.as_ref().map(|earlier| earlier.distance) });
        let group = group.or_default();
        group.rows += 1;
        let Some(earlier) = earlier else { return Ok(()) };
        let limit = self.criterion.resemblance.unwrap_or(1.0);
        let gap = |resemblance: Option<f64>| resemblance.map_or(f64::MAX, |resemblance| (resemblance - limit).abs());
        if group.rows == 1 || gap(earlier.resemblance) < gap(group.example.resemblance) {
            let (own_key, own_text) = self.describe(own, &own.primary_key.of_row(row), row)?;
            group.example = Example {
                resemblance: earlier.resemblance,
                keys: [own_key, earlier.key].map(Some),
                texts: [own_text, earlier.text],
            };
        }
        Ok(())
    }
}

/// The tids of sampled rows of a table that have a fingerprint. Whole pages are sampled, always the same pages. The
/// limit matters if the planner's estimate of the rows is wrong.
fn sampled_tids(table: &Target, fingerprint: &str, percent: f32, limit: i64) -> Result<Vec<ItemPointerData>> {
    let query = Query::parse(to_server(&format!(
        "SELECT t.ctid FROM ONLY {} AS t TABLESAMPLE pg_catalog.system ({percent}) REPEATABLE (0) \
         WHERE t.{} IS NOT NULL LIMIT {limit}",
        table.sql(),
        quote_identifier(fingerprint),
    ))?)?;
    // The table is locked, but another table may have got its name.
    if query.table() != Some(table.oid) {
        return Err(renamed_while_sampled(table.oid));
    }
    let mut tids = Vec::new();
    // SAFETY: a ctid is a pointer to a tid, which is copied.
    query.each_value(|tid| tids.push(unsafe { *tid.cast_mut_ptr::<ItemPointerData>() }))?;
    Ok(tids)
}
