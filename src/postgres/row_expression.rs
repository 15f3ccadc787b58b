//! Expressions that a user writes on the columns of a table, as in WHERE or in CREATE INDEX.

use std::ffi::{CStr, c_char, c_int, c_void};

use pgrx::pg_sys::{self, ParseExprKind};
use pgrx::prelude::*;

use crate::built_in::is_allowed_type;
use crate::catalog::column::Column;
use crate::catalog::relation::{ACCESS_SHARE, Relation};
use crate::catalog::types::type_name;
use crate::error::{Explain, Result, not_supported, user_error};
use crate::expression::Expression;
use crate::ffi::{errcontext_msg, guarded};
use crate::list::nodes;
use crate::memory::OnDrop;
use crate::text::to_server;

/// The argument of a command that has an expression.
#[derive(Clone, Copy)]
pub struct Argument<'a> {
    pub name: &'a CStr,
    /// The CONTEXT of errors.
    pub context: &'a CStr,
}

/// Parses a key of an index of an open table. PostgreSQL refuses subqueries, aggregates and sets.
///
/// Names are looked up in the search path; only literals are evaluated. The result is in the current memory context.
pub fn parse_index_key(table: &Relation, sql: &str, argument: Argument<'_>) -> Result<Expression> {
    parse(table, sql, argument, ParseExprKind::EXPR_KIND_INDEX_EXPRESSION, None, |_, tree| tree)
}

/// Parses a value of any type that is made from a row's columns. An error if it has subqueries, system columns, whole
/// rows, or a literal of a type whose values other code than PostgreSQL's own may read.
///
/// Names are looked up in the search path; only literals are evaluated. The result is in the current memory context.
pub fn parse_value(table: &Relation, sql: &str, argument: Argument<'_>) -> Result<Expression> {
    parse_checked(table, sql, argument, |_, tree| tree)
}

/// Parses a condition on a row, as [`parse_value`] does.
pub fn parse_condition(table: &Relation, sql: &str, argument: Argument<'_>) -> Result<Expression> {
    parse_checked(table, sql, argument, |state, tree| {
        // SAFETY: the node and the parser's state are valid.
        unsafe { pg_sys::coerce_to_boolean(state, tree, argument.name.as_ptr()) }
    })
}

fn parse_checked(
    table: &Relation,
    sql: &str,
    argument: Argument<'_>,
    coerce: impl Fn(*mut pg_sys::ParseState, *mut pg_sys::Node) -> *mut pg_sys::Node,
) -> Result<Expression> {
    let name = argument.name.to_string_lossy();
    let check = |parameters: Expression| {
        let types = parameters.parts().into_iter().filter(|part| part.is_parameter()).map(Expression::value_type);
        let Some(other) = types.into_iter().find(|data_type| !is_allowed_type(*data_type)) else { return Ok(()) };
        Err(not_supported(format!("cannot use type {} in {name}", type_name(other)?))
            .with_detail("To read a literal of this type, PostgreSQL may run other code than its own."))
    };
    let tree = parse(table, sql, argument, ParseExprKind::EXPR_KIND_WHERE, Some(&check), coerce)?;
    if tree.own_columns().into_iter().all(|attnum| Column::at(table, attnum).is_some()) {
        return Ok(tree);
    }
    Err(not_supported(format!("{name} must not use system columns or whole rows")))
}

/// Parses one expression, which PostgreSQL checks as its kind says. `coerce` converts it to another type.
///
/// To read a literal in quotes, PostgreSQL calls a function of its type, and the CHECK of a domain in it. That may be
/// anybody's code, and it runs before there is a tree that could be refused. So `check` gets the expression first with
/// a parameter in place of each of these literals. It has the literal's type.
fn parse(
    table: &Relation,
    sql: &str,
    argument: Argument<'_>,
    kind: ParseExprKind::Type,
    check: Option<&dyn Fn(Expression) -> Result<()>>,
    coerce: impl Fn(*mut pg_sys::ParseState, *mut pg_sys::Node) -> *mut pg_sys::Node,
) -> Result<Expression> {
    // The line break ends a comment.
    let query = to_server(&format!("SELECT ({sql}\n)"))?;
    let Argument { name, context } = argument;
    let not_one_expression = || {
        let message = format!("{} must be one expression", name.to_string_lossy());
        user_error(PgSqlErrorCode::ERRCODE_SYNTAX_ERROR, message)
    };
    // SAFETY: the query is NUL-terminated and lives longer than the parser's state; the table is open.
    with_context(&query, context, || unsafe {
        let expression = only_expression(pg_sys::pg_parse_query(query.as_ptr())).ok_or_else(not_one_expression)?;
        let transform = |expression, has_parameters: bool| {
            let state = pg_sys::make_parsestate(std::ptr::null_mut());
            (*state).p_sourcetext = query.as_ptr();
            let (mut types, mut count) = (std::ptr::null_mut(), 0);
            if has_parameters {
                pg_sys::setup_parse_variable_parameters(state, &mut types, &mut count);
            }
            let (lock, no_alias) = (ACCESS_SHARE, std::ptr::null_mut());
            let columns = pg_sys::addRangeTableEntryForRelation(state, table.as_ptr(), lock, no_alias, false, true);
            pg_sys::addNSItemToQuery(state, columns, false, true, true);
            let tree = coerce(state, pg_sys::transformExpr(state, expression, kind));
            pg_sys::assign_expr_collations(state, tree);
            if (*state).p_hasSubLinks {
                return Err(not_supported(format!("cannot use a subquery in {}", name.to_string_lossy())));
            }
            pg_sys::free_parsestate(state);
            Expression::new(tree).ok_or_else(not_one_expression)
        };
        if let Some(check) = check {
            let (copy, mut count): (*mut pg_sys::Node, c_int) = (pg_sys::copyObjectImpl(expression.cast()).cast(), 0);
            guarded(|| replace_literals(copy, (&raw mut count).cast()));
            check(transform(copy, true)?)?;
        }
        transform(expression, false)
    })
}

/// The expression of a parsed `SELECT (expression)`; None if the statement is another one.
///
/// # Safety
/// `statements` is a list of raw parse trees, or null.
unsafe fn only_expression(statements: *mut pg_sys::List) -> Option<*mut pg_sys::Node> {
    // SAFETY: the caller passes what the parser has made. A SELECT has a list of ResTargets, or null.
    unsafe {
        let [statement] = nodes::<pg_sys::RawStmt>(statements)[..] else { return None };
        let statement = (*statement).stmt;
        if (*statement).type_ != pg_sys::NodeTag::T_SelectStmt {
            return None;
        }
        let targets = (*statement.cast::<pg_sys::SelectStmt>()).targetList;
        // Any other clause, such as FROM, makes the statement differ from this one.
        let mut bare = pg_sys::SelectStmt { type_: (*statement).type_, targetList: targets, ..Default::default() };
        let [target] = nodes::<pg_sys::ResTarget>(targets)[..] else { return None };
        pg_sys::equal(statement.cast(), (&raw mut bare).cast::<c_void>()).then_some((*target).val)
    }
}

/// Makes a parameter of each literal in quotes, in place. `count` is a `c_int`, the number of those before.
#[pg_guard]
unsafe extern "C-unwind" fn replace_literals(node: *mut pg_sys::Node, count: *mut c_void) -> bool {
    // SAFETY: PostgreSQL passes a node of a raw parse tree, or null. A literal takes more memory than a parameter.
    unsafe {
        let Some(tag) = node.as_ref().map(|node| node.type_) else { return false };
        if tag != pg_sys::NodeTag::T_A_Const {
            return pg_sys::raw_expression_tree_walker(node, Some(replace_literals), count);
        }
        let pg_sys::A_Const { val, isnull, location, .. } = *node.cast::<pg_sys::A_Const>();
        if !isnull && val.node.type_ == pg_sys::NodeTag::T_String {
            let count = count.cast::<c_int>();
            *count += 1;
            let parameter = pg_sys::ParamRef { type_: pg_sys::NodeTag::T_ParamRef, number: *count, location };
            node.cast::<pg_sys::ParamRef>().write(parameter);
        }
        false
    }
}

/// Calls `run`. An error of PostgreSQL gets this context, and its position in `query`, not in the client's statement.
fn with_context<T>(query: &CStr, context: &CStr, run: impl FnOnce() -> T) -> T {
    // SAFETY: the callback and the query live until `run` returns or unwinds.
    unsafe {
        let previous = pg_sys::error_context_stack;
        let mut texts = [query.as_ptr(), context.as_ptr()];
        let argument = (&raw mut texts).cast();
        let mut callback = pg_sys::ErrorContextCallback { previous, callback: Some(add_context), arg: argument };
        let _restore = OnDrop(|| pg_sys::error_context_stack = previous);
        pg_sys::error_context_stack = &raw mut callback;
        run()
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn add_context(texts: *mut c_void) {
    // SAFETY: PostgreSQL calls this while it raises an error. The argument is two NUL-terminated texts.
    unsafe {
        let [query, context] = *texts.cast::<[*const c_char; 2]>();
        errcontext_msg(c"%s".as_ptr(), context);
        let position = pg_sys::geterrposition();
        if position > 0 {
            pg_sys::errposition(0);
            pg_sys::internalerrposition(position);
            pg_sys::internalerrquery(query);
        }
    }
}
