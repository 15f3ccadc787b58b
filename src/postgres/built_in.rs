//! Expressions that run nothing but code that PostgreSQL itself ships.
//!
//! Such code means the same in every session. Other code may not: PL/pgSQL, for example, looks up the names of types
//! when a session first calls a function, and finds those that the session has made.

use pgrx::pg_sys::{self, NodeTag, Oid};

use crate::catalog::types::type_name;
use crate::error::Result;
use crate::expression::Expression;
use crate::text::from_server;

/// The stable functions that are allowed: the time of the transaction, and arithmetic and comparisons of times, which
/// depend on the setting TimeZone alone.
const ALLOWED_STABLE: [u32; 39] = [
    pg_sys::F_NOW,
    pg_sys::F_TRANSACTION_TIMESTAMP,
    pg_sys::F_STATEMENT_TIMESTAMP,
    pg_sys::F_TIMESTAMPTZ_PL_INTERVAL,
    pg_sys::F_TIMESTAMPTZ_MI_INTERVAL,
    pg_sys::F_INTERVAL_PL_TIMESTAMPTZ,
    pg_sys::F_DATE_TIMESTAMPTZ,
    pg_sys::F_TIMESTAMPTZ_DATE,
    pg_sys::F_TIMESTAMP_TIMESTAMPTZ,
    pg_sys::F_TIMESTAMPTZ_TIMESTAMP,
    pg_sys::F_DATE_TRUNC_TEXT_TIMESTAMPTZ,
    pg_sys::F_DATE_PART_TEXT_TIMESTAMPTZ,
    pg_sys::F_EXTRACT_TEXT_TIMESTAMPTZ,
    pg_sys::F_AGE_TIMESTAMP,
    pg_sys::F_AGE_TIMESTAMPTZ,
    pg_sys::F_DATE_EQ_TIMESTAMPTZ,
    pg_sys::F_DATE_NE_TIMESTAMPTZ,
    pg_sys::F_DATE_LT_TIMESTAMPTZ,
    pg_sys::F_DATE_LE_TIMESTAMPTZ,
    pg_sys::F_DATE_GT_TIMESTAMPTZ,
    pg_sys::F_DATE_GE_TIMESTAMPTZ,
    pg_sys::F_TIMESTAMPTZ_EQ_DATE,
    pg_sys::F_TIMESTAMPTZ_NE_DATE,
    pg_sys::F_TIMESTAMPTZ_LT_DATE,
    pg_sys::F_TIMESTAMPTZ_LE_DATE,
    pg_sys::F_TIMESTAMPTZ_GT_DATE,
    pg_sys::F_TIMESTAMPTZ_GE_DATE,
    pg_sys::F_TIMESTAMP_EQ_TIMESTAMPTZ,
    pg_sys::F_TIMESTAMP_NE_TIMESTAMPTZ,
    pg_sys::F_TIMESTAMP_LT_TIMESTAMPTZ,
    pg_sys::F_TIMESTAMP_LE_TIMESTAMPTZ,
    pg_sys::F_TIMESTAMP_GT_TIMESTAMPTZ,
    pg_sys::F_TIMESTAMP_GE_TIMESTAMPTZ,
    pg_sys::F_TIMESTAMPTZ_EQ_TIMESTAMP,
    pg_sys::F_TIMESTAMPTZ_NE_TIMESTAMP,
    pg_sys::F_TIMESTAMPTZ_LT_TIMESTAMP,
    pg_sys::F_TIMESTAMPTZ_LE_TIMESTAMP,
    pg_sys::F_TIMESTAMPTZ_GT_TIMESTAMP,
    pg_sys::F_TIMESTAMPTZ_GE_TIMESTAMP,
];

/// The immutable functions that are not allowed: a setting decides what they return, or they read catalogs.
const REFUSED_IMMUTABLE: [u32; 14] = [
    pg_sys::F_BYTEAOUT,
    pg_sys::F_FLOAT4OUT,
    pg_sys::F_FLOAT8OUT,
    pg_sys::F_POINT_OUT,
    pg_sys::F_LSEG_OUT,
    pg_sys::F_LINE_OUT,
    pg_sys::F_PATH_OUT,
    pg_sys::F_BOX_OUT,
    pg_sys::F_POLY_OUT,
    pg_sys::F_CIRCLE_OUT,
    pg_sys::F_QUOTE_IDENT,
    pg_sys::F_SATISFIES_HASH_PARTITION,
    pg_sys::F_PG_PARTITION_ROOT,
    pg_sys::F_PG_INDEXAM_PROGRESS_PHASENAME,
];

/// The functions about the writer of a new row, which are allowed by [`DependsOn::RowAndWriter`].
const ALLOWED_OF_WRITER: [u32; 4] = [
    pg_sys::F_CURRENT_SETTING_TEXT,
    pg_sys::F_CURRENT_SETTING_TEXT_BOOL,
    pg_sys::F_PG_HAS_ROLE_NAME_TEXT,
    pg_sys::F_PG_HAS_ROLE_NAME_NAME_TEXT,
];

/// The values on which an expression may depend.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum DependsOn {
    /// The row, and the time of the transaction.
    Row,
    /// Also the writer of the row: the role, and the settings of the session.
    RowAndWriter,
}

/// The first code in an expression, at any depth, that PostgreSQL does not ship or that is not allowed, for a message:
/// `function app.f(text)`. None if there is none. Functions for which `is_own` is true count as PostgreSQL's.
///
/// PostgreSQL finds its own objects first, whatever else has their names. The name of another function or operator may
/// later mean something else in the same expression: somebody creates a function whose arguments fit better, or a type.
///
/// Enums are allowed, whose functions PostgreSQL ships, and columns of any type that are only read: as a value, by a
/// cast that runs no function, for one of their fields, or by IS NULL. A text search configuration or dictionary is
/// code too, and is allowed as a constant that PostgreSQL ships.
pub fn foreign_code(
    expression: Expression,
    depends_on: DependsOn,
    is_own: impl Fn(Oid) -> bool,
) -> Result<Option<String>> {
    let parts = expression.parts();
    let only_read: Vec<_> = parts.iter().filter_map(|&part| only_read_argument(part)).chain([expression]).collect();
    let is_refused = |function: &Oid| {
        // SAFETY: func_volatile looks up a system cache; the function is in a valid expression.
        let is_immutable = || unsafe { pg_sys::func_volatile(*function) } as u8 == pg_sys::PROVOLATILE_IMMUTABLE;
        let is_in = |list: &[u32]| list.contains(&function.to_u32());
        let is_allowed = is_in(&ALLOWED_STABLE)
            || depends_on == DependsOn::RowAndWriter && is_in(&ALLOWED_OF_WRITER)
            || is_immutable() && !is_in(&REFUSED_IMMUTABLE);
        !(is_allowed && (is_built_in(*function) || is_own(*function)))
    };
    for part in parts {
        if let Some(function) = part.functions().into_iter().find(is_refused) {
            // SAFETY: format_procedure accepts any OID, and returns a NUL-terminated name.
            return Ok(Some(format!("function {}", unsafe { from_server(pg_sys::format_procedure(function)) }?)));
        }
        if let Some(operator) = part.operator().filter(|&operator| !is_built_in(operator))
            && !part.functions().into_iter().all(&is_own)
        {
            // SAFETY: format_operator accepts any OID, and returns a NUL-terminated name.
            return Ok(Some(format!("operator {}", unsafe { from_server(pg_sys::format_operator(operator)) }?)));
        }
        let collation = part.node::<pg_sys::CollateExpr>().map(|node| node.collOid);
        if let Some(collation) = collation.filter(|collation| collation.to_u32() >= pg_sys::FirstNormalObjectId) {
            // SAFETY: the collation is in a valid expression, so it has a NUL-terminated name.
            return Ok(Some(format!("collation {}", unsafe { from_server(pg_sys::get_collation_name(collation)) }?)));
        }
        let is_read = matches!(part.tag(), NodeTag::T_Var | NodeTag::T_FieldSelect)
            && only_read.iter().any(|read| read.is_same_node(part));
        let is_other = |data_type: &Oid| !is_allowed_type(*data_type) || is_other_text_search(part, *data_type);
        if let Some(data_type) = part.any_value_type().filter(|data_type| !is_read && is_other(data_type)) {
            return Ok(Some(format!("type {}", type_name(data_type)?)));
        }
        if !is_allowed_kind(part, depends_on) {
            return Ok(Some(format!("{:?}", part.tag()).replace("T_", "an expression of the kind ")));
        }
    }
    Ok(None)
}

/// Whether PostgreSQL ships a function or a type. Nobody can drop it.
fn is_built_in(object: Oid) -> bool {
    object.to_u32() < pg_sys::FirstUnpinnedObjectId
}

/// Whether values of a type are handled by PostgreSQL's own code alone, at any depth.
pub fn is_allowed_type(data_type: Oid) -> bool {
    // SAFETY: look-ups in system caches.
    let (is_enum, element) = unsafe { (pg_sys::type_is_enum(data_type), pg_sys::get_element_type(data_type)) };
    is_built_in(data_type) || is_enum || element != Oid::INVALID && is_allowed_type(element)
}

/// Whether a node of this type is a text search configuration or dictionary, except a constant that PostgreSQL ships.
fn is_other_text_search(node: Expression, data_type: Oid) -> bool {
    let is_shipped = |(_, value): (_, pg_sys::Datum)| (value.value() as u32) < pg_sys::FirstNormalObjectId;
    matches!(data_type, pg_sys::REGCONFIGOID | pg_sys::REGDICTIONARYOID) && !node.constant().is_some_and(is_shipped)
}

/// The argument of a node that only reads it.
fn only_read_argument(node: Expression) -> Option<Expression> {
    let relabelled = node.node::<pg_sys::RelabelType>().map(|node| node.arg);
    let selected_from = || node.node::<pg_sys::FieldSelect>().map(|node| node.arg);
    let tested = || node.node::<pg_sys::NullTest>().map(|node| node.arg);
    // SAFETY: each of these nodes has an argument.
    unsafe { Expression::new(relabelled.or_else(selected_from).or_else(tested)?) }
}

/// Whether a node is of a kind that runs no code except its functions and the functions of its types.
fn is_allowed_kind(node: Expression, depends_on: DependsOn) -> bool {
    use pg_sys::SQLValueFunctionOp::SVFOP_LOCALTIMESTAMP_N;
    // Times come first in the list of these functions. Then come users and schemas.
    let is_allowed = |function: &pg_sys::SQLValueFunction| {
        depends_on == DependsOn::RowAndWriter || function.op <= SVFOP_LOCALTIMESTAMP_N
    };
    node.node::<pg_sys::SQLValueFunction>().is_some_and(is_allowed)
        || matches!(
            node.tag(),
            NodeTag::T_Var
                | NodeTag::T_Const
                | NodeTag::T_FuncExpr
                | NodeTag::T_NamedArgExpr
                | NodeTag::T_OpExpr
                | NodeTag::T_DistinctExpr
                | NodeTag::T_NullIfExpr
                | NodeTag::T_ScalarArrayOpExpr
                | NodeTag::T_BoolExpr
                | NodeTag::T_SubscriptingRef
                | NodeTag::T_FieldSelect
                | NodeTag::T_RelabelType
                | NodeTag::T_CoerceViaIO
                | NodeTag::T_ArrayCoerceExpr
                | NodeTag::T_CollateExpr
                | NodeTag::T_CaseExpr
                | NodeTag::T_CaseTestExpr
                | NodeTag::T_ArrayExpr
                | NodeTag::T_RowExpr
                | NodeTag::T_RowCompareExpr
                | NodeTag::T_CoalesceExpr
                | NodeTag::T_MinMaxExpr
                | NodeTag::T_NullTest
                | NodeTag::T_BooleanTest
        )
}
