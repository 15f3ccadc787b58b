//! What generated columns compute, and which of them are blocks or fingerprints.
//!
//! Two columns mean the same where their expression trees are equal; what the expressions look like in SQL does not
//! matter. The extension's functions are recognised by their OIDs, which are looked up in the extension's own schema:
//! no search path and no privilege has a part in it, and a user's own `simhash_block` elsewhere is not taken for ours.
//!
//! Expressions live in the memory context that is current when they are read. The caller sees to it that they are not
//! used beyond it, as with every node in PostgreSQL.

use std::ffi::{CStr, c_void};
use std::ptr::{self, NonNull};

use pgrx::list::List;
use pgrx::memcx;
use pgrx::prelude::*;
use pgrx::{FromDatum, PgRelation};

use super::options::{Document, RawJsonb, read};
use super::text::RawText;
use crate::simhash::options::Options;

/// An expression tree, with constants folded and default arguments filled in.
///
/// The columns in it are `Var`s of range table entry 1, as in all expressions that the catalogs store.
#[derive(Clone, Copy, Debug)]
pub struct Expression(NonNull<pg_sys::Node>);

impl Expression {
    /// # Safety
    ///
    /// `node` is null or an expression that outlives all use of the result.
    pub unsafe fn from_ptr(node: *mut pg_sys::Node) -> Option<Self> {
        NonNull::new(node).map(Self)
    }

    pub fn as_ptr(self) -> *mut pg_sys::Node {
        self.0.as_ptr()
    }

    /// The expression by which a generated column, stored or virtual, is computed; None if it is no generated column.
    ///
    /// Folding evaluates immutable functions of constants, which may be the table owner's own functions.
    pub fn of_generated_column(relation: &PgRelation, column: pg_sys::AttrNumber) -> Option<Self> {
        // SAFETY: the relation is open. `build_column_default` asks for a column that exists, and the null planner
        // state is what users outside of the planner pass to `eval_const_expressions`.
        unsafe {
            if pg_sys::get_attgenerated(relation.oid(), column) == 0 {
                return None;
            }
            let stored = pg_sys::build_column_default(relation.as_ptr(), column.into());
            if stored.is_null() {
                return None;
            }
            Self::from_ptr(pg_sys::eval_const_expressions(ptr::null_mut(), stored))
        }
    }

    /// What the parser makes of it where a value of another type is wanted: itself, or a cast around it.
    pub fn coerced_to(self, wanted: pg_sys::Oid) -> Option<Self> {
        // SAFETY: the expression is valid; without a parser state there are no error positions. The result is folded as
        // stored expressions are.
        unsafe {
            let coerced = pg_sys::coerce_to_target_type(
                ptr::null_mut(),
                self.as_ptr(),
                pg_sys::exprType(self.as_ptr()),
                wanted,
                -1,
                pg_sys::CoercionContext::COERCION_EXPLICIT,
                pg_sys::CoercionForm::COERCE_EXPLICIT_CAST,
                -1,
            );
            if coerced.is_null() {
                return None;
            }
            pg_sys::assign_expr_collations(ptr::null_mut(), coerced);
            Self::from_ptr(pg_sys::eval_const_expressions(ptr::null_mut(), coerced))
        }
    }

    /// Whether both compute the same of the same columns, as far as trees can tell.
    pub fn equals(self, other: Self) -> bool {
        // SAFETY: both are nodes.
        unsafe { pg_sys::equal(self.as_ptr().cast(), other.as_ptr().cast()) }
    }

    /// The column, if it is nothing but a column of the table (a relabelling of its type aside).
    pub fn as_column(self) -> Option<pg_sys::AttrNumber> {
        // SAFETY: a node's tag tells its type.
        unsafe {
            match (*self.as_ptr()).type_ {
                pg_sys::NodeTag::T_Var => Some((*self.as_ptr().cast::<pg_sys::Var>()).varattno),
                pg_sys::NodeTag::T_RelabelType => {
                    let relabelled = (*self.as_ptr().cast::<pg_sys::RelabelType>()).arg.cast();
                    Self::from_ptr(relabelled)?.as_column()
                }
                _ => None,
            }
        }
    }

    /// The function and its arguments, if it is a call.
    fn as_call(self) -> Option<(pg_sys::Oid, Vec<Self>)> {
        // SAFETY: a node's tag tells its type; the arguments of a call are a list of nodes, which live as long as it.
        unsafe {
            if (*self.as_ptr()).type_ != pg_sys::NodeTag::T_FuncExpr {
                return None;
            }
            let call = self.as_ptr().cast::<pg_sys::FuncExpr>();
            let arguments = memcx::current_context(|context| {
                let arguments = List::<*mut c_void>::downcast_ptr_in_memcx((*call).args, context)?;
                arguments.iter().map(|argument| Self::from_ptr(argument.cast())).collect::<Option<Vec<_>>>()
            })?;
            Some(((*call).funcid, arguments))
        }
    }

    /// The type and the value, if it is a constant and not NULL.
    fn as_constant(self) -> Option<(pg_sys::Oid, pg_sys::Datum)> {
        // SAFETY: a node's tag tells its type.
        unsafe {
            let constant = self.as_ptr().cast::<pg_sys::Const>();
            let known = (*constant).xpr.type_ == pg_sys::NodeTag::T_Const && !(*constant).constisnull;
            known.then(|| ((*constant).consttype, (*constant).constvalue))
        }
    }

    fn as_integer(self) -> Option<i32> {
        let (of_type, value) = self.as_constant()?;
        // SAFETY: the value is of that type.
        unsafe { if of_type == pg_sys::INT4OID { i32::from_datum(value, false) } else { None } }
    }
}

/// `simhash_block(fingerprint, block, blocks)` with a layout that is written out.
#[derive(Clone, Copy, Debug)]
pub struct BlockCall {
    pub fingerprint: Expression,
    pub block: i32,
    pub blocks: i32,
}

/// `simhash(source)` or `simhash(source, options)`, with options that are written out.
#[derive(Clone, Debug)]
pub struct FingerprintCall {
    pub source: Expression,
    /// What the options say, whether they are written as `jsonb`, as text, or not at all.
    pub options: Options,
}

impl FingerprintCall {
    pub fn equals(&self, other: &Self) -> bool {
        self.options == other.options && self.source.equals(other.source)
    }
}

/// The schema that the extension is in, and so its functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtensionSchema(pg_sys::Oid);

impl ExtensionSchema {
    /// The schema of one of the extension's functions: the one that is running, or one that is being planned.
    pub fn of_function(function: pg_sys::Oid) -> Option<Self> {
        // SAFETY: a look-up in a system cache.
        let schema = unsafe { pg_sys::get_func_namespace(function) };
        (schema != pg_sys::InvalidOid).then_some(Self(schema))
    }

    pub fn oid(self) -> pg_sys::Oid {
        self.0
    }

    /// The function of that name and those argument types.
    pub fn function(self, name: &CStr, arguments: &[pg_sys::Oid]) -> Option<pg_sys::Oid> {
        // SAFETY: a look-up in a system cache by the keys that it has, which it copies if need be.
        let function = unsafe {
            let arguments = pg_sys::buildoidvector(arguments.as_ptr(), arguments.len() as i32);
            pg_sys::GetSysCacheOid(
                pg_sys::SysCacheIdentifier::PROCNAMEARGSNSP as i32,
                pg_sys::Anum_pg_proc_oid as pg_sys::AttrNumber,
                name.as_ptr().into(),
                arguments.into(),
                self.0.into(),
                pg_sys::Datum::null(),
            )
        };
        (function != pg_sys::InvalidOid).then_some(function)
    }

    /// The expression as a block of a fingerprint.
    pub fn block_call(self, expression: Expression) -> Option<BlockCall> {
        let (function, arguments) = expression.as_call()?;
        let &[fingerprint, block, blocks] = &arguments[..] else {
            return None;
        };
        let ours = self.function(c"simhash_block", &[pg_sys::INT8OID, pg_sys::INT4OID, pg_sys::INT4OID])?;
        if function != ours {
            return None;
        }
        Some(BlockCall { fingerprint, block: block.as_integer()?, blocks: blocks.as_integer()? })
    }

    /// The expression as the fingerprint of a text, of features, or of a document.
    pub fn fingerprint_call(self, expression: Expression) -> Option<FingerprintCall> {
        let (function, arguments) = expression.as_call()?;
        let is_ours = |arguments: &[pg_sys::Oid]| self.function(c"simhash", arguments) == Some(function);
        match arguments[..] {
            [source]
                if is_ours(&[pg_sys::TEXTOID])
                    || is_ours(&[pg_sys::TEXTARRAYOID])
                    || is_ours(&[pg_sys::TSVECTOROID]) =>
            {
                Some(FingerprintCall { source, options: Options::default() })
            }
            [source, options]
                if is_ours(&[pg_sys::TEXTOID, pg_sys::JSONBOID]) || is_ours(&[pg_sys::TEXTOID, pg_sys::TEXTOID]) =>
            {
                Some(FingerprintCall { source, options: constant_options(options)? })
            }
            _ => None,
        }
    }
}

/// The options that a constant says; None also if it says wrong ones.
fn constant_options(constant: Expression) -> Option<Options> {
    let (of_type, value) = constant.as_constant()?;
    // SAFETY: the value is of that type, and both are varlenas, which live as long as the expression.
    unsafe {
        let document = match of_type {
            pg_sys::JSONBOID => Document::Jsonb(RawJsonb::from_datum(value, false)?),
            pg_sys::TEXTOID => Document::Text(RawText::from_datum(value, false)?),
            _ => return None,
        };
        read(document).ok()
    }
}
