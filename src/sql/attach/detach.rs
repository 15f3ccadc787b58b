//! `simhash_detach`: removes what `simhash_attach` made, and only that.
//!
//! An object is ours if its comment says so. Detaching never drops objects of others that depend on our columns:
//! PostgreSQL refuses for a view, and we refuse where PostgreSQL would not, as for an index or a constraint.

use std::ffi::CStr;

use pgrx::prelude::*;
use pgrx::spi::quote_identifier;
use postgres::call::Call;
use postgres::catalog::column::Column;
use postgres::catalog::index::Index;
use postgres::catalog::names::relation_sql;
use postgres::catalog::partition::parents;
use postgres::catalog::relation::{ACCESS_EXCLUSIVE, Relation};
use postgres::catalog::target::Target;
use postgres::error::{ErrorReport, Explain, Result, notice, user_error};
use postgres::spi::{execute, query_strings};
use postgres::trigger::triggers;

use super::command;
use super::prefix::{Maker, Prefix, in_quotes};
use crate::sql::arguments::required;
use crate::sql::functions::ExtensionSchema;
use crate::sql::indexed::recognise::BlockCall;

#[pg_extern(sql = false)]
fn simhash_detach(target: Option<pg_sys::Oid>, prefix: Option<&CStr>, call: Call<'_>) -> Result<()> {
    let target = required(target, "target")?;
    let prefix = Prefix::read(prefix)?;
    let detach = |schema, family: &[Target]| {
        let attached = Attached::find(&prefix, family)?;
        if attached.columns.is_empty() && attached.indexes.is_empty() {
            return Err(nothing_attached(&prefix, &family[0])?);
        }
        check_has_no_guard(schema, family)?;
        attached.check_dependents(family)?;
        attached.remove(&family[0])
    };
    Target::lock(target, ACCESS_EXCLUSIVE, |table| command::run(call, table, ACCESS_EXCLUSIVE, detach))
}

/// What is attached to a table under a prefix.
struct Attached {
    columns: Vec<String>,
    /// Columns that are no longer generated, and so are left.
    changed: Vec<String>,
    /// The indexes of the table and its inheritors, without those that PostgreSQL drops with an index of a partitioned
    /// table.
    indexes: Vec<Index>,
}

impl Attached {
    fn find(prefix: &Prefix, family: &[Target]) -> Result<Self> {
        let table = &family[0];
        let mut attached = Self { columns: Vec::new(), changed: Vec::new(), indexes: Vec::new() };
        for column in Column::all(&table.open()).filter(|column| column.is_local) {
            if prefix.maker_of(table.oid, column.attnum)? == Maker::ThisPrefix {
                if column.is_generated { &mut attached.columns } else { &mut attached.changed }.push(column.name()?);
            }
        }
        for member in family {
            let relation = member.open();
            for index in Index::all_and_dying(&relation)? {
                if !index.is_partition
                    && prefix.maker_of(index.oid, 0)? == Maker::ThisPrefix
                    && !is_on_kept_block(table, &relation, &index)?
                {
                    attached.indexes.push(index);
                }
            }
        }
        Ok(attached)
    }

    fn remove(&self, table: &Target) -> Result<()> {
        for index in &self.indexes {
            // As DROP INDEX does, so that the index cannot be renamed before that command. Its schema is its table's,
            // whose name is locked. SAFETY: any OID may be locked.
            unsafe { pg_sys::LockRelationOid(index.oid, ACCESS_EXCLUSIVE) };
            if let Some(name) = relation_sql(index.oid)? {
                notice(format!("dropping index \"{}\"", index.name()?));
                execute(&format!("DROP INDEX {name}"))?;
            }
        }
        if !self.columns.is_empty() {
            notice(format!("dropping from table \"{}\" the columns {}", table.name, in_quotes(&self.columns)));
            let drop_column = |column| format!("DROP COLUMN {}", quote_identifier(column));
            let drops: Vec<_> = self.columns.iter().map(drop_column).collect();
            execute(&format!("ALTER TABLE {} {}", table.sql()?, drops.join(", ")))?;
        }
        for column in &self.changed {
            notice(format!("leaving column \"{column}\", which is no longer generated"));
        }
        Ok(())
    }

    /// Refuses to drop columns if that would silently drop objects of others.
    fn check_dependents(&self, family: &[Target]) -> Result<()> {
        let table = &family[0];
        let mut lost_columns = Vec::new();
        for member in family {
            let relation = member.open();
            for name in &self.columns {
                if let Some(column) = Column::find(&relation, name)?
                    && loses_column(table, &relation, &column)?
                {
                    lost_columns.push(format!("({}, {})", member.oid.to_u32(), column.attnum));
                }
            }
        }
        if lost_columns.is_empty() {
            return Ok(());
        }
        // PostgreSQL accepts no empty list, and 0 is no index.
        let our_indexes = self.indexes.iter().map(|index| index.oid.to_u32()).chain([0]);
        let our_indexes = our_indexes.map(|oid| oid.to_string()).collect::<Vec<_>>().join(", ");
        // A column's own expression is in pg_attrdef. A not-null constraint (contype n) is a property of the column.
        let dependents = query_strings(&format!(
            "WITH RECURSIVE ours (index) AS (
                 SELECT oid FROM pg_catalog.pg_class WHERE oid IN ({our_indexes})
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
             ORDER BY object",
            lost_columns.join(", "),
        ))?;
        let Some(first) = dependents.first() else { return Ok(()) };
        let message = format!("cannot detach table \"{}\" because {first} depends on a column of it", table.name);
        Err(user_error(PgSqlErrorCode::ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST, message)
            .with_detail(format!("Not attached with this prefix: {}.", dependents.join(", ")))
            .with_hint("Detach or drop it first."))
    }
}

/// Whether `member`, which is `table` or an inheritor, loses the column when `table` is detached. The column stays,
/// with all that depends on it, if `table` inherits it, or if an inheritor also defines it itself, or inherits it from
/// another table that keeps it.
fn loses_column(table: &Target, member: &Relation, column: &Column) -> Result<bool> {
    if member.oid() == table.oid {
        return Ok(column.is_local);
    }
    if column.is_local {
        return Ok(false);
    }
    for parent in parents(member)? {
        let parent = Relation::open(parent);
        if let Some(column) = column.in_table(&parent)
            && !loses_column(table, &parent, &column)?
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether an index of `member` is on a block column that stays because of inheritance: see [`loses_column`].
fn is_on_kept_block(table: &Target, member: &Relation, index: &Index) -> Result<bool> {
    for column in index.keys.iter().filter_map(|key| Column::at(member, key.value.column()?)) {
        let is_block = column.generation(member).and_then(BlockCall::read).is_some();
        if is_block && !loses_column(table, member, &column)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Refuses tables with a guard, a trigger that executes `simhash_dedup`: without indexes, it would refuse all rows.
fn check_has_no_guard(schema: ExtensionSchema, family: &[Target]) -> Result<()> {
    let Some(function) = schema.function(c"simhash_dedup", &[]) else { return Ok(()) };
    let is_guarded = |table: &&Target| triggers(&table.open()).iter().any(|trigger| trigger.tgfoid == function);
    let Some(table) = family.iter().find(is_guarded) else { return Ok(()) };
    let message = format!("cannot detach table \"{}\", which is guarded", table.name);
    Err(user_error(PgSqlErrorCode::ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST, message)
        .with_detail("A guard searches the indexes of its table.")
        .with_hint("Call simhash_unguard first. In one transaction, simhash_guard can make the guard again."))
}

fn nothing_attached(prefix: &Prefix, table: &Target) -> Result<ErrorReport> {
    let name = prefix.fingerprint_name();
    let message = format!("nothing is attached to table \"{}\" with prefix \"{name}\"", table.name);
    let error = user_error(PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT, message);
    Ok(match Column::find(&table.open(), name)? {
        Some(column) if column.is_local => error
            .with_detail(format!("The comment of column \"{name}\" has no line \"{}...\".", prefix.label()))
            .with_hint("Drop what simhash_attach did not make with ALTER TABLE."),
        Some(_) => error.with_hint("Detach the table that its columns are inherited from."),
        None => error.with_hint(
            "Pass the prefix that simhash_attach was called with. Drop the indexes of simhash_index with DROP INDEX.",
        ),
    })
}
