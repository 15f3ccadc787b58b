//! The generated columns that `simhash_attach` adds to a table: the fingerprint and its blocks.

use std::iter;

use pgrx::prelude::*;
use pgrx::spi::quote_identifier;
use postgres::catalog::column::{Column, generation_of};
use postgres::catalog::relation::{Relation, foreign_server_name};
use postgres::catalog::target::Target;
use postgres::catalog::types::type_name;
use postgres::error::{Explain, Result, not_supported, notice, user_error, wrong_state};
use postgres::expression::Expression;
use postgres::server_string::server_string_from_c;
use postgres::spi::execute;
use postgres::trigger::{reads_whole_row, triggers};

use super::block_indexes::BlockIndexes;
use super::prefix::in_quotes;
use crate::sql::indexed::recognise::BlockCall;

/// The columns of a prefix: the fingerprint, and the blocks of the layout.
pub struct Columns<'a> {
    wanted: &'a BlockIndexes<'a>,
    columns: Vec<NewColumn>,
}

struct NewColumn {
    name: String,
    content: Content,
}

/// What a generated column stores.
#[derive(Clone, Copy)]
enum Content {
    Fingerprint,
    Block(i32),
}

impl Content {
    fn data_type(self) -> pg_sys::Oid {
        match self {
            Self::Fingerprint => pg_sys::INT8OID,
            Self::Block(_) => pg_sys::INT4OID,
        }
    }
}

impl<'a> Columns<'a> {
    pub fn new(wanted: &'a BlockIndexes<'a>) -> Self {
        let fingerprint =
            NewColumn { name: wanted.prefix.fingerprint_name().to_owned(), content: Content::Fingerprint };
        let block_column = |block| NewColumn { name: wanted.prefix.block_name(block), content: Content::Block(block) };
        Self { wanted, columns: iter::once(fingerprint).chain((0..wanted.blocks).map(block_column)).collect() }
    }

    pub fn names(&self) -> Vec<&str> {
        self.columns.iter().map(|column| column.name.as_str()).collect()
    }

    /// Adds the missing columns in one command, so that the table is rewritten once. Returns whether one was missing.
    pub fn add(&self, family: &[Target]) -> Result<bool> {
        let table = &family[0];
        // PostgreSQL would silently merge a new column with one of that name that an inheritor has.
        for member in family {
            self.wanted.source.check_member(table, member)?;
            self.columns.iter().try_for_each(|column| self.check_definition(member, column))?;
        }
        let mut missing = Vec::new();
        for column in &self.columns {
            if Column::find(&table.open(), &column.name)?.is_none() {
                missing.push(column);
            }
        }
        if missing.is_empty() {
            return Ok(false);
        }
        check_triggers(family)?;
        let names: Vec<_> = missing.iter().map(|column| &column.name).collect();
        // Only tables with rows of their own are rewritten.
        notice(if family.iter().any(Target::is_ordinary) {
            format!("rewriting table \"{}\" with the new columns {}", table.name, in_quotes(&names))
        } else {
            format!("adding to table \"{}\" the columns {}", table.name, in_quotes(&names))
        });
        let add_column = |column: &&NewColumn| {
            Ok(format!("ADD COLUMN {} {}", quote_identifier(&column.name), self.definition_sql(column.content)?))
        };
        let additions = missing.iter().map(add_column).collect::<Result<Vec<_>>>()?;
        execute(&format!("ALTER TABLE {} {}", table.sql()?, additions.join(", ")))?;
        // A partition that is detached later is a table of its own, so its columns need the comments too.
        for (member, column) in family.iter().flat_map(|member| missing.iter().map(move |column| (member, column))) {
            let object = format!("COLUMN {}.{}", member.sql()?, quote_identifier(&column.name));
            execute(&self.wanted.prefix.comment_command(&object, &self.describe(column.content)))?;
        }
        self.check_foreign_tables(family)?;
        Ok(true)
    }

    /// Reads a row of each foreign table: PostgreSQL raises an error if its server lacks an attached column, which ADD
    /// COLUMN only declares. Refuses a table whose stored fingerprint is not the one that is computed here.
    fn check_foreign_tables(&self, family: &[Target]) -> Result<()> {
        let columns = self.names().iter().map(quote_identifier).collect::<Vec<_>>().join(", ");
        let fingerprint = quote_identifier(self.wanted.prefix.fingerprint_name());
        let source = quote_identifier(&self.wanted.source.column);
        let expression = self.expression_sql(Content::Fingerprint)?;
        for table in family.iter().filter(|member| member.is_foreign()) {
            let table_sql = table.sql()?;
            execute(&format!("SELECT {columns} FROM ONLY {table_sql} LIMIT 1"))?;
            let query = format!(
                "SELECT FROM (SELECT {fingerprint} IS DISTINCT FROM {expression} AS is_other FROM ONLY {table_sql} \
                 WHERE {source} IS NOT NULL LIMIT 1) AS found WHERE is_other"
            );
            if execute(&query)? > 0 {
                let message = format!("foreign table \"{}\" has other fingerprints than this table", table.name);
                let server = foreign_server_name(table.oid)?;
                return Err(wrong_state(message)
                    .with_detail("A row has another fingerprint there than the same text has here, or none.")
                    .with_hint(format!("Attach the table on its server \"{server}\" with the same options.")));
            }
        }
        Ok(())
    }

    /// Refuses an existing column of that name with another definition.
    fn check_definition(&self, table: &Target, &NewColumn { ref name, content }: &NewColumn) -> Result<()> {
        let relation = table.open();
        let Some(column) = Column::find(&relation, name)? else { return Ok(()) };
        if column.is_stored
            && column.data_type == content.data_type()
            && let Some(expression) = generation_of(&relation, column.attnum)
            && self.computes(&relation, expression, content)?
        {
            return Ok(());
        }
        let (definition, wanted) = (table.column_definition(&column)?, self.definition_sql(content)?);
        let message =
            format!("column \"{name}\" of relation \"{}\" already exists with a different definition", table.name);
        Err(user_error(PgSqlErrorCode::ERRCODE_DUPLICATE_COLUMN, message)
            .with_detail(format!("It is {definition}, but must be {wanted}."))
            .with_hint("Choose another prefix, or drop the column. simhash_detach removes what simhash_attach made."))
    }

    fn computes(&self, relation: &Relation, expression: Expression, content: Content) -> Result<bool> {
        let BlockIndexes { schema, source, blocks, .. } = *self.wanted;
        match (content, BlockCall::read(expression)) {
            (Content::Fingerprint, _) => source.is_fingerprint(schema, relation, expression),
            (Content::Block(block), Some(call)) if (call.block, call.blocks) == (block, blocks) => {
                source.is_fingerprint(schema, relation, call.fingerprint)
            }
            _ => Ok(false),
        }
    }

    fn definition_sql(&self, content: Content) -> Result<String> {
        let type_name = type_name(content.data_type())?;
        Ok(format!("{type_name} GENERATED ALWAYS AS ({}) STORED", self.expression_sql(content)?))
    }

    fn expression_sql(&self, content: Content) -> Result<String> {
        let BlockIndexes { schema, source, blocks, .. } = *self.wanted;
        match content {
            Content::Fingerprint => source.fingerprint_sql(schema),
            Content::Block(block) => source.block_sql(schema, block, blocks),
        }
    }

    fn describe(&self, content: Content) -> String {
        let source = quote_identifier(&self.wanted.source.column);
        match content {
            Content::Fingerprint => format!("fingerprint of {source}"),
            Content::Block(block) => format!("block {block} of {} of the fingerprint of {source}", self.wanted.blocks),
        }
    }
}

/// Refuses tables with a trigger whose condition reads a whole row. BEFORE triggers fire before generated columns are
/// computed, so PostgreSQL refuses a condition that reads these, but only when the trigger is created: a table that
/// gains such a column keeps its trigger, and its dump cannot be restored.
fn check_triggers(family: &[Target]) -> Result<()> {
    for table in family {
        if let Some(trigger) = triggers(&table.open()).iter().find(|trigger| reads_whole_row(trigger)) {
            // SAFETY: a trigger has a NUL-terminated name.
            let name = unsafe { server_string_from_c(trigger.tgname) }?;
            let message = format!("trigger \"{name}\" of table \"{}\" has a condition on a whole row", table.name);
            return Err(not_supported(message)
                .with_detail("With generated columns, a dump of the table could not be restored.")
                .with_hint("Compare columns in the condition. simhash_index, for near texts, adds no columns."));
        }
    }
    Ok(())
}
