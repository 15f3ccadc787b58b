//! Conditions and other expressions that a user writes on the columns of a table, as in WHERE.

use std::ffi::CStr;

use pgrx::pg_sys::{self, Oid, ParseExprKind};
use pgrx::prelude::*;

use super::expression::{Expression, functions_of, type_of};
use super::row_expression::{self, Argument};
use crate::catalog::cache::read_cached;
use crate::catalog::column::{Column, type_name};
use crate::catalog::names::role_name;
use crate::catalog::relation::Relation;
use crate::error::{ErrorReport, Result, not_supported, push, sendable, user_error};
use crate::ffi::attribute;
use crate::text::from_server;

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
    let argument = Argument { name, context };
    // SAFETY: the node and the parser's state are valid.
    let coerce = |state, node| unsafe { pg_sys::coerce_to_boolean(state, node, name.as_ptr()) };
    let tree = row_expression::parse(table, condition, argument, ParseExprKind::EXPR_KIND_WHERE, coerce)?;
    check(table, tree, &name.to_string_lossy())?;
    Ok(tree)
}

/// Parses an expression on the columns of a row of an open table, whose value is of any type. An error if it has
/// subqueries, system columns or whole rows. Names, literals and errors are as for [`parse`].
pub fn parse_value(table: &Relation, expression: &str, argument: Argument<'_>) -> Result<Expression> {
    let tree = row_expression::parse(table, expression, argument, ParseExprKind::EXPR_KIND_WHERE, |_, tree| tree)?;
    check_columns(table, tree, &argument.name.to_string_lossy()).map(|_| tree)
}

fn check(table: &Relation, condition: Expression, name: &str) -> Result<()> {
    if condition.is_volatile() {
        let message = format!("functions in {name} must not be volatile");
        return Err(user_error(PgSqlErrorCode::ERRCODE_INVALID_OBJECT_DEFINITION, message)
            .set_hint("now() is the same throughout a transaction; clock_timestamp() and random() are not."));
    }
    for node in condition.nodes() {
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
    // SAFETY: the node is valid, and of the type that its tag says.
    let (functions, of_type, tag, asks_role) = unsafe {
        let tag = (*node).type_;
        let is_of_role = || OF_ROLE.contains(&(*node.cast::<pg_sys::SQLValueFunction>()).op);
        let asks_role = tag == pg_sys::NodeTag::T_SQLValueFunction && is_of_role();
        (functions_of(node), type_of(node), tag, asks_role)
    };
    for function in functions {
        check_function(table, function, tag == pg_sys::NodeTag::T_CoerceViaIO, name)?;
    }
    if asks_role {
        return Err(answers_by_session("current_user or current_schema", name));
    }
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
