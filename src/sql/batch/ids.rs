//! The ids of rows: an array of any type.

use pgrx::pg_sys::{Datum, Oid};
use pgrx::{AnyArray, AnyElement, FromDatum};
use postgres::arrays::{deconstruct, null_element};
use postgres::error::Result;

/// The elements of an array, none of them NULL. Valid as long as the arguments of the call.
pub struct Ids {
    pub element_type: Oid,
    pub elements: &'static [Datum],
}

impl Ids {
    /// Reads an array; an error, with `what` as its name, if it has a NULL or several dimensions.
    pub fn read(array: &AnyArray, what: &str) -> Result<Self> {
        // SAFETY: a function that returns rows runs in memory that lives until it has returned them all, and so does
        // what is made of its arguments.
        let (element_type, elements, nulls) = unsafe { deconstruct(array, what)? };
        match nulls.iter().position(|is_null| *is_null) {
            Some(index) => Err(null_element(what, index)),
            None => Ok(Self { element_type, elements }),
        }
    }

    pub fn get(&self, index: u32) -> Option<AnyElement> {
        let id = *self.elements.get(index as usize)?;
        // SAFETY: the datum is of this type.
        unsafe { AnyElement::from_polymorphic_datum(id, false, self.element_type) }
    }
}
