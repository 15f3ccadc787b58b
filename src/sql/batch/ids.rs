//! The ids of rows: an array of any type, read in place.
//!
//! PostgreSQL's deconstruct_array takes 9 bytes of memory for each element, and cannot be cancelled.

use std::slice;

use formats::array_elements::{ArrayError, ElementOffsets, ElementStorage};
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;
use pgrx::varlena::varsize_any;
use pgrx::{AnyArray, AnyElement, FromDatum};
use postgres::arrays::{detoast, null_element};
use postgres::error::{algorithm_error, tick, user_error};
use simhash::error::Error;

/// The elements of an array, none of them NULL. Valid as long as the array's memory.
pub struct Ids {
    array: *const u8,
    element_type: Oid,
    /// The size of an element that is passed by value; None for a type that is passed by reference.
    by_value: Option<i16>,
    offsets: ElementOffsets,
}

impl Ids {
    /// Reads an array; an error, with `what` as its name, if it has a NULL or several dimensions, or is corrupted. If
    /// the lengths of the elements differ, this reads each element, and takes 4 bytes for each.
    pub fn read(array: &AnyArray, what: &str) -> Result<Self, ErrorReport> {
        let detoasted = detoast(array, what)?;
        let (mut length, mut by_value, mut align) = (0, false, 0);
        // SAFETY: a detoasted array holds the type of its elements, and has as many bytes as its length word says.
        let (element_type, bytes) = unsafe {
            let element_type = (*detoasted).elemtype;
            pg_sys::get_typlenbyvalalign(element_type, &mut length, &mut by_value, &mut align);
            (element_type, slice::from_raw_parts(detoasted.cast::<u8>(), varsize_any(detoasted.cast())))
        };
        let offsets = ElementOffsets::read(bytes, ElementStorage { length, align: align as u8 }, &tick).map_err(
            |why| match why {
                ArrayError::Null(index) => null_element(what, index),
                ArrayError::Corrupted => {
                    user_error(PgSqlErrorCode::ERRCODE_DATA_CORRUPTED, format!("array {what} is corrupted"))
                }
                ArrayError::OutOfMemory => algorithm_error(Error::OutOfMemory),
            },
        )?;
        Ok(Self { array: bytes.as_ptr(), element_type, by_value: by_value.then_some(length), offsets })
    }

    pub fn len(&self) -> usize {
        self.offsets.count()
    }

    pub fn element_type(&self) -> Oid {
        self.element_type
    }

    /// The element with an index, from 0; None if there are fewer.
    pub fn get(&self, index: u32) -> Option<AnyElement> {
        let datum = self.datum(index)?;
        // SAFETY: the datum is of this type.
        unsafe { AnyElement::from_polymorphic_datum(datum, false, self.element_type) }
    }

    /// The element with an index as PostgreSQL passes it.
    pub fn datum(&self, index: u32) -> Option<Datum> {
        let offset = self.offsets.get(index as usize)?;
        // SAFETY: `offsets` has found the element inside the array, stored as its type is.
        unsafe {
            let element = self.array.add(offset);
            Some(match self.by_value {
                Some(1) => Datum::from(element.cast::<i8>().read_unaligned()),
                Some(2) => Datum::from(element.cast::<i16>().read_unaligned()),
                Some(4) => Datum::from(element.cast::<i32>().read_unaligned()),
                Some(_) => Datum::from(element.cast::<i64>().read_unaligned()),
                None => Datum::from(element.cast_mut()),
            })
        }
    }
}
