//! Parses expressions that a user writes on the columns of a table, as in WHERE or in CREATE INDEX.

use std::ffi::{CStr, c_void};

use pgrx::pg_sys::{self, ParseExprKind};
use pgrx::prelude::*;

use crate::catalog::column::Column;
use crate::catalog::relation::{ACCESS_SHARE, Relation};
use crate::catalog::types::type_name;
use crate::error::{Explain, Result, not_supported, user_error};
use crate::expression::Expression;
use crate::ffi::errcontext_msg;
use crate::list::nodes;
use crate::literals::Literals;
use crate::memory::OnDrop;
use crate::server_string::to_server_cstring;

/// The argument of an SQL function that has an expression.
#[derive(Clone, Copy)]
pub struct Argument<'a> {
    pub name: &'a CStr,
    /// The CONTEXT of PostgreSQL's errors in the expression.
    pub context: &'a CStr,
}

/// What an expression is for.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    IndexKey,
    Value,
    Condition,
}

/// Parses a key of an index of a table. PostgreSQL refuses subqueries, aggregates and functions that return sets.
///
/// Names are looked up in the search path; only literals are evaluated. The result is in the current memory context.
pub fn parse_index_key(table: &Relation, sql: &str, argument: Argument<'_>) -> Result<Expression> {
    parse(table, sql, argument, Kind::IndexKey)
}

/// Parses a value of any type that is made from a row's columns. An error if it has subqueries, system columns, whole
/// rows, or a literal of a type whose values other code than PostgreSQL's own may read.
///
/// Names are looked up in the search path; only these literals are evaluated. The result is in the current memory
/// context.
pub fn parse_value(table: &Relation, sql: &str, argument: Argument<'_>) -> Result<Expression> {
    parse_for_row(table, sql, argument, Kind::Value)
}

/// Parses a condition on a row, as [`parse_value`] does.
pub fn parse_condition(table: &Relation, sql: &str, argument: Argument<'_>) -> Result<Expression> {
    parse_for_row(table, sql, argument, Kind::Condition)
}

fn parse_for_row(table: &Relation, sql: &str, argument: Argument<'_>, kind: Kind) -> Result<Expression> {
    let tree = parse(table, sql, argument, kind)?;
    let name = argument.name.to_string_lossy();
    // A parameter that is left stands for a literal whose type the parser has not found.
    if tree.parts().into_iter().any(Expression::is_parameter) {
        let message = format!("could not determine the type of a literal in {name}");
        return Err(user_error(PgSqlErrorCode::ERRCODE_INDETERMINATE_DATATYPE, message)
            .with_hint("Write its type, as in 'a'::text."));
    }
    if tree.own_columns().into_iter().all(|attnum| Column::at(table, attnum).is_some()) {
        return Ok(tree);
    }
    Err(not_supported(format!("{name} must not use system columns or whole rows")))
}

/// Parses one expression. Refuses literals as [`Literals`] does, except in a key of an index.
fn parse(table: &Relation, sql: &str, argument: Argument<'_>, kind: Kind) -> Result<Expression> {
    let (parser_kind, mut literals) = match kind {
        Kind::IndexKey => (ParseExprKind::EXPR_KIND_INDEX_EXPRESSION, None),
        Kind::Value | Kind::Condition => (ParseExprKind::EXPR_KIND_WHERE, Some(Literals::default())),
    };
    // The line break ends a comment that the user may have written at the end.
    let query = to_server_cstring(&format!("SELECT ({sql}\n)"))?;
    let name = argument.name.to_string_lossy();
    let not_one_expression =
        || user_error(PgSqlErrorCode::ERRCODE_SYNTAX_ERROR, format!("{name} must be one expression"));
    let has_subquery = || not_supported(format!("cannot use a subquery in {name}"));
    // SAFETY: the query is NUL-terminated, and lives longer than the parser's state, as the literals do.
    with_context(&query, argument.context, || unsafe {
        let expression = only_expression(pg_sys::pg_parse_query(query.as_ptr())).ok_or_else(not_one_expression)?;
        let state = pg_sys::make_parsestate(std::ptr::null_mut());
        (*state).p_sourcetext = query.as_ptr();
        if let Some(literals) = &mut literals {
            if !literals.take_from(expression) {
                return Err(has_subquery());
            }
            literals.set_hooks(state);
        }
        let no_alias = std::ptr::null_mut();
        let columns = pg_sys::addRangeTableEntryForRelation(state, table.as_ptr(), ACCESS_SHARE, no_alias, false, true);
        pg_sys::addNSItemToQuery(state, columns, false, true, true);
        let mut tree = pg_sys::transformExpr(state, expression, parser_kind);
        if kind == Kind::Condition {
            tree = pg_sys::coerce_to_boolean(state, tree, argument.name.as_ptr());
        }
        pg_sys::assign_expr_collations(state, tree);
        if (*state).p_hasSubLinks {
            return Err(has_subquery());
        }
        pg_sys::free_parsestate(state);
        if let Some(refused) = literals.and_then(|literals| literals.refused) {
            return Err(not_supported(format!("cannot use type {} in {name}", type_name(refused)?)).with_detail(
                "To read a literal of this type, PostgreSQL may run other code than its own, or look up a name.",
            ));
        }
        Expression::new(tree).ok_or_else(not_one_expression)
    })
}

/// The expression of a parsed `SELECT (expression)`; None for any other statement, and for several.
///
/// # Safety
/// `statements` is a list of raw parse trees, or null.
unsafe fn only_expression(statements: *mut pg_sys::List) -> Option<*mut pg_sys::Node> {
    // SAFETY: the caller passes what the parser has made. A SELECT has a list of ResTargets, or null.
    unsafe {
        let [statement] = nodes::<pg_sys::RawStmt>(statements)[..] else { return None };
        let select = (*statement).stmt;
        if (*select).type_ != pg_sys::NodeTag::T_SelectStmt {
            return None;
        }
        let targets = (*select.cast::<pg_sys::SelectStmt>()).targetList;
        // With any other clause, such as FROM, the statement differs from this one.
        let mut bare = pg_sys::SelectStmt { type_: (*select).type_, targetList: targets, ..Default::default() };
        let [target] = nodes::<pg_sys::ResTarget>(targets)[..] else { return None };
        pg_sys::equal(select.cast(), (&raw mut bare).cast::<c_void>()).then_some((*target).val)
    }
}

/// Calls `run`. A PostgreSQL error in it gets this context, and a position in `query`, not in the client's statement.
fn with_context<T>(query: &CStr, context: &CStr, run: impl FnOnce() -> T) -> T {
    // SAFETY: the callback and the query live until `run` returns or unwinds.
    unsafe {
        let previous = pg_sys::error_context_stack;
        let mut place = (query, context);
        let argument = (&raw mut place).cast();
        let mut callback = pg_sys::ErrorContextCallback { previous, callback: Some(add_context), arg: argument };
        let _restore_stack = OnDrop(|| pg_sys::error_context_stack = previous);
        pg_sys::error_context_stack = &raw mut callback;
        run()
    }
}

/// A callback of PostgreSQL: adds to the error that is being raised where it is.
#[pg_guard]
unsafe extern "C-unwind" fn add_context(place: *mut c_void) {
    // SAFETY: PostgreSQL calls this while it raises an error, with the place that `with_context` has passed.
    unsafe {
        let (query, context) = *place.cast::<(&CStr, &CStr)>();
        errcontext_msg(c"%s".as_ptr(), context.as_ptr());
        let position = pg_sys::geterrposition();
        if position > 0 {
            pg_sys::errposition(0);
            pg_sys::internalerrposition(position);
            pg_sys::internalerrquery(query.as_ptr());
        }
    }
}
