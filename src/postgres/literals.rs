//! The literals in quotes of an expression. Literals of PostgreSQL's own types are read, and others are refused unread.
//!
//! PostgreSQL reads a literal while it parses an expression, by the function of its type and the CHECK of each domain
//! in it. That may be anybody's code, and runs before there is a tree that could be refused. So the parser gets
//! a parameter in place of each literal, and asks [`coerced`] for the literal when it knows the type.

use std::ffi::{c_int, c_void};

use pgrx::pg_sys::{self, NodeTag, Oid};
use pgrx::prelude::*;

use crate::built_in::is_allowed_type;
use crate::ffi::guarded;
use crate::list::nodes;
use crate::memory::push;

/// The literals of an expression.
#[derive(Default)]
pub struct Literals {
    /// Constants of the type `unknown`. The first one has the parameter -1, the second one -2.
    values: Vec<*mut pg_sys::Const>,
    /// The first type of a literal whose values other code than PostgreSQL's own may read.
    pub refused: Option<Oid>,
}

impl Literals {
    /// Makes a parameter of each literal of a raw parse tree. False if the tree has a subquery, some of whose clauses
    /// would be missed.
    ///
    /// # Safety
    /// The tree is valid, and nothing else refers to it.
    pub unsafe fn take_from(&mut self, tree: *mut pg_sys::Node) -> bool {
        let literals: *mut Self = self;
        // SAFETY: the caller passes a valid tree.
        unsafe { !guarded(|| take_literals(tree, literals.cast())) }
    }

    /// Has the parser ask for the literals.
    ///
    /// # Safety
    /// The literals live as long as the parser's state, and are not used otherwise meanwhile.
    pub unsafe fn serve(&mut self, state: *mut pg_sys::ParseState) {
        // SAFETY: the caller passes a valid state.
        unsafe {
            (*state).p_paramref_hook = Some(as_parameter);
            (*state).p_coerce_param_hook = Some(coerced);
            (*state).p_ref_hook_state = (&raw mut *self).cast();
        }
    }
}

/// Makes parameters of the literals in a part of a tree, in place. True if it is a subquery, some of whose clauses the
/// walker skips.
#[pg_guard]
unsafe extern "C-unwind" fn take_literals(node: *mut pg_sys::Node, literals: *mut c_void) -> bool {
    // SAFETY: PostgreSQL passes a node of a raw parse tree, or null. A literal takes more memory than a parameter, and
    // a call more than a cast.
    unsafe {
        let Some(tag) = node.as_ref().map(|node| node.type_) else { return false };
        match tag {
            NodeTag::T_SubLink | NodeTag::T_SelectStmt => return true,
            // A modifier must be a constant.
            NodeTag::T_TypeName => return false,
            NodeTag::T_FuncCall => write_as_cast(node.cast()),
            NodeTag::T_A_Const if is_string(node) => {
                let pg_sys::A_Const { location, .. } = *node.cast::<pg_sys::A_Const>();
                let values = &mut (*literals.cast::<Literals>()).values;
                push(values, pg_sys::make_const(std::ptr::null_mut(), node.cast()));
                let number = -(values.len() as c_int);
                let parameter = pg_sys::ParamRef { type_: NodeTag::T_ParamRef, number, location };
                node.cast::<pg_sys::ParamRef>().write(parameter);
                return false;
            }
            _ => {}
        }
        pg_sys::raw_expression_tree_walker(node, Some(take_literals), literals)
    }
}

/// Whether a node of a raw parse tree is a literal in quotes.
///
/// # Safety
/// The node is valid.
unsafe fn is_string(node: *mut pg_sys::Node) -> bool {
    // SAFETY: the caller passes a valid node.
    unsafe {
        (*node).type_ == NodeTag::T_A_Const && {
            let constant = &*node.cast::<pg_sys::A_Const>();
            !constant.isnull && constant.val.node.type_ == NodeTag::T_String
        }
    }
}

/// Writes a call such as `date('2026-01-01')` as the cast that PostgreSQL takes it for: of a literal, but not of
/// a parameter.
///
/// # Safety
/// The node is valid, and nothing else refers to it.
unsafe fn write_as_cast(call: *mut pg_sys::FuncCall) {
    // SAFETY: the caller passes a valid node, which takes more memory than a cast.
    unsafe {
        let pg_sys::FuncCall { funcname, location, .. } = *call;
        let [argument] = nodes::<pg_sys::Node>((*call).args)[..] else { return };
        let is_plain = (*call).agg_order.is_null()
            && (*call).agg_filter.is_null()
            && (*call).over.is_null()
            && !((*call).agg_within_group || (*call).agg_star || (*call).agg_distinct || (*call).func_variadic);
        if !is_plain || !is_string(argument) {
            return;
        }
        let name = pg_sys::makeTypeNameFromNameList(funcname);
        let found = pg_sys::LookupTypeNameExtended(std::ptr::null_mut(), name, std::ptr::null_mut(), false, true);
        if found.is_null() {
            return;
        }
        let (data_type, is_composite) = (pg_sys::typeTypeId(found), pg_sys::typeTypeRelid(found) != Oid::INVALID);
        pg_sys::ReleaseSysCache(found);
        if !is_composite && pg_sys::get_typisdefined(data_type) {
            let name = pg_sys::makeTypeNameFromOid(data_type, -1);
            let cast = pg_sys::TypeCast { type_: NodeTag::T_TypeCast, arg: argument, typeName: name, location };
            call.cast::<pg_sys::TypeCast>().write(cast);
        }
    }
}

/// The parser's hook for a parameter: the parameter that stands for a literal. For a parameter of the user, null, which
/// makes the parser raise an error.
#[pg_guard]
unsafe extern "C-unwind" fn as_parameter(
    state: *mut pg_sys::ParseState,
    reference: *mut pg_sys::ParamRef,
) -> *mut pg_sys::Node {
    // SAFETY: the parser passes its state, which has the literals, and a valid node. The new node is all zeros, which
    // is valid, but for what is set.
    unsafe {
        let literals = &*(*state).p_ref_hook_state.cast::<Literals>();
        // Up to PostgreSQL 17, a large number of the user's becomes a negative one.
        let literal = usize::try_from(-1 - i64::from((*reference).number)).ok().and_then(|i| literals.values.get(i));
        if literal.is_none_or(|literal| (**literal).location != (*reference).location) {
            return std::ptr::null_mut();
        }
        let parameter = pg_sys::palloc0(size_of::<pg_sys::Param>()).cast::<pg_sys::Param>();
        (*parameter).xpr.type_ = NodeTag::T_Param;
        (*parameter).paramkind = pg_sys::ParamKind::PARAM_EXTERN;
        (*parameter).paramid = (*reference).number;
        (*parameter).paramtype = pg_sys::UNKNOWNOID;
        (*parameter).paramtypmod = -1;
        (*parameter).location = (*reference).location;
        parameter.cast()
    }
}

/// The parser's hook for a parameter whose type it has found: the literal, read as this type. If the type is refused,
/// NULL: nothing is read.
#[pg_guard]
unsafe extern "C-unwind" fn coerced(
    state: *mut pg_sys::ParseState,
    parameter: *mut pg_sys::Param,
    data_type: Oid,
    modifier: i32,
    location: c_int,
) -> *mut pg_sys::Node {
    // SAFETY: the parser passes its state, which has the literals, and a parameter that stands for one of them.
    unsafe {
        let literals = &mut *(*state).p_ref_hook_state.cast::<Literals>();
        if !is_allowed_type(data_type) {
            literals.refused.get_or_insert(data_type);
            return pg_sys::makeNullConst(data_type, -1, Oid::INVALID).cast();
        }
        let literal = literals.values[(-1 - (*parameter).paramid) as usize];
        let (context, form) = (pg_sys::CoercionContext::COERCION_IMPLICIT, pg_sys::CoercionForm::COERCE_IMPLICIT_CAST);
        pg_sys::coerce_type(state, literal.cast(), pg_sys::UNKNOWNOID, data_type, modifier, context, form, location)
    }
}
