//! The literals in quotes of an expression. Literals of PostgreSQL's own types are read, unless they name objects.
//! Others are refused unread.
//!
//! PostgreSQL reads a literal while it parses an expression, by the input function of its type and the CHECK of each
//! domain in it. That may be anybody's code, and runs before there is a tree that could be refused. So the parser gets
//! a parameter in place of each literal, and calls [`literal_of`] when it knows the parameter's type.

use std::ffi::{c_int, c_void};

use pgrx::pg_sys::{self, NodeTag, Oid};
use pgrx::prelude::*;

use crate::built_in::is_allowed_literal;
use crate::ffi::guarded;
use crate::list::nodes;
use crate::memory::push;

/// The literals of an expression.
#[derive(Default)]
pub struct Literals {
    /// Constants of the type `unknown`. The parameter -1 stands for the first one, -2 for the second one.
    values: Vec<*mut pg_sys::Const>,
    /// The type of the first literal that is refused.
    pub refused: Option<Oid>,
}

impl Literals {
    /// Takes the literals out of a raw parse tree, which gets parameters in their place. False if the tree has a
    /// subquery: PostgreSQL's walker skips some of its clauses, so literals may be left.
    ///
    /// # Safety
    /// The tree is valid, and nothing else refers to it.
    pub unsafe fn take_from(&mut self, tree: *mut pg_sys::Node) -> bool {
        let literals: *mut Self = self;
        // SAFETY: the caller passes a valid tree.
        unsafe { !guarded(|| take_literals(tree, literals.cast())) }
    }

    /// Sets the parser's hooks that return the literals.
    ///
    /// # Safety
    /// The literals live as long as the parser's state, and are not used otherwise meanwhile.
    pub unsafe fn set_hooks(&mut self, state: *mut pg_sys::ParseState) {
        // SAFETY: the caller passes a valid state.
        unsafe {
            (*state).p_paramref_hook = Some(parameter_of);
            (*state).p_coerce_param_hook = Some(literal_of);
            (*state).p_ref_hook_state = (&raw mut *self).cast();
        }
    }
}

/// A walker of PostgreSQL: writes parameters over the literals of a tree. True, which ends the walk, for a subquery.
#[pg_guard]
unsafe extern "C-unwind" fn take_literals(node: *mut pg_sys::Node, literals: *mut c_void) -> bool {
    // SAFETY: PostgreSQL passes a node of a raw parse tree, or null. A literal takes more memory than a parameter, and
    // a call more than a cast.
    unsafe {
        let Some(tag) = node.as_ref().map(|node| node.type_) else { return false };
        match tag {
            NodeTag::T_SubLink | NodeTag::T_SelectStmt => return true,
            // A type modifier must stay a constant.
            NodeTag::T_TypeName => return false,
            NodeTag::T_FuncCall => write_as_cast(node.cast()),
            NodeTag::T_A_Const if is_quoted_literal(node) => {
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
unsafe fn is_quoted_literal(node: *mut pg_sys::Node) -> bool {
    // SAFETY: the caller passes a valid node.
    unsafe {
        (*node).type_ == NodeTag::T_A_Const && {
            let constant = &*node.cast::<pg_sys::A_Const>();
            !constant.isnull && constant.val.node.type_ == NodeTag::T_String
        }
    }
}

/// Writes a cast over a call such as `date('2026-01-01')`: PostgreSQL reads such a call as a cast if its argument is
/// a literal, but not if it is a parameter.
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
        if !is_plain || !is_quoted_literal(argument) {
            return;
        }
        let written = pg_sys::makeTypeNameFromNameList(funcname);
        let pg_type = pg_sys::LookupTypeNameExtended(std::ptr::null_mut(), written, std::ptr::null_mut(), false, true);
        if pg_type.is_null() {
            return;
        }
        let (data_type, is_composite) = (pg_sys::typeTypeId(pg_type), pg_sys::typeTypeRelid(pg_type) != Oid::INVALID);
        pg_sys::ReleaseSysCache(pg_type);
        if !is_composite && pg_sys::get_typisdefined(data_type) {
            let name = pg_sys::makeTypeNameFromOid(data_type, -1);
            let cast = pg_sys::TypeCast { type_: NodeTag::T_TypeCast, arg: argument, typeName: name, location };
            call.cast::<pg_sys::TypeCast>().write(cast);
        }
    }
}

/// The parser's hook for a reference to a parameter: returns the parameter that stands for a literal. For a reference
/// that the user has written, returns null, which makes the parser raise an error.
#[pg_guard]
unsafe extern "C-unwind" fn parameter_of(
    state: *mut pg_sys::ParseState,
    reference: *mut pg_sys::ParamRef,
) -> *mut pg_sys::Node {
    // SAFETY: the parser passes its state, which has the literals, and a valid node. The new node is all zeros, which
    // is valid.
    unsafe {
        let literals = &*(*state).p_ref_hook_state.cast::<Literals>();
        let index = usize::try_from(-1 - i64::from((*reference).number)).ok();
        let literal = index.and_then(|index| literals.values.get(index));
        // Up to PostgreSQL 17, a large number that the user has written becomes negative, so compare the location too.
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

/// The parser's hook for a parameter whose type it has found: returns the literal, read as this type. If the type is
/// refused, returns NULL and reads nothing.
#[pg_guard]
unsafe extern "C-unwind" fn literal_of(
    state: *mut pg_sys::ParseState,
    parameter: *mut pg_sys::Param,
    data_type: Oid,
    modifier: i32,
    location: c_int,
) -> *mut pg_sys::Node {
    // SAFETY: the parser passes its state, which has the literals, and a parameter that stands for one of them.
    unsafe {
        let literals = &mut *(*state).p_ref_hook_state.cast::<Literals>();
        if !is_allowed_literal(data_type) {
            literals.refused.get_or_insert(data_type);
            return pg_sys::makeNullConst(data_type, -1, Oid::INVALID).cast();
        }
        let literal = literals.values[(-1 - (*parameter).paramid) as usize];
        let (context, form) = (pg_sys::CoercionContext::COERCION_IMPLICIT, pg_sys::CoercionForm::COERCE_IMPLICIT_CAST);
        pg_sys::coerce_type(state, literal.cast(), pg_sys::UNKNOWNOID, data_type, modifier, context, form, location)
    }
}
