//! Checks that an expression runs nothing but code that PostgreSQL itself ships.
//!
//! Such code means the same in every session. Other code may not: PL/pgSQL, for example, looks up the names of types
//! when a session first calls a function, and finds those that the session has made.

use pgrx::pg_sys::{self, NodeTag, Oid};

use crate::catalog::types::type_name;
use crate::error::Result;
use crate::expression::Expression;
use crate::server_string::server_string_from_c;

/// The stable functions that are allowed: the time of the transaction, and arithmetic and comparisons of times, which
/// depend on the setting TimeZone alone.
#[rustfmt::skip]
const ALLOWED_STABLE: [u32; 39] = {
    use pg_sys::*;
    [
        F_NOW, F_TRANSACTION_TIMESTAMP, F_STATEMENT_TIMESTAMP,
        F_TIMESTAMPTZ_PL_INTERVAL, F_TIMESTAMPTZ_MI_INTERVAL, F_INTERVAL_PL_TIMESTAMPTZ,
        F_DATE_TIMESTAMPTZ, F_TIMESTAMPTZ_DATE, F_TIMESTAMP_TIMESTAMPTZ, F_TIMESTAMPTZ_TIMESTAMP,
        F_DATE_TRUNC_TEXT_TIMESTAMPTZ, F_DATE_PART_TEXT_TIMESTAMPTZ, F_EXTRACT_TEXT_TIMESTAMPTZ,
        F_AGE_TIMESTAMP, F_AGE_TIMESTAMPTZ,
        F_DATE_EQ_TIMESTAMPTZ, F_DATE_NE_TIMESTAMPTZ, F_DATE_LT_TIMESTAMPTZ, F_DATE_LE_TIMESTAMPTZ,
        F_DATE_GT_TIMESTAMPTZ, F_DATE_GE_TIMESTAMPTZ,
        F_TIMESTAMPTZ_EQ_DATE, F_TIMESTAMPTZ_NE_DATE, F_TIMESTAMPTZ_LT_DATE, F_TIMESTAMPTZ_LE_DATE,
        F_TIMESTAMPTZ_GT_DATE, F_TIMESTAMPTZ_GE_DATE,
        F_TIMESTAMP_EQ_TIMESTAMPTZ, F_TIMESTAMP_NE_TIMESTAMPTZ, F_TIMESTAMP_LT_TIMESTAMPTZ, F_TIMESTAMP_LE_TIMESTAMPTZ,
        F_TIMESTAMP_GT_TIMESTAMPTZ, F_TIMESTAMP_GE_TIMESTAMPTZ,
        F_TIMESTAMPTZ_EQ_TIMESTAMP, F_TIMESTAMPTZ_NE_TIMESTAMP, F_TIMESTAMPTZ_LT_TIMESTAMP, F_TIMESTAMPTZ_LE_TIMESTAMP,
        F_TIMESTAMPTZ_GT_TIMESTAMP, F_TIMESTAMPTZ_GE_TIMESTAMP,
    ]
};

/// The immutable functions that are not allowed: a setting decides what they return, or they read catalogs.
#[rustfmt::skip]
const REFUSED_IMMUTABLE: [u32; 14] = {
    use pg_sys::*;
    [
        F_BYTEAOUT, F_FLOAT4OUT, F_FLOAT8OUT, F_POINT_OUT, F_LSEG_OUT, F_LINE_OUT, F_PATH_OUT, F_BOX_OUT, F_POLY_OUT,
        F_CIRCLE_OUT,
        F_QUOTE_IDENT, F_SATISFIES_HASH_PARTITION, F_PG_PARTITION_ROOT, F_PG_INDEXAM_PROGRESS_PHASENAME,
    ]
};

/// The stable input functions of literals that are allowed: what they return depends on settings and on the labels of
/// enums, but on no name of an object.
#[rustfmt::skip]
const ALLOWED_INPUT: [u32; 11] = {
    use pg_sys::*;
    [
        F_DATE_IN, F_TIME_IN, F_TIMETZ_IN, F_TIMESTAMP_IN, F_TIMESTAMPTZ_IN, F_INTERVAL_IN, F_CASH_IN, F_XML_IN,
        F_ENUM_IN, F_RANGE_IN, F_MULTIRANGE_IN,
    ]
};

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

/// Finds code in an expression, at any depth, that PostgreSQL does not ship or that is not allowed, and describes it
/// for a message: `function app.f(text)`. Functions for which `is_own` is true count as PostgreSQL's.
///
/// PostgreSQL finds its own objects first, whatever else has their names. The name of another function or operator may
/// later mean something else in the same expression: somebody creates a function whose arguments fit better, or a type.
///
/// Enums are allowed, whose functions PostgreSQL ships, and columns of any type that are only read: as a value, by a
/// cast that runs no function, for one of their fields, or by IS NULL. A text search configuration or dictionary is
/// code too, and is allowed as a constant that PostgreSQL ships.
pub fn foreign_code(tree: Expression, depends_on: DependsOn, is_own: impl Fn(Oid) -> bool) -> Result<Option<String>> {
    let parts = tree.parts();
    let only_read: Vec<_> = parts.iter().filter_map(|&part| only_read_argument(part)).chain([tree]).collect();
    for part in parts {
        let is_only_read = matches!(part.tag(), NodeTag::T_Var | NodeTag::T_FieldSelect)
            && only_read.iter().any(|read| read.is_same_node(part));
        if let Some(code) = foreign_code_of_node(part, depends_on, is_only_read, &is_own)? {
            return Ok(Some(code));
        }
    }
    Ok(None)
}

/// As [`foreign_code`], of a single node.
fn foreign_code_of_node(
    node: Expression,
    depends_on: DependsOn,
    is_only_read: bool,
    is_own: impl Fn(Oid) -> bool,
) -> Result<Option<String>> {
    let is_refused =
        |&function: &Oid| !is_allowed_function(function, depends_on) || !(is_built_in(function) || is_own(function));
    // SAFETY: the functions that format names return NUL-terminated ones.
    let described = |kind, name| Ok(Some(format!("{kind} {}", unsafe { server_string_from_c(name) }?)));
    if let Some(function) = node.functions().into_iter().find(is_refused) {
        // SAFETY: format_procedure accepts any OID.
        return described("function", unsafe { pg_sys::format_procedure(function) });
    }
    if let Some(operator) = node.operator().filter(|&operator| !is_built_in(operator))
        && !node.functions().into_iter().all(is_own)
    {
        // SAFETY: format_operator accepts any OID.
        return described("operator", unsafe { pg_sys::format_operator(operator) });
    }
    let collation = node.node::<pg_sys::CollateExpr>().map(|collate| collate.collOid);
    if let Some(collation) = collation.filter(|collation| collation.to_u32() >= pg_sys::FirstNormalObjectId) {
        // SAFETY: the collation is in a valid expression, so it has a name.
        return described("collation", unsafe { pg_sys::get_collation_name(collation) });
    }
    let is_foreign = |data_type: &Oid| !is_allowed_type(*data_type) || is_foreign_text_search(node, *data_type);
    if let Some(data_type) = node.any_value_type().filter(|data_type| !is_only_read && is_foreign(data_type)) {
        return Ok(Some(format!("type {}", type_name(data_type)?)));
    }
    let has_allowed_kind = is_allowed_kind(node, depends_on);
    Ok((!has_allowed_kind).then(|| format!("{:?}", node.tag()).replace("T_", "an expression of the kind ")))
}

/// Whether a function, if PostgreSQL ships it, depends on nothing else than `depends_on`.
fn is_allowed_function(function: Oid, depends_on: DependsOn) -> bool {
    let is_in = |list: &[u32]| list.contains(&function.to_u32());
    is_in(&ALLOWED_STABLE)
        || depends_on == DependsOn::RowAndWriter && is_in(&ALLOWED_OF_WRITER)
        || is_immutable(function) && !is_in(&REFUSED_IMMUTABLE)
}

fn is_immutable(function: Oid) -> bool {
    // SAFETY: func_volatile looks up a system cache; the function exists.
    unsafe { pg_sys::func_volatile(function) as u8 == pg_sys::PROVOLATILE_IMMUTABLE }
}

/// Whether PostgreSQL ships a function, an operator or a type, so that nobody can drop it.
fn is_built_in(object: Oid) -> bool {
    object.to_u32() < pg_sys::FirstUnpinnedObjectId
}

/// Whether only PostgreSQL's own code handles values of a type: a type that it ships, an enum, or an array of these.
pub fn is_allowed_type(data_type: Oid) -> bool {
    // SAFETY: look-ups in system caches.
    let (is_enum, element) = unsafe { (pg_sys::type_is_enum(data_type), pg_sys::get_element_type(data_type)) };
    is_built_in(data_type) || is_enum || element != Oid::INVALID && is_allowed_type(element)
}

/// Whether a literal of a type may be read: by PostgreSQL's own code, to the same value in every session that has the
/// same settings. A text search configuration is read too, and then refused unless PostgreSQL ships it.
pub fn is_allowed_literal(data_type: Oid) -> bool {
    matches!(data_type, pg_sys::REGCONFIGOID | pg_sys::REGDICTIONARYOID)
        || is_allowed_type(data_type) && has_allowed_input(data_type)
}

fn has_allowed_input(data_type: Oid) -> bool {
    let (mut input, mut argument) = (Oid::INVALID, Oid::INVALID);
    // SAFETY: look-ups in system caches; the type exists.
    let element = unsafe {
        pg_sys::getTypeInputInfo(data_type, &mut input, &mut argument);
        pg_sys::get_element_type(data_type)
    };
    if element != Oid::INVALID {
        return has_allowed_input(element);
    }
    is_immutable(input) || ALLOWED_INPUT.contains(&input.to_u32())
}

/// Whether a node of this type is a text search configuration or dictionary, but not a constant that PostgreSQL ships.
fn is_foreign_text_search(node: Expression, data_type: Oid) -> bool {
    let is_shipped = |(_, oid): (_, pg_sys::Datum)| (oid.value() as u32) < pg_sys::FirstNormalObjectId;
    matches!(data_type, pg_sys::REGCONFIGOID | pg_sys::REGDICTIONARYOID) && !node.constant().is_some_and(is_shipped)
}

/// The argument of a node that only reads it; None for other nodes.
fn only_read_argument(node: Expression) -> Option<Expression> {
    let relabelled = node.node::<pg_sys::RelabelType>().map(|cast| cast.arg);
    let selected_from = || node.node::<pg_sys::FieldSelect>().map(|selection| selection.arg);
    let tested = || node.node::<pg_sys::NullTest>().map(|test| test.arg);
    // SAFETY: each of these nodes has an argument.
    unsafe { Expression::new(relabelled.or_else(selected_from).or_else(tested)?) }
}

/// Whether a node is of a kind that runs no code except its functions and the functions of its types.
fn is_allowed_kind(node: Expression, depends_on: DependsOn) -> bool {
    use pg_sys::NodeTag::*;
    use pg_sys::SQLValueFunctionOp::SVFOP_LOCALTIMESTAMP_N;
    // Times come first in the list of these functions. Then come users and schemas.
    let is_allowed = |function: &pg_sys::SQLValueFunction| {
        depends_on == DependsOn::RowAndWriter || function.op <= SVFOP_LOCALTIMESTAMP_N
    };
    #[rustfmt::skip]
    let is_allowed_tag = matches!(
        node.tag(),
        T_Var | T_Const | T_FuncExpr | T_NamedArgExpr | T_OpExpr | T_DistinctExpr | T_NullIfExpr
        | T_ScalarArrayOpExpr | T_BoolExpr | T_SubscriptingRef | T_FieldSelect | T_RelabelType | T_CoerceViaIO
        | T_ArrayCoerceExpr | T_CollateExpr | T_CaseExpr | T_CaseTestExpr | T_ArrayExpr | T_RowExpr
        | T_RowCompareExpr | T_CoalesceExpr | T_MinMaxExpr | T_NullTest | T_BooleanTest
    );
    is_allowed_tag || node.node::<pg_sys::SQLValueFunction>().is_some_and(is_allowed)
}
