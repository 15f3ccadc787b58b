//! `simhash_detach`: removes what `simhash_attach` and `simhash_attach_online` made, and only that.
//!
//! An object is ours if its comment says so and its definition is the one that attach would create. Detaching never
//! drops objects of others that depend on our columns: PostgreSQL refuses for a view, and we refuse where PostgreSQL
//! would not, as for an index or a constraint.

use std::ffi::CStr;

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use pgrx::spi::quote_identifier;
use postgres::call::Call;
use postgres::catalog::column::{Column, generation_of};
use postgres::catalog::index::KeyKind;
use postgres::catalog::relation::Relation;
use postgres::catalog::target::{Lock, Target};
use postgres::error::{notice, sendable, user_error};
use postgres::spi::{execute, query_strings};
use simhash::search::blocks::BLOCK_COUNTS;

use super::command::{self, Command};
use super::indexes::NamedIndex;
use super::loading;
use super::prefix::{Prefix, in_quotes};
use super::provenance::{Maker, has_comment, is_labelled_for, is_labelled_relation, is_labelled_trigger, maker_of};
use super::renamed::RenamedBlock;
use crate::sql::arguments::required;
use crate::sql::functions::ExtensionSchema;
use crate::sql::indexed::bits::Bits;
use crate::sql::indexed::layouts::{BlockKey, block_keys};
use crate::sql::indexed::recognise::{BlockCall, FingerprintCall};
use crate::sql::indexed::update_trigger::UpdateTrigger;

#[pg_extern(sql = false)]
fn simhash_detach(
    target: Option<pg_sys::Oid>,
    prefix: Option<&CStr>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Result<(), ErrorReport> {
    let target = required(target, "target")?;
    // SAFETY: `fcinfo` belongs to the running call.
    let call = unsafe { Call::new(fcinfo) };
    command::run(call, target, prefix, pg_sys::AccessExclusiveLock as Lock, |command| {
        let Command { schema, prefix, table, family } = command;
        table.check_has_own_columns()?;
        Attached::find(schema, &prefix, table, family)?.remove(table, family)
    })
}

/// What is attached to a table under a prefix.
struct Attached<'a> {
    prefix: &'a Prefix,
    columns: Columns,
    /// Indexes that attach made on columns of the prefix, in any table of the family. `other_indexes` has further
    /// indexes on these columns.
    indexes: Vec<NamedIndex>,
    other_indexes: Vec<NamedIndex>,
    /// Triggers that attach made on the fingerprint column, with their tables. `other_triggers` has further triggers on
    /// it.
    triggers: Vec<(&'a Target, String)>,
    other_triggers: Vec<(&'a Target, String)>,
}

/// Columns with names of a prefix.
#[derive(Default)]
struct Columns {
    /// Columns that attach made, including renamed ones.
    made: Vec<String>,
    /// Columns that attach made, but that have been changed since.
    changed: Vec<String>,
    /// Columns that attach did not make.
    others: Vec<String>,
    /// Columns with the definition that attach would create, but with another comment.
    unlabelled: Vec<(String, Maker)>,
    /// Columns of all these kinds that detaching may drop, because they belong to the table itself: see
    /// [`loses_column`].
    own: Vec<String>,
}

impl Columns {
    fn find(schema: ExtensionSchema, prefix: &Prefix, table: &Target) -> Result<Self, ErrorReport> {
        let mut columns = Self::default();
        let relation = table.open();
        for name in names(prefix) {
            let Some(column) = Column::find(&relation, &name)? else { continue };
            let is_lost = loses_column(table, table, &column);
            if is_lost {
                columns.own.push(name.clone());
            }
            let is_fingerprint = name == prefix.fingerprint();
            let is_as_made_by = |maker| is_as_made(schema, &relation, &column, is_fingerprint, maker);
            match maker_of(table.oid, column.attnum)?.filter(|_| is_lost) {
                Some(maker) if is_as_made_by(maker) => columns.made.push(name),
                Some(_) => columns.changed.push(name),
                None => match Maker::ALL.into_iter().find(|maker| is_as_made_by(*maker)) {
                    Some(maker) if is_lost && has_comment(table.oid, column.attnum) => {
                        columns.unlabelled.push((name, maker));
                    }
                    _ => columns.others.push(name),
                },
            }
        }
        for name in renamed(table, prefix, &columns.made)? {
            if Column::find(&relation, &name)?.is_some_and(|column| loses_column(table, table, &column)) {
                columns.own.push(name.clone());
                columns.made.push(name);
            }
        }
        Ok(columns)
    }

    /// The attnums in `member` of the columns that it loses when `table` is detached.
    fn attnums_in(&self, table: &Target, member: &Target) -> Result<Vec<i16>, ErrorReport> {
        let relation = member.open();
        let mut attnums = Vec::new();
        for name in &self.own {
            let column = Column::find(&relation, name)?.filter(|column| loses_column(table, member, column));
            attnums.extend(column.map(|column| column.attnum));
        }
        Ok(attnums)
    }
}

impl<'a> Attached<'a> {
    fn find(
        schema: ExtensionSchema,
        prefix: &'a Prefix,
        table: &Target,
        family: &'a [Target],
    ) -> Result<Self, ErrorReport> {
        let columns = Columns::find(schema, prefix, table)?;
        let mut found = Self {
            prefix,
            columns,
            indexes: Vec::new(),
            other_indexes: Vec::new(),
            triggers: Vec::new(),
            other_triggers: Vec::new(),
        };
        for member in family {
            let attnums = found.columns.attnums_in(table, member)?;
            found.find_indexes(member, &attnums)?;
            found.find_triggers(schema, member, &attnums)?;
        }
        Ok(found)
    }

    /// Finds the indexes of a table on columns with these attnums or on their blocks, and the indexes on blocks of
    /// another column that were made under the prefix.
    fn find_indexes(&mut self, member: &Target, attnums: &[i16]) -> Result<(), ErrorReport> {
        let relation = member.open();
        let fingerprint = Column::find(&relation, self.prefix.fingerprint())?.map(|column| column.attnum);
        for index in NamedIndex::all_of(member)? {
            let key = block_keys(&relation, &index).next();
            let column = match &key {
                Some(BlockKey { kind: KeyKind::Expression(_), call, .. }) => call.fingerprint.as_own_column(),
                Some(BlockKey { kind: KeyKind::Column(column), .. }) => Some(*column),
                None => match index.keys[0].kind {
                    KeyKind::Column(column) => Some(column),
                    KeyKind::Expression(_) => None,
                },
            };
            let is_on_column = column.is_some_and(|column| attnums.contains(&column));
            // An index on a partition is dropped with the index on the partitioned table.
            if index.is_partition || !is_on_column && !is_labelled_for(index.oid, self.prefix)? {
                continue;
            }
            let is_ours = is_labelled_relation(index.oid, 0)?
                || match &key {
                    // An interrupted command leaves its index without the comment.
                    Some(key) if !has_comment(index.oid, 0) => {
                        index.is_as_made(member, fingerprint, self.prefix, key)?
                    }
                    _ => false,
                };
            if is_ours { &mut self.indexes } else { &mut self.other_indexes }.push(index);
        }
        Ok(())
    }

    /// Finds the triggers of a table that maintain the fingerprint column, unless that column stays.
    fn find_triggers(
        &mut self,
        schema: ExtensionSchema,
        member: &'a Target,
        attnums: &[i16],
    ) -> Result<(), ErrorReport> {
        let fingerprint = Column::find(&member.open(), self.prefix.fingerprint())?;
        if fingerprint.is_some_and(|column| !attnums.contains(&column.attnum)) {
            return Ok(());
        }
        for trigger in UpdateTrigger::all_of(schema, &member.open())? {
            if trigger.fingerprint == self.prefix.fingerprint() && !trigger.is_clone {
                let is_ours = is_labelled_trigger(trigger.oid)?;
                if is_ours { &mut self.triggers } else { &mut self.other_triggers }.push((member, trigger.name));
            }
        }
        Ok(())
    }

    fn remove(&self, table: &Target, family: &[Target]) -> Result<(), ErrorReport> {
        if self.columns.made.is_empty() && self.indexes.is_empty() && self.triggers.is_empty() {
            return Err(self.nothing_attached(table));
        }
        self.check_dependents(table, family)?;
        for (member, trigger) in &self.triggers {
            notice(format!("dropping trigger \"{trigger}\" on table \"{}\"", member.name));
            execute(&format!("DROP TRIGGER {} ON {}", quote_identifier(trigger), member.sql()))?;
        }
        for index in &self.indexes {
            if let Some(name) = index.lock_to_drop()? {
                notice(format!("dropping index \"{}\"", index.name));
                execute(&format!("DROP INDEX {name}"))?;
            }
        }
        if !self.columns.made.is_empty() {
            notice(format!("dropping from table \"{}\" the columns {}", table.name, in_quotes(&self.columns.made)));
            let drops: Vec<_> =
                self.columns.made.iter().map(|column| format!("DROP COLUMN {}", quote_identifier(column))).collect();
            execute(&format!("ALTER TABLE {} {}", table.sql(), drops.join(", ")))?;
        }
        for column in &self.columns.changed {
            notice(format!("leaving column \"{column}\", which has been changed since simhash_attach made it"));
        }
        for (column, maker) in &self.columns.unlabelled {
            notice(format!("leaving column \"{column}\", whose comment has no line \"{}...\"", maker.label()));
        }
        for column in &self.columns.others {
            notice(format!("leaving column \"{column}\", which simhash_attach did not make"));
        }
        for index in &self.other_indexes {
            notice(format!("leaving index \"{}\", which simhash_attach did not make", index.name));
        }
        Ok(())
    }

    fn nothing_attached(&self, table: &Target) -> ErrorReport {
        let message =
            format!("nothing is attached to table \"{}\" with prefix \"{}\"", table.name, self.prefix.fingerprint());
        let error = user_error(PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT, message);
        if let Some((column, maker)) = self.columns.unlabelled.first() {
            let detail = format!("The comment of the column {column} has no line \"{}...\".", maker.label());
            return error
                .set_detail(sendable(detail))
                .set_hint("Add the line to the comments of the columns, or drop the columns with ALTER TABLE.");
        }
        if self.columns.others.is_empty() {
            return error.set_hint("Pass the prefix that simhash_attach was called with.");
        }
        error
            .set_detail(sendable(format!(
                "simhash_attach did not make the columns {}.",
                self.columns.others.join(", ")
            )))
            .set_hint("Drop them with ALTER TABLE, or detach the table that they are inherited from.")
    }

    /// Refuses to drop columns if that would silently drop objects of others.
    fn check_dependents(&self, table: &Target, family: &[Target]) -> Result<(), ErrorReport> {
        let mut columns = Vec::new();
        for member in family {
            let relation = member.open();
            for column in &self.columns.made {
                if let Some(attribute) = Column::find(&relation, column)?
                    && loses_column(table, member, &attribute)
                {
                    columns.push(format!("({}, {})", member.oid.to_u32(), attribute.attnum));
                }
            }
        }
        if columns.is_empty() {
            return Ok(());
        }
        let ours: Vec<_> = self.indexes.iter().map(|index| index.oid.to_u32().to_string()).collect();
        let ours = if ours.is_empty() { "0".to_owned() } else { ours.join(", ") };
        // A column's own expression is in pg_attrdef. A not-null constraint (contype n) is a property of the column.
        let mut dependents = query_strings(&format!(
            "WITH RECURSIVE ours (index) AS (
                 SELECT oid FROM pg_catalog.pg_class WHERE oid IN ({ours})
                 UNION SELECT inhrelid FROM pg_catalog.pg_inherits JOIN ours ON inhparent = index)
             SELECT DISTINCT pg_catalog.pg_describe_object(classid, objid, objsubid) COLLATE \"C\" AS object
             FROM pg_catalog.pg_depend
             WHERE refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
                 AND (refobjid, refobjsubid) IN (VALUES {})
                 AND deptype IN ('a', 'i')
                 AND classid <> 'pg_catalog.pg_attrdef'::pg_catalog.regclass
                 AND NOT (classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND objsubid = 0
                          AND objid IN (SELECT index FROM ours))
                 AND NOT (classid = 'pg_catalog.pg_constraint'::pg_catalog.regclass
                          AND objid IN (SELECT oid FROM pg_catalog.pg_constraint WHERE contype = 'n'))
                 AND ({}) IS NOT TRUE
             ORDER BY object",
            columns.join(", "),
            loading::loading_statistics_sql()
        ))?;
        // A trigger names its columns in arguments, so it would stay and then fail on every row.
        if self.columns.made.iter().any(|column| column == self.prefix.fingerprint()) {
            let describe = |(table, trigger): &(&Target, String)| format!("trigger {trigger} on table {}", table.sql());
            dependents.extend(self.other_triggers.iter().map(describe));
        }
        let Some(first) = dependents.first() else {
            return Ok(());
        };
        let message = format!("cannot detach table \"{}\" because {first} depends on a column of it", table.name);
        Err(user_error(PgSqlErrorCode::ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST, message)
            .set_detail(sendable(format!("Not made by simhash_attach: {}.", dependents.join(", "))))
            .set_hint("Drop it first."))
    }
}

/// Whether `member`, which is `table` or an inheritor, loses the column when `table` is detached. A column that a table
/// inherits from a parent stays. So does a column that an inheritor had before it got its parent, with all that depends
/// on it.
fn loses_column(table: &Target, member: &Target, attribute: &Column) -> bool {
    attribute.is_local == (member.oid == table.oid)
}

/// The renamed block columns of the prefix, which have the same fingerprint and layout as the columns that were not
/// renamed.
fn renamed(table: &Target, prefix: &Prefix, columns: &[String]) -> Result<Vec<String>, ErrorReport> {
    let relation = table.open();
    let fingerprint = Column::find(&relation, prefix.fingerprint())?.map(|attribute| attribute.attnum);
    let (mut fingerprints, mut layout) = (Vec::new(), None);
    for name in columns.iter().map(String::as_str).chain([prefix.fingerprint()]) {
        let Some(attribute) = Column::find(&relation, name)? else { continue };
        let Some(expression) = generation_of(&relation, attribute.attnum) else {
            continue;
        };
        match BlockCall::read(expression) {
            Some(call) => {
                layout = Some(call.blocks);
                fingerprints.push(call.fingerprint);
            }
            None => fingerprints.push(expression),
        }
    }
    let mut found: Vec<(i32, String)> = Vec::new();
    for RenamedBlock { name, call, .. } in RenamedBlock::all_of(table, prefix)? {
        let is_of_fingerprint = fingerprints.iter().any(|own| own.equals(call.fingerprint))
            || fingerprint.is_some() && call.fingerprint.as_own_column() == fingerprint;
        let is_missing = Column::find(&relation, &prefix.block(call.block))?.is_none()
            && found.iter().all(|(block, _)| *block != call.block);
        if is_of_fingerprint && is_missing && *layout.get_or_insert(call.blocks) == call.blocks {
            found.push((call.block, name));
        }
    }
    Ok(found.into_iter().map(|(_, name)| name).collect())
}

/// All column names that a prefix gives.
fn names(prefix: &Prefix) -> impl Iterator<Item = String> + '_ {
    std::iter::once(prefix.fingerprint().to_owned()).chain((0..*BLOCK_COUNTS.end()).map(|block| prefix.block(block)))
}

/// Whether the column still has the definition that attach creates under that name: a fingerprint, which
/// `simhash_attach_online` adds as a plain bigint, or a block. A column that is no longer generated does not count,
/// because its values are no longer computed.
fn is_as_made(
    schema: ExtensionSchema,
    relation: &Relation,
    attribute: &Column,
    is_named_as_fingerprint: bool,
    maker: Maker,
) -> bool {
    match generation_of(relation, attribute.attnum) {
        Some(expression) if is_named_as_fingerprint => {
            FingerprintCall::read(expression, schema).is_some()
                || !matches!(Bits::of_bigint(expression), Bits::Bigint(_))
        }
        Some(expression) => BlockCall::read(expression).is_some(),
        None => maker == Maker::Online && is_named_as_fingerprint && attribute.data_type == pg_sys::INT8OID,
    }
}
