//! Arrays of any type: the elements of a built array are found where they were put, and in any bytes, each element is
//! wholly inside, at the first aligned offset after the one before it.
//!
//! An input is a digit for the type, a digit for what follows, and the rest: 0 for the bytes of an array, 1 for
//! elements to build one from, 2 for the same with a bitmap of NULLs.

use formats::array_elements::{ArrayError, ElementOffsets, ElementStorage};

use super::input::Input;

/// The length and alignment of types: "char", smallint, integer, bigint, uuid, name, timetz and macaddr; text, a
/// varlena that is aligned as a bigint, and one that is not aligned; cstring.
const TYPES: [(i16, u8); 12] = [
    (1, b'c'),
    (2, b's'),
    (4, b'i'),
    (8, b'd'),
    (16, b'c'),
    (64, b'c'),
    (12, b'd'),
    (6, b'i'),
    (-1, b'i'),
    (-1, b'd'),
    (-1, b'c'),
    (-2, b'c'),
];

pub fn check(input: &[u8]) {
    let mut input = Input(input);
    let (length, align) = TYPES[usize::from(input.number()) % TYPES.len()];
    let storage = ElementStorage { length, align };
    match input.number() % 3 {
        0 => check_bytes(input.0, storage),
        kind => check_built(input, storage, kind == 2),
    }
}

fn check_bytes(array: &[u8], storage: ElementStorage) {
    assert_eq!(found(array, storage).ok(), by_definition(array, storage), "{storage:?} {array:02x?}");
}

fn found(array: &[u8], storage: ElementStorage) -> Result<Vec<usize>, ArrayError> {
    let offsets = ElementOffsets::read(array, storage, &|| ())?;
    assert_eq!(offsets.get(offsets.count()), None);
    Ok((0..offsets.count()).map_while(|number| offsets.get(number)).collect())
}

/// The offsets of the elements, read one after the other; None if one is NULL or not wholly inside.
fn by_definition(array: &[u8], storage: ElementStorage) -> Option<Vec<usize>> {
    let number = |offset: usize| Some(i32::from_ne_bytes(array.get(offset..offset + 4)?.try_into().ok()?));
    let (dimensions, nullable) = (number(4)?, number(8)?);
    let count = if dimensions == 1 { number(16)? } else { 0 };
    let overhead = if dimensions == 1 { 24 } else { 16 };
    if !(0..=1).contains(&dimensions) || nullable < 0 || nullable % 8 != 0 || count < 0 || array.len() < overhead {
        return None;
    }
    for bit in 0..if nullable > 0 { count as usize } else { 0 } {
        if array.get(overhead + bit / 8)? >> (bit % 8) & 1 == 0 {
            return None;
        }
    }
    let mut end = if nullable > 0 { nullable as usize } else { overhead.next_multiple_of(8) };
    let mut offsets = Vec::new();
    for _ in 0..count {
        let offset = aligned(end, storage);
        end = offset + length(array.get(offset..)?, storage)?;
        if end > array.len() {
            return None;
        }
        offsets.push(offset);
    }
    Some(offsets)
}

/// The first offset at or after `offset` where an element may begin.
fn aligned(offset: usize, storage: ElementStorage) -> usize {
    match storage.align {
        b'c' => offset,
        b's' => offset.next_multiple_of(2),
        b'i' => offset.next_multiple_of(4),
        _ => offset.next_multiple_of(8),
    }
}

/// Length of an element in bytes, by its type and its first bytes.
fn length(element: &[u8], storage: ElementStorage) -> Option<usize> {
    match (storage.length, element.first()) {
        (-2, _) => Some(element.iter().position(|byte| *byte == 0)? + 1),
        (-1, None | Some(1)) => None,
        (-1, Some(head)) if head % 2 == 1 => Some(usize::from(head / 2)),
        (-1, _) => {
            let word = u32::from_le_bytes(element.get(..4)?.try_into().ok()?);
            Some(word as usize / 4).filter(|length| *length >= 4)
        }
        (length, _) => Some(length as usize),
    }
}

/// Builds an array as PostgreSQL lays it out, and checks where its elements are found. The input has each element,
/// preceded by its length unless the type fixes it, or a mark for NULL.
fn check_built(mut input: Input, storage: ElementStorage, nullable: bool) {
    let mut elements: Vec<Option<Vec<u8>>> = Vec::new();
    while !input.is_empty() {
        if nullable && input.number() == 9 {
            elements.push(None);
            continue;
        }
        let bytes = match usize::try_from(storage.length) {
            Ok(length) => input.take(length),
            Err(_) => {
                let length = input.number().into();
                input.take(length)
            }
        };
        elements.push(Some(match storage.length {
            -2 => bytes.iter().copied().filter(|byte| *byte != 0).chain([0]).collect(),
            -1 => [&((bytes.len() as u32 + 4) << 2).to_le_bytes(), bytes].concat(),
            length => [bytes, &vec![0; length as usize - bytes.len()]].concat(),
        }));
    }
    let dimensions = i32::from(!elements.is_empty());
    let mut head = [[0; 4], dimensions.to_ne_bytes(), [0; 4], [0; 4]].concat();
    if dimensions == 1 {
        head.extend((elements.len() as i32).to_ne_bytes());
        head.extend(1i32.to_ne_bytes());
    }
    if nullable {
        let present = |elements: &[Option<Vec<u8>>]| {
            (0..).zip(elements).map(|(bit, element)| u8::from(element.is_some()) << bit).sum::<u8>()
        };
        head.extend(elements.chunks(8).map(present));
    }
    let mut array = head;
    array.resize(array.len().next_multiple_of(8), 0);
    if nullable {
        let first = array.len() as i32;
        array[8..12].copy_from_slice(&first.to_ne_bytes());
    }
    let mut expected = Vec::new();
    for element in elements.iter().flatten() {
        array.resize(aligned(array.len(), storage), 0);
        expected.push(array.len());
        array.extend(element);
    }
    let found = found(&array, storage);
    match elements.iter().position(Option::is_none) {
        Some(null) => assert_eq!(found, Err(ArrayError::Null(null)), "{storage:?} {array:02x?}"),
        None => assert_eq!(found, Ok(expected), "{storage:?} {array:02x?}"),
    }
}
