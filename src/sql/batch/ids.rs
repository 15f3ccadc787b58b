//! The ids of rows: an array of any type, read where it is.
//!
//! PostgreSQL's own way of taking an array apart makes 9 bytes of memory for each element, and cannot be cancelled.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::varlena::varsize_any;
use pgrx::{AnyArray, AnyElement, FromDatum};

use crate::simhash::error::Error;
use crate::sql::arrays::{detoast, null_element};
use crate::sql::error::tick;

/// Elements looked at between two checks for interrupts.
const STRIDE: usize = 1 << 16;

/// An array's elements, none of them NULL, for as long as its memory lasts.
pub struct Ids {
    element_type: Oid,
    data: *const u8,
    count: usize,
    places: Places,
}

/// Where the elements are, behind the beginning of the first.
enum Places {
    /// At a distance from each other, by value, if these bytes are the value.
    Even { stride: usize, by_value: Option<usize> },
    /// Each where the one before it ends, or a few bytes behind.
    Uneven(Vec<u32>),
}

impl Ids {
    /// Costs a look at each element if their lengths differ, and 4 bytes.
    pub fn of(array: &AnyArray) -> Result<Self, ErrorReport> {
        const WHAT: &str = "ids";
        let detoasted = detoast(array, WHAT)?;
        let (mut length, mut by_value, mut align) = (0, false, 0);
        // SAFETY: an array, which says what it holds. Behind its head stand the number of its elements, if it has any, the
        // bits that tell which of them are NULL, if any is, and the elements (PostgreSQL's array.h).
        unsafe {
            let head = &*detoasted;
            let start: *const u8 = detoasted.cast();
            pg_sys::get_typlenbyvalalign(head.elemtype, &mut length, &mut by_value, &mut align);
            let bounds = start.add(size_of::<pg_sys::ArrayType>()).cast::<i32>();
            let count = if head.ndim == 0 { 0 } else { usize::try_from(*bounds).unwrap_or(0) };
            let overhead = size_of::<pg_sys::ArrayType>() + 2 * size_of::<i32>() * head.ndim as usize;
            let data = match head.dataoffset {
                0 => start.add(aligned(overhead, MAXIMUM_ALIGN)),
                offset => {
                    let is_null = |place: &usize| {
                        if place.is_multiple_of(STRIDE) {
                            tick();
                        }
                        *start.add(overhead + place / 8) & (1 << (place % 8)) == 0
                    };
                    if let Some(place) = (0..count).find(is_null) {
                        return Err(null_element(WHAT, place));
                    }
                    start.add(offset as usize)
                }
            };
            let align = alignment(align);
            let places = match usize::try_from(length) {
                Ok(length) => Places::Even { stride: aligned(length, align), by_value: by_value.then_some(length) },
                Err(_) => Places::Uneven(uneven(data, count, length, align)?),
            };
            Ok(Self { element_type: head.elemtype, data, count, places })
        }
    }

    pub fn len(&self) -> usize {
        self.count
    }

    /// The element at a place, if there is one.
    pub fn get(&self, place: u32) -> Option<AnyElement> {
        let place = usize::try_from(place).ok().filter(|&place| place < self.count)?;
        // SAFETY: an element of the array, as its type is stored.
        unsafe {
            let datum = match &self.places {
                Places::Even { stride, by_value } => {
                    let element = self.data.add(place * stride);
                    match by_value {
                        Some(1) => Datum::from(*element.cast::<i8>()),
                        Some(2) => Datum::from(*element.cast::<i16>()),
                        Some(4) => Datum::from(*element.cast::<i32>()),
                        Some(_) => Datum::from(*element.cast::<i64>()),
                        None => Datum::from(element.cast_mut()),
                    }
                }
                Places::Uneven(places) => Datum::from(self.data.add(places[place] as usize).cast_mut()),
            };
            AnyElement::from_polymorphic_datum(datum, false, self.element_type)
        }
    }
}

/// PostgreSQL's MAXALIGN.
const MAXIMUM_ALIGN: usize = align_of::<u64>();

fn aligned(offset: usize, align: usize) -> usize {
    offset.next_multiple_of(align)
}

/// That of a type, as pg_type has it.
fn alignment(of_type: std::ffi::c_char) -> usize {
    match of_type as u8 {
        b'c' => 1,
        b's' => 2,
        b'i' => 4,
        _ => MAXIMUM_ALIGN,
    }
}

/// # Safety
/// There are so many elements of that kind of length: varlena (-1) or NUL-terminated (-2), so aligned.
unsafe fn uneven(data: *const u8, count: usize, length: i16, align: usize) -> Result<Vec<u32>, ErrorReport> {
    let mut places = Vec::new();
    places.try_reserve_exact(count).map_err(Error::from)?;
    let mut offset = 0;
    for number in 0..count {
        if number % STRIDE == 0 {
            tick();
        }
        // SAFETY: by the contract. An array is at most 1 GB.
        unsafe {
            offset = aligned(offset, align);
            places.push(offset as u32);
            let element = data.add(offset);
            offset += match length {
                -1 => varsize_any(element.cast()),
                _ => std::ffi::CStr::from_ptr(element.cast()).count_bytes() + 1,
            };
        }
    }
    Ok(places)
}
