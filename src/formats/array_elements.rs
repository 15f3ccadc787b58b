//! Finds the elements of an array in its bytes. Any bytes are accepted, and no server is needed.
//!
//! In memory, an array (`ArrayType` in PostgreSQL's utils/array.h) is a length word, the number of dimensions, the
//! offset of the elements if some may be NULL (else 0), and the type of the elements; then the length of each
//! dimension, and the lower bound of each; then, if some elements may be NULL, a bitmap in which the bits of those that
//! are not NULL are set; and then the elements, from a multiple of 8 bytes on.

use std::collections::TryReserveError;

use simhash::ticking::ticking;

/// Bytes of the header before the lengths of the dimensions.
const HEADER_BYTES: usize = 16;
/// PostgreSQL's MAXIMUM_ALIGNOF.
const MAXIMUM_ALIGN: usize = 8;

/// How values of a type are stored: `typlen` and `typalign` of pg_type.
#[derive(Clone, Copy, Debug)]
pub struct ElementStorage {
    /// Length in bytes; -1 for a varlena, -2 for a NUL-terminated string.
    pub length: i16,
    pub align: u8,
}

/// The offsets of the elements of an array without NULLs.
#[derive(Clone, Debug)]
pub struct ElementOffsets {
    count: usize,
    offsets: Offsets,
}

#[derive(Clone, Debug)]
enum Offsets {
    /// Elements of one length: the offset of the first element, and the stride.
    Even { first: usize, stride: usize },
    /// Elements of different lengths: the offset of each. 32 bits suffice, since an array has at most 1 GB.
    Uneven(Vec<u32>),
}

/// Why a value has no [`ElementOffsets`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayError {
    /// The element with this index is NULL.
    Null(usize),
    /// The elements are not all inside the array, or it has several dimensions.
    Corrupted,
    OutOfMemory,
}

impl From<TryReserveError> for ArrayError {
    fn from(_: TryReserveError) -> Self {
        Self::OutOfMemory
    }
}

impl ElementOffsets {
    /// The offsets of the elements of a detoasted array of at most one dimension. If the lengths of the elements
    /// differ, reads each element, and takes 4 bytes for it.
    pub fn read(array: &[u8], storage: ElementStorage, tick: &dyn Fn()) -> Result<Self, ArrayError> {
        let number = |offset: usize| {
            let bytes = array.get(offset..)?.first_chunk()?;
            usize::try_from(i32::from_ne_bytes(*bytes)).ok()
        };
        let field = |offset| number(offset).ok_or(ArrayError::Corrupted);
        let (dimensions, nullable) = (field(4)?, field(8)?);
        let (count, overhead) = match dimensions {
            0 => (0, HEADER_BYTES),
            1 => (field(HEADER_BYTES)?, HEADER_BYTES + 8),
            _ => return Err(ArrayError::Corrupted),
        };
        if array.len() < overhead {
            return Err(ArrayError::Corrupted);
        }
        let first = if nullable == 0 {
            overhead.next_multiple_of(MAXIMUM_ALIGN)
        } else {
            let bitmap = array.get(overhead..overhead + count.div_ceil(8)).ok_or(ArrayError::Corrupted)?;
            let is_null = |index: &usize| bitmap[index / 8] & 1 << (index % 8) == 0;
            if let Some(index) = ticking(0..count, tick).find(is_null) {
                return Err(ArrayError::Null(index));
            }
            if !nullable.is_multiple_of(MAXIMUM_ALIGN) {
                return Err(ArrayError::Corrupted);
            }
            nullable
        };
        let align = alignment(storage.align);
        let offsets = match usize::try_from(storage.length) {
            Ok(length) => {
                let stride = length.next_multiple_of(align);
                // The last element may be shorter than the stride. An array without elements needs no bytes for them.
                let end =
                    count.checked_sub(1).map_or(Some(0), |last| last.checked_mul(stride)?.checked_add(first + length));
                if end.is_none_or(|end| end > array.len()) {
                    return Err(ArrayError::Corrupted);
                }
                Offsets::Even { first, stride }
            }
            Err(_) => Offsets::Uneven(uneven(array, first, count, storage.length, align, tick)?),
        };
        Ok(Self { count, offsets })
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// The offset in the array of the element with this index; None if there is no such element. The whole element is
    /// inside the array.
    pub fn get(&self, index: usize) -> Option<usize> {
        match &self.offsets {
            Offsets::Even { first, stride } => (index < self.count).then(|| first + index * stride),
            Offsets::Uneven(offsets) => Some(*offsets.get(index)? as usize),
        }
    }
}

/// The alignment in bytes, from `typalign` of pg_type.
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
) -> Result<Vec<u32>, ArrayError> {
    let mut offsets = Vec::new();
    // Each element has at least one byte: refuse a count that exceeds the length of the array.
    if count > array.len() {
        return Err(ArrayError::Corrupted);
    }
    offsets.try_reserve_exact(count)?;
    let mut end = first;
    for _ in ticking(0..count, tick) {
        let offset = end.next_multiple_of(align);
        let rest = array.get(offset..).ok_or(ArrayError::Corrupted)?;
        let bytes = if length == -1 { varlena_length(rest) } else { string_length(rest) };
        let bytes = bytes.filter(|&bytes| bytes <= rest.len()).ok_or(ArrayError::Corrupted)?;
        offsets.push(u32::try_from(offset).map_err(|_| ArrayError::Corrupted)?);
        end = offset + bytes;
    }
    Ok(offsets)
}

/// Length of the varlena that the bytes begin with, header included (PostgreSQL's varatt.h): a length word shifted by 2
/// bits, or a length byte shifted by 1 with its lowest bit set. None for a value that is stored out of line, which no
/// array contains.
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
