//! Conditions on the columns of a table that a user writes, as in WHERE.

use std::ffi::{CStr, c_char, c_void};

use pgrx::pg_guard;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{self, ParseExprKind};
use pgrx::prelude::*;

use super::expression::Expression;
use crate::postgres::catalog::column::Column;
use crate::postgres::catalog::relation::Relation;
use crate::postgres::error::user_error;
use crate::postgres::ffi::errcontext_msg;
use crate::postgres::spi::{from_server, to_server};

/// Parses a condition on a row of an open table. An error unless it is one expression, boolean, of plain columns of the
/// table, and the same for a row as often as a statement asks. Names are looked up in the current search path, and
/// nothing of the condition is evaluated, except input functions of types.
///
/// `name` is the argument that an error is about. The result lives in the current memory context.
pub fn parse(table: &Relation, condition: &str, name: &CStr) -> Result<Expression, ErrorReport> {
    let query = to_server(&format!("SELECT ({condition}\n)"))?;
    let tree = with_context(&query, name, || {
        // SAFETY: the query is NUL-terminated and lives longer than the parser's state; the table is open.
        unsafe {
            let Some(expression) = only_expression(pg_sys::pg_parse_query(query.as_ptr())) else {
                let message = format!("{} must be one expression", name.to_string_lossy());
                return Err(user_error(PgSqlErrorCode::ERRCODE_SYNTAX_ERROR, message));
            };
            let state = pg_sys::make_parsestate(std::ptr::null_mut());
            (*state).p_sourcetext = query.as_ptr();
            let (lock, no_alias) = (pg_sys::AccessShareLock as _, std::ptr::null_mut());
            let columns = pg_sys::addRangeTableEntryForRelation(state, table.as_ptr(), lock, no_alias, false, true);
            pg_sys::addNSItemToQuery(state, columns, false, true, true);
            let tree = pg_sys::transformExpr(state, expression, ParseExprKind::EXPR_KIND_WHERE);
            let tree = pg_sys::coerce_to_boolean(state, tree, name.as_ptr());
            pg_sys::assign_expr_collations(state, tree);
            if (*state).p_hasSubLinks {
                let message = format!("cannot use a subquery in {}", name.to_string_lossy());
                return Err(user_error(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message));
            }
            pg_sys::free_parsestate(state);
            Ok(Expression::new(tree))
        }
    })?;
    let tree = tree.ok_or_else(|| user_error(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, "no condition was parsed"))?;
    check(table, tree, &name.to_string_lossy())?;
    Ok(tree)
}

/// A condition on the columns of a table as SQL. Names are qualified unless the current search path finds them.
pub fn to_sql(table: &Relation, condition: Expression) -> Result<String, ErrorReport> {
    // SAFETY: the table is open, and the condition one of its columns. The result is NUL-terminated.
    unsafe {
        let context = pg_sys::deparse_context_for((*table.rd_rel).relname.data.as_ptr(), table.oid());
        from_server(pg_sys::deparse_expression(condition.as_ptr(), context, false, false))
    }
}

fn check(table: &Relation, condition: Expression, name: &str) -> Result<(), ErrorReport> {
    if condition.is_volatile() {
        let message = format!("functions in {name} must not be volatile");
        return Err(user_error(PgSqlErrorCode::ERRCODE_INVALID_OBJECT_DEFINITION, message)
            .set_hint("now() is the same throughout a transaction; clock_timestamp() and random() are not."));
    }
    for number in condition.own_columns() {
        let Some(column) = Column::at(table, number) else {
            let message = format!("{name} must not use system columns or whole rows");
            return Err(user_error(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message));
        };
        if column.is_generated {
            let message =
                format!("column \"{}\" of table \"{}\" in {name} is generated", column.name()?, table.name()?);
            return Err(user_error(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message)
                .set_detail("Generated columns are computed after BEFORE triggers.")
                .set_hint("Use the columns that it is computed from."));
        }
    }
    Ok(())
}

/// The expression of a parsed `SELECT (expression)`; None if the statement is another one.
///
/// # Safety
/// `statements` is a list of raw parse trees, or null.
unsafe fn only_expression(statements: *mut pg_sys::List) -> Option<*mut pg_sys::Node> {
    // SAFETY: the caller passes what the parser has made. A SELECT has a list of ResTargets, or null.
    unsafe {
        if statements.is_null() || (*statements).length != 1 {
            return None;
        }
        let statement = (*pg_sys::list_nth(statements, 0).cast::<pg_sys::RawStmt>()).stmt;
        if (*statement).type_ != pg_sys::NodeTag::T_SelectStmt {
            return None;
        }
        let targets = (*statement.cast::<pg_sys::SelectStmt>()).targetList;
        let mut bare = pg_sys::SelectStmt { type_: (*statement).type_, targetList: targets, ..Default::default() };
        if targets.is_null()
            || (*targets).length != 1
            || !pg_sys::equal(statement.cast(), (&raw mut bare).cast::<c_void>())
        {
            return None;
        }
        Some((*pg_sys::list_nth(targets, 0).cast::<pg_sys::ResTarget>()).val)
    }
}

/// Runs `f`. An error that PostgreSQL raises names the argument, and its position is one in this query, not in that of
/// the client.
fn with_context<T>(query: &CStr, name: &CStr, f: impl FnOnce() -> T) -> T {
    /// Restores the stack of callbacks, also while a panic unwinds.
    struct Restore(*mut pg_sys::ErrorContextCallback);
    impl Drop for Restore {
        fn drop(&mut self) {
            // SAFETY: the stack as it was.
            unsafe { pg_sys::error_context_stack = self.0 };
        }
    }
    // SAFETY: the callback and the query are there until `f` returns or unwinds.
    unsafe {
        let previous = pg_sys::error_context_stack;
        let mut texts = [query.as_ptr(), name.as_ptr()];
        let argument = (&raw mut texts).cast();
        let mut callback = pg_sys::ErrorContextCallback { previous, callback: Some(add_context), arg: argument };
        let _restore = Restore(previous);
        pg_sys::error_context_stack = &raw mut callback;
        f()
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn add_context(texts: *mut c_void) {
    // SAFETY: PostgreSQL calls this while it raises an error. The argument is two NUL-terminated texts.
    unsafe {
        let [query, name] = *texts.cast::<[*const c_char; 2]>();
        errcontext_msg(c"argument \"%s\" of the guard".as_ptr(), name);
        let position = pg_sys::geterrposition();
        if position > 0 {
            pg_sys::errposition(0);
            pg_sys::internalerrposition(position);
            pg_sys::internalerrquery(query);
        }
    }
}
