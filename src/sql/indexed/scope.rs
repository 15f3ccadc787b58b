//! The scope of indexes: the columns before the block or the band.

use pgrx::AnyArray;
use pgrx::prelude::*;
use pgrx::spi::quote_identifier;
use postgres::arrays::column_names;
use postgres::catalog::column::Column;
use postgres::catalog::index::unique_within;
use postgres::catalog::relation::Relation;
use postgres::catalog::target::Target;
use postgres::catalog::types::btree_operator_family;
use postgres::error::{Explain, Result, invalid_parameter, user_error};

use super::fingerprint_column::check_is_stored;
use crate::sql::arguments::required;

/// The names of the scope columns, in the order of the index keys; empty without a scope.
#[derive(Default)]
pub struct Scope(Vec<String>);

impl Scope {
    pub fn read(scope: Option<AnyArray>) -> Result<Self> {
        let names = column_names(&required(scope, "scope")?, "scope")?;
        for (position, name) in names.iter().enumerate() {
            if names[..position].contains(name) {
                let message = format!("column \"{name}\" appears twice in the scope");
                let error = user_error(PgSqlErrorCode::ERRCODE_DUPLICATE_COLUMN, message);
                return Err(error.with_hint("Name each column once."));
            }
        }
        Ok(Self(names))
    }

    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// The attnums of the columns in a table; an error unless each can be a key of an index, and is not `source`.
    pub fn check(&self, table: &Relation, source: &str) -> Result<Vec<i16>> {
        let check_column = |name: &String| {
            let column = Column::named(table, name)
                .map_err(|error| error.with_hint("A scope names columns of the table, such as a tenant's number."))?;
            if name == source {
                let message =
                    format!("scope column \"{name}\" of table \"{}\" is the one that is compared", table.name()?);
                return Err(invalid_parameter(message)
                    .with_hint("Name a column in which the rows that belong together are equal."));
            }
            check_is_stored(table, &column)?;
            if btree_operator_family(column.data_type).is_none() {
                let message = format!(
                    "scope column \"{name}\" of table \"{}\" has type {}, which a btree cannot compare",
                    table.name()?,
                    column.type_name()?
                );
                return Err(user_error(PgSqlErrorCode::ERRCODE_UNDEFINED_FUNCTION, message)
                    .with_hint("Name a column of a type that has a default operator class for btrees."));
            }
            Ok(column.attnum)
        };
        self.0.iter().map(check_column).collect()
    }

    /// Checks the columns in a table, which comes first in `family`, and in its inheritors. Warns if a unique index of
    /// the table excludes near rows within the scope.
    pub fn check_family(&self, family: &[Target], source: &str) -> Result<()> {
        let checked = family.iter().map(|member| self.check(&member.open(), source));
        let columns = checked.collect::<Result<Vec<_>>>()?;
        warn_of_unique_index(&family[0].open(), &columns[0])
    }

    /// The attnums of the columns in a table; None if one does not exist.
    pub fn attnums(&self, table: &Relation) -> Result<Option<Vec<i16>>> {
        self.0.iter().map(|name| Ok(Column::find(table, name)?.map(|column| column.attnum))).collect()
    }

    /// The conditions of a query on the scope's columns, for users: `tenant = $2 AND `. $1 is the searched value.
    pub fn condition_sql(&self) -> String {
        let columns = self.0.iter().zip(2..);
        columns.map(|(name, number)| format!("{} = ${number} AND ", quote_identifier(name))).collect()
    }

    /// The keys of an index: the columns of the scope, then `keys`.
    pub fn with_keys_sql(&self, keys: &[String]) -> String {
        self.0.iter().map(quote_identifier).chain(keys.iter().cloned()).collect::<Vec<_>>().join(", ")
    }
}

/// Warns if the scope has all columns of a unique index of the table: a row is then never near another row.
pub fn warn_of_unique_index(table: &Relation, scope: &[i16]) -> Result<()> {
    let Some(index) = unique_within(table, scope) else { return Ok(()) };
    let (table, index) = (table.name()?, index.name()?);
    let message = format!("within the scope, no row of table \"{table}\" has another one to be near");
    user_error(PgSqlErrorCode::ERRCODE_WARNING, message)
        .with_detail(format!("By the unique index \"{index}\", no two rows are equal in the columns of the scope."))
        .with_hint("Name columns in which the rows that belong together are equal, such as a tenant's number.")
        .report(PgLogLevel::WARNING);
    Ok(())
}
