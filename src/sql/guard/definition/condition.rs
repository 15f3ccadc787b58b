//! The conditions of a guard. Only existing rows for which `among` holds count as near-duplicates. A new row for which
//! `unless` holds is stored unchecked.

use std::ffi::{CStr, CString};
use std::rc::Rc;

use pgrx::pg_sys::{self, Oid};
use postgres::catalog::column::Column;
use postgres::catalog::relation::Relation;
use postgres::condition::parse;
use postgres::error::{Result, invalid_parameter};
use postgres::expression::Expression;
use postgres::settings::{set_locally, with_fixed_settings, with_settings};
use postgres::text::{RawText, from_bytes};

use super::cache::{PerTable, of_table};

/// An argument of a guard that is a condition on a row of the table.
#[derive(Clone, Copy)]
pub struct ConditionArgument {
    name: &'static CStr,
    /// The CONTEXT of errors. A writer who causes one has passed no argument.
    context: &'static CStr,
}

pub const AMONG: ConditionArgument = ConditionArgument { name: c"among", context: c"argument \"among\" of the guard" };
pub const UNLESS: ConditionArgument =
    ConditionArgument { name: c"unless", context: c"argument \"unless\" of the guard" };

pub struct AskedCondition {
    pub argument: ConditionArgument,
    condition: String,
    /// The user's search path, in the server's encoding.
    search_path: CString,
}

impl AskedCondition {
    /// None if there is no condition.
    pub fn new(argument: ConditionArgument, condition: Option<RawText<'_>>) -> Result<Option<Self>> {
        // SAFETY: the setting is NUL-terminated, and copied at once.
        let search_path = unsafe { CStr::from_ptr(pg_sys::namespace_search_path) }.to_owned();
        let new = |condition| Ok(Self { argument, condition: from_bytes(condition)?, search_path });
        condition.map(new).transpose()
    }

    /// The condition as SQL, with the schemas of the names that are not PostgreSQL's own. An error if it is not a
    /// condition on a row of the table, or if it reads the mark column.
    pub fn check(&self, table: &Relation, mark_column: Option<&str>) -> Result<String> {
        let condition = with_settings(|| {
            set_locally(c"search_path", &self.search_path);
            parse(table, &self.condition, self.argument.name, self.argument.context)
        })?;
        let mark = mark_column.map(|mark| Column::find(table, mark)).transpose()?.flatten();
        if let Some(mark) = mark.filter(|mark| condition.own_columns().contains(&mark.attnum)) {
            return Err(invalid_parameter(format!("among must not have the mark column \"{}\"", mark.name()?))
                .set_detail("Rows with a mark do not count, whatever the condition."));
        }
        with_fixed_settings(|| condition.to_sql(table, None))
    }
}

pub struct GuardCondition {
    argument: ConditionArgument,
    /// The condition as [`AskedCondition::check`] prints it.
    sql: String,
    /// The columns that the condition reads, by table. A table is added on first use.
    columns: PerTable<Vec<i16>>,
}

impl GuardCondition {
    pub fn new(argument: ConditionArgument, sql: String) -> Self {
        Self { argument, sql, columns: PerTable::default() }
    }

    /// The condition for the rows of a table, in the current memory context.
    ///
    /// Each statement parses the condition again: parsing checks who owns the functions that it calls, and an owner can
    /// change.
    pub fn parse(&self, table: Oid) -> Result<Expression> {
        with_fixed_settings(|| parse(&Relation::open(table), &self.sql, self.argument.name, self.argument.context))
    }

    /// The columns of a table that the condition reads. They change only with the definition of the table, so they are
    /// cached: an UPDATE of other columns does not parse the condition.
    pub fn columns(&self, table: Oid) -> Result<Rc<Vec<i16>>> {
        of_table(&self.columns, table, || Ok(self.parse(table)?.own_columns()))
    }
}
