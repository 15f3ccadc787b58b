//! The extension's own functions as the planner knows them.

use std::ffi::CStr;

use pgrx::pg_sys::{self, Oid};

/// Functions that are found in stored expressions, or put into plans.
///
/// They are those of the schema that a given function of the extension is in: never those that search_path names.
#[derive(Clone, Copy)]
pub struct Functions {
    pub hamming: Oid,
    pub simhash_block: Oid,
    pub simhash_probes: Oid,
}

impl Functions {
    /// None if they are not where `function` is.
    pub fn beside(function: Oid) -> Option<Self> {
        use pg_sys::{INT4OID, INT8OID};
        // SAFETY: reads the catalogue; a function that does not exist gives the invalid schema.
        let schema = unsafe { pg_sys::get_func_namespace(function) };
        Some(Self {
            hamming: find(schema, c"hamming", &[INT8OID, INT8OID])?,
            simhash_block: find(schema, c"simhash_block", &[INT8OID, INT4OID, INT4OID])?,
            simhash_probes: find(schema, c"simhash_probes", &[INT8OID, INT4OID, INT4OID, INT4OID])?,
        })
    }
}

/// The function of a schema with exactly these argument types, whoever may use the schema.
fn find(schema: Oid, name: &CStr, arguments: &[Oid]) -> Option<Oid> {
    // SAFETY: the keys are those of this cache: name, argument types, schema. The vector is copied.
    let function = unsafe {
        let types = pg_sys::buildoidvector(arguments.as_ptr(), arguments.len() as i32);
        pg_sys::GetSysCacheOid(
            pg_sys::SysCacheIdentifier::PROCNAMEARGSNSP as i32,
            pg_sys::Anum_pg_proc_oid as i16,
            pg_sys::Datum::from(name.as_ptr()),
            pg_sys::Datum::from(types),
            pg_sys::Datum::from(schema),
            pg_sys::Datum::null(),
        )
    };
    (function != Oid::INVALID).then_some(function)
}
