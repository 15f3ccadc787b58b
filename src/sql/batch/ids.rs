//! The ids of rows: an array of any type, read where it is.
//!
//! PostgreSQL's own way of taking an array apart makes 9 bytes of memory for each element, and cannot be cancelled.

use std::slice;

use formats::array_elements::{ElementPlaces, Layout, Unplaced};
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;
use pgrx::varlena::varsize_any;
use pgrx::{AnyArray, AnyElement, FromDatum};
use simhash::error::Error;

use crate::postgres::arrays::{detoast, null_element};
use crate::postgres::error::{algorithm_error, tick, user_error};

/// An array's elements, none of them NULL, for as long as its memory lasts.
pub struct Ids {
    array: *const u8,
    element_type: Oid,
    /// Bytes of an element that is passed by value.
    by_value: Option<i16>,
    places: ElementPlaces,
}

impl Ids {
    /// Costs a look at each element if their lengths differ, and 4 bytes.
    pub fn read(array: &AnyArray) -> Result<Self, ErrorReport> {
        const WHAT: &str = "ids";
        let detoasted = detoast(array, WHAT)?;
        let (mut length, mut by_value, mut align) = (0, false, 0);
        // SAFETY: a detoasted array, which knows the type of its elements, has as many bytes as its length word says.
        let (element_type, bytes) = unsafe {
            let element_type = (*detoasted).elemtype;
            pg_sys::get_typlenbyvalalign(element_type, &mut length, &mut by_value, &mut align);
            (element_type, slice::from_raw_parts(detoasted.cast::<u8>(), varsize_any(detoasted.cast())))
        };
        let places =
            ElementPlaces::read(bytes, Layout { length, align: align as u8 }, &tick).map_err(|why| match why {
                Unplaced::Null(place) => null_element(WHAT, place),
                Unplaced::Corrupted => user_error(PgSqlErrorCode::ERRCODE_DATA_CORRUPTED, "array of ids is corrupted"),
                Unplaced::OutOfMemory => algorithm_error(Error::OutOfMemory),
            })?;
        Ok(Self { array: bytes.as_ptr(), element_type, by_value: by_value.then_some(length), places })
    }

    pub fn len(&self) -> usize {
        self.places.count()
    }

    /// The element at a place, if there is one.
    pub fn get(&self, place: u32) -> Option<AnyElement> {
        let place = self.places.get(place as usize)?;
        // SAFETY: an element of the array, inside of it, as its type is stored.
        unsafe {
            let element = self.array.add(place);
            let datum = match self.by_value {
                Some(1) => Datum::from(element.cast::<i8>().read_unaligned()),
                Some(2) => Datum::from(element.cast::<i16>().read_unaligned()),
                Some(4) => Datum::from(element.cast::<i32>().read_unaligned()),
                Some(_) => Datum::from(element.cast::<i64>().read_unaligned()),
                None => Datum::from(element.cast_mut()),
            };
            AnyElement::from_polymorphic_datum(datum, false, self.element_type)
        }
    }
}
