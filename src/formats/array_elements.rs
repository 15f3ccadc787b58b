//! Where the elements of an array are, from its bytes. Any bytes will do: nothing is taken for granted, and no server
//! is needed.
//!
//! An array in memory (`ArrayType` in PostgreSQL's utils/array.h) is its length word, the number of its dimensions,
//! where its elements begin if some may be NULL (else 0), and their type; each dimension's length, then each one's
//! lower bound; if some may be NULL, a bitmap of those that are not; and at a multiple of 8 bytes the elements.

use std::collections::TryReserveError;

use simhash::ticking::ticking;

/// Bytes before the lengths of the dimensions.
const HEAD: usize = 16;
/// PostgreSQL's MAXALIGN.
const MAXIMUM_ALIGN: usize = 8;

/// How elements of a type are stored: `typlen` and `typalign` of pg_type.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Bytes; -1 for a varlena, -2 for a NUL-terminated string.
    pub length: i16,
    pub align: u8,
}

/// The places of the elements of an array that has no NULL.
#[derive(Clone, Debug)]
pub struct ElementPlaces {
    count: usize,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    /// From the first on at a distance from each other.
    Even { first: usize, stride: usize },
    /// Each where the one before it ends, or a few bytes behind. An array is at most 1 GB.
    Uneven(Vec<u32>),
}

/// Why the elements have no places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unplaced {
    /// The one at this place is NULL.
    Null(usize),
    /// They are not all inside of the array.
    Corrupted,
    OutOfMemory,
}

impl From<TryReserveError> for Unplaced {
    fn from(_: TryReserveError) -> Self {
        Self::OutOfMemory
    }
}

impl ElementPlaces {
    /// Those in an array of at most one dimension, detoasted. Costs a look at each element if their lengths differ, and
    /// 4 bytes.
    pub fn read(array: &[u8], layout: Layout, tick: &dyn Fn()) -> Result<Self, Unplaced> {
        let number = |place: usize| {
            let bytes = array.get(place..)?.first_chunk()?;
            usize::try_from(i32::from_ne_bytes(*bytes)).ok()
        };
        let field = |place| number(place).ok_or(Unplaced::Corrupted);
        let (dimensions, nullable) = (field(4)?, field(8)?);
        let (count, overhead) = match dimensions {
            0 => (0, HEAD),
            1 => (field(HEAD)?, HEAD + 8),
            _ => return Err(Unplaced::Corrupted),
        };
        if array.len() < overhead {
            return Err(Unplaced::Corrupted);
        }
        let first = if nullable == 0 {
            overhead.next_multiple_of(MAXIMUM_ALIGN)
        } else {
            let bitmap = array.get(overhead..overhead + count.div_ceil(8)).ok_or(Unplaced::Corrupted)?;
            let is_null = |place: &usize| bitmap[place / 8] & 1 << (place % 8) == 0;
            if let Some(place) = ticking(0..count, tick).find(is_null) {
                return Err(Unplaced::Null(place));
            }
            if !nullable.is_multiple_of(MAXIMUM_ALIGN) {
                return Err(Unplaced::Corrupted);
            }
            nullable
        };
        let align = alignment(layout.align);
        let kind = match usize::try_from(layout.length) {
            Ok(length) => {
                let stride = length.next_multiple_of(align);
                // Behind the last there may be less than a stride; where there is none, nothing has to be inside.
                let end =
                    count.checked_sub(1).map_or(Some(0), |last| last.checked_mul(stride)?.checked_add(first + length));
                if end.is_none_or(|end| end > array.len()) {
                    return Err(Unplaced::Corrupted);
                }
                Kind::Even { first, stride }
            }
            Err(_) => Kind::Uneven(uneven(array, first, count, layout.length, align, tick)?),
        };
        Ok(Self { count, kind })
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// Where in the array the element at a place begins, if there is one. All of it is inside of the array.
    pub fn get(&self, place: usize) -> Option<usize> {
        match &self.kind {
            Kind::Even { first, stride } => (place < self.count).then(|| first + place * stride),
            Kind::Uneven(places) => Some(*places.get(place)? as usize),
        }
    }
}

/// That of a type, as pg_type has it.
fn alignment(of_type: u8) -> usize {
    match of_type {
        b'c' => 1,
        b's' => 2,
        b'i' => 4,
        _ => MAXIMUM_ALIGN,
    }
}

fn uneven(
    array: &[u8],
    first: usize,
    count: usize,
    length: i16,
    align: usize,
    tick: &dyn Fn(),
) -> Result<Vec<u32>, Unplaced> {
    let mut places = Vec::new();
    // Each has a byte at least: no number of elements is believed that the array has no room for.
    if count > array.len() {
        return Err(Unplaced::Corrupted);
    }
    places.try_reserve_exact(count)?;
    let mut end = first;
    for _ in ticking(0..count, tick) {
        let place = end.next_multiple_of(align);
        let rest = array.get(place..).ok_or(Unplaced::Corrupted)?;
        let bytes = if length == -1 { varlena_length(rest) } else { string_length(rest) };
        let bytes = bytes.filter(|&bytes| bytes <= rest.len()).ok_or(Unplaced::Corrupted)?;
        places.push(u32::try_from(place).map_err(|_| Unplaced::Corrupted)?);
        end = place + bytes;
    }
    Ok(places)
}

/// All bytes of the varlena that these begin with (PostgreSQL's varatt.h): a length word shifted by 2 bits, or one byte
/// shifted by 1 whose lowest bit is set. None for a reference to a value that is stored elsewhere, which no array
/// holds.
fn varlena_length(bytes: &[u8]) -> Option<usize> {
    const { assert!(cfg!(target_endian = "little"), "length words are laid out in the other order here") };
    let (length, least) = match bytes.first()? {
        1 => return None,
        byte if byte & 1 == 1 => (usize::from(byte >> 1), 1),
        _ => (u32::from_ne_bytes(*bytes.first_chunk()?) as usize >> 2, 4),
    };
    (length >= least).then_some(length)
}

fn string_length(bytes: &[u8]) -> Option<usize> {
    Some(bytes.iter().position(|byte| *byte == 0)? + 1)
}
