//! Conditions and other expressions that a user writes on the columns of a table, as in WHERE.

use std::ffi::{CStr, c_char, c_void};

use pgrx::pg_sys::{self, Oid, ParseExprKind};
use pgrx::prelude::*;

use super::expression::Expression;
use crate::catalog::cache::read_cached;
use crate::catalog::column::{Column, type_name};
use crate::catalog::names::role_name;
use crate::catalog::relation::Relation;
use crate::error::{ErrorReport, Result, not_supported, push, sendable, user_error};
use crate::ffi::{attribute, errcontext_msg, guarded};
use crate::list::nodes;
use crate::memory::OnDrop;
use crate::text::{from_server, to_server};

/// Parses a condition on a row of an open table. An error unless it is one boolean expression of plain columns of the
/// table, not volatile, without subqueries, has the same value whoever asks, and calls only code of the table's owner
/// and of superusers. A role that may create triggers writes conditions too, and could otherwise pass hidden values to
/// code of its own.
///
/// Names are looked up in the current search path. Only literals are evaluated, by the input functions of their types.
///
/// `name` is the argument that an error is about, and `context` is the error's CONTEXT. The result lives in the current
/// memory context.
pub fn parse(table: &Relation, condition: &str, name: &CStr, context: &CStr) -> Result<Expression> {
    let tree = transform(table, condition, name, context, true)?;
    check(table, tree, &name.to_string_lossy())?;
    Ok(tree)
}

/// Parses an expression on the columns of a row of an open table, whose value is of any type. An error if it has
/// subqueries, system columns or whole rows. Names, literals and errors are as for [`parse`].
pub fn parse_value(table: &Relation, expression: &str, name: &CStr, context: &CStr) -> Result<Expression> {
    let tree = transform(table, expression, name, context, false)?;
    check_columns(table, tree, &name.to_string_lossy()).map(|_| tree)
}

/// An expression, which is the only column of a query, before it is checked.
fn transform(table: &Relation, sql: &str, name: &CStr, context: &CStr, is_condition: bool) -> Result<Expression> {
    let query = to_server(&format!("SELECT ({sql}\n)"))?;
    // SAFETY: the query is NUL-terminated and lives longer than the parser's state; the table is open.
    let transform = || unsafe {
        let Some(expression) = only_expression(pg_sys::pg_parse_query(query.as_ptr())) else {
            let message = format!("{} must be one expression", name.to_string_lossy());
            return Err(user_error(PgSqlErrorCode::ERRCODE_SYNTAX_ERROR, message));
        };
        let state = pg_sys::make_parsestate(std::ptr::null_mut());
        (*state).p_sourcetext = query.as_ptr();
        let (lock, no_alias) = (pg_sys::AccessShareLock as _, std::ptr::null_mut());
        let columns = pg_sys::addRangeTableEntryForRelation(state, table.as_ptr(), lock, no_alias, false, true);
        pg_sys::addNSItemToQuery(state, columns, false, true, true);
        let mut tree = pg_sys::transformExpr(state, expression, ParseExprKind::EXPR_KIND_WHERE);
        if is_condition {
            tree = pg_sys::coerce_to_boolean(state, tree, name.as_ptr());
        }
        pg_sys::assign_expr_collations(state, tree);
        if (*state).p_hasSubLinks {
            let message = format!("cannot use a subquery in {}", name.to_string_lossy());
            return Err(not_supported(message));
        }
        pg_sys::free_parsestate(state);
        Ok(Expression::new(tree))
    };
    let tree = with_context(&query, context, transform)?;
    tree.ok_or_else(|| user_error(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, "no expression was parsed"))
}

fn check(table: &Relation, condition: Expression, name: &str) -> Result<()> {
    if condition.is_volatile() {
        let message = format!("functions in {name} must not be volatile");
        return Err(user_error(PgSqlErrorCode::ERRCODE_INVALID_OBJECT_DEFINITION, message)
            .set_hint("now() is the same throughout a transaction; clock_timestamp() and random() are not."));
    }
    for node in nodes_within(condition) {
        check_node(table, node, name)?;
    }
    let generated = check_columns(table, condition, name)?.into_iter().find(|column| column.is_generated);
    let Some(column) = generated else { return Ok(()) };
    let message = format!("column \"{}\" of table \"{}\" in {name} is generated", column.name()?, table.name()?);
    Err(not_supported(message)
        .set_detail("Generated columns are computed after BEFORE triggers.")
        .set_hint("Use the columns that it is computed from."))
}

/// The columns in an expression. An error if one of them is a system column or the whole row.
fn check_columns(table: &Relation, expression: Expression, name: &str) -> Result<Vec<Column>> {
    let columns = expression.own_columns().into_iter().map(|attnum| {
        Column::at(table, attnum)
            .ok_or_else(|| not_supported(format!("{name} must not use system columns or whole rows")))
    });
    columns.collect()
}

/// An error if a node itself runs code that it must not, or asks for the role.
///
/// A type's domains have constraints, which run, and its casts may run too.
fn check_node(table: &Relation, node: *mut pg_sys::Node, name: &str) -> Result<()> {
    use pg_sys::SQLValueFunctionOp::{
        SVFOP_CURRENT_ROLE, SVFOP_CURRENT_SCHEMA, SVFOP_CURRENT_USER, SVFOP_SESSION_USER, SVFOP_USER,
    };
    const OF_ROLE: [u32; 5] =
        [SVFOP_CURRENT_ROLE, SVFOP_CURRENT_USER, SVFOP_SESSION_USER, SVFOP_USER, SVFOP_CURRENT_SCHEMA];
    let mut functions: Vec<Oid> = Vec::new();
    // SAFETY: the node is valid, and of the type that its tag says.
    let (tag, asks_role) = unsafe {
        pg_sys::check_functions_in_node(node, Some(add_function), (&raw mut functions).cast());
        let tag = (*node).type_;
        let is_of_role = || OF_ROLE.contains(&(*node.cast::<pg_sys::SQLValueFunction>()).op);
        (tag, tag == pg_sys::NodeTag::T_SQLValueFunction && is_of_role())
    };
    for function in functions {
        check_function(table, function, tag == pg_sys::NodeTag::T_CoerceViaIO, name)?;
    }
    if asks_role {
        return Err(answers_by_session("current_user or current_schema", name));
    }
    if matches!(tag, pg_sys::NodeTag::T_List | pg_sys::NodeTag::T_CaseWhen) {
        return Ok(());
    }
    // SAFETY: the node is an expression. ERROR ON ERROR, in JSON_VALUE, has no value, and so no type.
    let of_type = Some(unsafe { pg_sys::exprType(node) }).filter(|of_type| *of_type != Oid::INVALID);
    of_type.into_iter().flat_map(types_within).try_for_each(|of_type| check_type(table, of_type, name))
}

/// Checks a function. In a cast, it may be the input or output function of a type.
fn check_function(table: &Relation, function: Oid, is_cast: bool, name: &str) -> Result<()> {
    // SAFETY: format_procedure accepts any OID, and returns a NUL-terminated name.
    let what = format!("function {}", unsafe { from_server(pg_sys::format_procedure(function)) }?);
    // SAFETY: a look-up in a system cache, whose rows are of this form.
    let found = unsafe {
        read_cached(pg_sys::SysCacheIdentifier::PROCOID, &[function.into()], |found: &pg_sys::FormData_pg_proc| {
            // PostgreSQL stores a NUL-terminated name.
            let name = CStr::from_ptr(found.proname.data.as_ptr());
            (found.proowner, takes_type_by_name(found, name), asks_session(found, name.to_bytes()))
        })
    };
    let (owner, takes_type, asks_session) = found.unwrap_or_default();
    if takes_type && !is_cast {
        let detail = "It could call the input function of a type that the condition does not show.";
        return Err(cannot_use(&what, name).set_detail(detail));
    }
    if asks_session && !is_cast {
        return Err(answers_by_session(&what, name));
    }
    check_owner(table, owner, &what, name)
}

fn check_type(table: &Relation, of_type: Oid, name: &str) -> Result<()> {
    // SAFETY: a look-up in a system cache, whose rows are of this form.
    let owner = unsafe {
        let owner = |found: &pg_sys::FormData_pg_type| found.typowner;
        read_cached(pg_sys::SysCacheIdentifier::TYPEOID, &[of_type.into()], owner)
    };
    check_owner(table, owner.unwrap_or_default(), &format!("type {}", type_name(of_type)?), name)
}

fn check_owner(table: &Relation, owner: Oid, what: &str, name: &str) -> Result<()> {
    // SAFETY: superuser_arg accepts any OID.
    if owner == table.owner() || unsafe { pg_sys::superuser_arg(owner) } {
        return Ok(());
    }
    let message = format!("{what} in {name} belongs to \"{}\"", role_name(owner)?);
    Err(user_error(PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE, message).set_detail(sendable(format!(
        "It would see values of the rows of table \"{}\". Only code of the table's owner and of superusers may.",
        table.name()?
    ))))
}

fn cannot_use(what: &str, name: &str) -> ErrorReport {
    not_supported(format!("cannot use {what} in {name}"))
}

fn answers_by_session(what: &str, name: &str) -> ErrorReport {
    cannot_use(what, name).set_detail(
        "Its answer depends on the session or on the role that asks, and a row counts for all of them or none.",
    )
}

/// A type and all types that its values consist of: those of the columns of a row, of the elements of an array or a
/// range, and under a domain.
fn types_within(of_type: Oid) -> Vec<Oid> {
    let mut types = vec![of_type];
    let mut next = 0;
    while let Some(&of_type) = types.get(next) {
        next += 1;
        for part in parts_of(of_type) {
            if !types.contains(&part) {
                push(&mut types, part);
            }
        }
    }
    types
}

fn parts_of(of_type: Oid) -> Vec<Oid> {
    // SAFETY: look-ups in system caches, whose rows are of this form. A type with a relation has a descriptor, with as
    // many attributes as `natts` says, and is released here.
    unsafe {
        let (cache, key) = (pg_sys::SysCacheIdentifier::TYPEOID, of_type.into());
        let parts = |found: &pg_sys::FormData_pg_type| (found.typrelid, [found.typbasetype, found.typelem]);
        let Some((relation, parts)) = read_cached(cache, &[key], parts) else { return Vec::new() };
        let mut parts = parts.to_vec();
        parts.extend([pg_sys::get_range_subtype(of_type), pg_sys::get_multirange_range(of_type)]);
        if relation != Oid::INVALID {
            let descriptor = pg_sys::lookup_rowtype_tupdesc_copy(of_type, -1);
            let attnums = 1..=(*descriptor).natts as i16;
            let attributes = attnums.filter_map(|attnum| attribute(descriptor, attnum));
            parts.extend(attributes.filter(|found| !found.attisdropped).map(|found| found.atttypid));
        }
        parts.retain(|&part| part != Oid::INVALID);
        parts
    }
}

/// Whether a function of PostgreSQL answers by the session or the role that calls it. PostgreSQL declares most of those
/// that depend on the session's state as not parallel safe.
fn asks_session(function: &pg_sys::FormData_pg_proc, name: &[u8]) -> bool {
    if function.pronamespace != pg_sys::PG_CATALOG_NAMESPACE.into() {
        return false;
    }
    const NAMES: [&[u8]; 8] = [
        b"current_user",
        b"session_user",
        b"getpgusername",
        b"current_setting",
        b"pg_has_role",
        b"row_security_active",
        b"pg_client_encoding",
        b"pg_is_other_temp_schema",
    ];
    function.proparallel as u8 != pg_sys::PROPARALLEL_SAFE
        || NAMES.contains(&name)
        || name.starts_with(b"has_") && name.ends_with(b"_privilege")
        || name.ends_with(b"_is_visible")
}

/// Whether a function converts a text to a type that is one of its arguments, such as
/// `domain_in(cstring, oid, integer)` and `pg_input_is_valid(text, text)`. It then runs the code of a type that is not
/// in the expression tree.
fn takes_type_by_name(function: &pg_sys::FormData_pg_proc, name: &CStr) -> bool {
    let count = usize::try_from(function.pronargs).unwrap_or(0);
    // SAFETY: PostgreSQL stores the types of `pronargs` arguments.
    let arguments = unsafe { function.proargtypes.values.as_slice(count) };
    arguments.iter().any(|argument| [pg_sys::CSTRINGOID, pg_sys::INTERNALOID].contains(argument))
        || [c"pg_input_is_valid", c"pg_input_error_info"].contains(&name)
}

/// The nodes of an expression tree, each before those within it.
fn nodes_within(expression: Expression) -> Vec<*mut pg_sys::Node> {
    let mut found: Vec<*mut pg_sys::Node> = Vec::new();
    // SAFETY: the expression is valid, and the walker's argument is this.
    unsafe { guarded(|| add_nodes(expression.as_ptr(), (&raw mut found).cast())) };
    found
}

#[pg_guard]
unsafe extern "C-unwind" fn add_nodes(node: *mut pg_sys::Node, nodes: *mut c_void) -> bool {
    if node.is_null() {
        return false;
    }
    // SAFETY: PostgreSQL passes a valid node, and the argument of `nodes_within`.
    unsafe {
        push(&mut *nodes.cast::<Vec<*mut pg_sys::Node>>(), node);
        pg_sys::expression_tree_walker(node, Some(add_nodes), nodes)
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn add_function(function: Oid, functions: *mut c_void) -> bool {
    // SAFETY: the argument of `check_node`.
    push(unsafe { &mut *functions.cast::<Vec<Oid>>() }, function);
    false
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
        let mut bare = pg_sys::SelectStmt { type_: (*statement).type_, targetList: targets, ..Default::default() };
        let [target] = nodes::<pg_sys::ResTarget>(targets)[..] else { return None };
        pg_sys::equal(statement.cast(), (&raw mut bare).cast::<c_void>()).then_some((*target).val)
    }
}

/// Runs `f`. If PostgreSQL raises an error, it gets this context, and its position is in `query`, not in the client's
/// statement.
fn with_context<T>(query: &CStr, context: &CStr, f: impl FnOnce() -> T) -> T {
    // SAFETY: the callback and the query live until `f` returns or unwinds.
    unsafe {
        let previous = pg_sys::error_context_stack;
        let mut texts = [query.as_ptr(), context.as_ptr()];
        let argument = (&raw mut texts).cast();
        let mut callback = pg_sys::ErrorContextCallback { previous, callback: Some(add_context), arg: argument };
        let _restore = OnDrop(|| pg_sys::error_context_stack = previous);
        pg_sys::error_context_stack = &raw mut callback;
        f()
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
