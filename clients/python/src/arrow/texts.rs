//! Columns of strings.

use pyo3::prelude::*;

use super::capsule::{Stream, wrong_type};
use super::interface::Chunk;

/// A chunk of a column of texts.
pub struct ArrowTexts {
    chunk: Chunk,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    /// Offsets of 32 bits, and bytes.
    String,
    /// Offsets of 64 bits, and bytes.
    LargeString,
    /// Views of 16 bytes, and buffers of bytes.
    StringView,
    /// Every row is null.
    Null,
}

/// A text is not valid UTF-8.
#[derive(Debug)]
pub struct NotUtf8;

/// The longest string that a view holds itself.
const INLINE: usize = 12;

/// The chunks of a column; an exception if it is not one of texts.
pub fn arrow_texts(stream: Stream<'_>) -> PyResult<impl Iterator<Item = PyResult<ArrowTexts>>> {
    let kind = match stream.kind.format.as_str() {
        _ if stream.kind.is_dictionary => None,
        "u" => Some(Kind::String),
        "U" => Some(Kind::LargeString),
        "vu" => Some(Kind::StringView),
        "n" => Some(Kind::Null),
        _ => None,
    };
    let expected = "string, large_string or string_view";
    let kind = kind.ok_or_else(|| wrong_type("texts", expected, &stream.kind))?;
    Ok(stream.map(move |chunk| Ok(ArrowTexts { chunk: chunk?, kind })))
}

impl ArrowTexts {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.chunk.len()
    }

    /// The text of a row; None if it is null. The row must be below the length.
    pub fn get(&self, row: usize) -> Result<Option<&str>, NotUtf8> {
        let bytes = match self.kind {
            Kind::Null => return Ok(None),
            _ if !self.chunk.is_valid(row) => return Ok(None),
            Kind::String => self.between(row, i32::from_ne_bytes),
            Kind::LargeString => self.between(row, i64::from_ne_bytes),
            Kind::StringView => self.viewed(row),
        };
        // The producer must write valid UTF-8. Check it, because a `str` of other bytes is undefined behaviour.
        simdutf8::basic::from_utf8(bytes.unwrap_or_default()).map(Some).map_err(|_| NotUtf8)
    }

    /// The bytes between two offsets; None if the offsets are not in order.
    fn between<const SIZE: usize, T: TryInto<usize>>(
        &self,
        row: usize,
        offset: impl Fn([u8; SIZE]) -> T,
    ) -> Option<&[u8]> {
        let position = self.chunk.offset() + row;
        // SAFETY: an array of this type has one offset more than rows, of type `T`.
        let offsets = unsafe { self.chunk.elements(1, self.chunk.offset() + self.chunk.len() + 1) };
        let begin = offset(*offsets.get(position)?).try_into().ok()?;
        let end: usize = offset(*offsets.get(position + 1)?).try_into().ok()?;
        // SAFETY: the bytes of the strings reach to the end of each.
        unsafe { self.chunk.bytes(2, end) }.get(begin..)
    }

    /// The bytes that a view shows; None if it refers to no buffer.
    fn viewed(&self, row: usize) -> Option<&[u8]> {
        let position = self.chunk.offset() + row;
        // SAFETY: an array of this type has a view of 16 bytes for each row.
        let views = unsafe { self.chunk.elements::<16>(1, self.chunk.offset() + self.chunk.len()) };
        let view = views.get(position)?;
        let number = |at: usize| {
            let bytes = view.get(at..at + 4)?.try_into().ok()?;
            usize::try_from(i32::from_ne_bytes(bytes)).ok()
        };
        let length = number(0)?;
        if length <= INLINE {
            return view.get(4..4 + length);
        }
        let (buffer, begin) = (number(8)?, number(12)?);
        // The last buffer holds the lengths of the others.
        if buffer + 3 >= self.chunk.buffers() {
            return None;
        }
        // SAFETY: the bytes of a string are in the buffer that its view names.
        unsafe { self.chunk.bytes(2 + buffer, begin + length) }.get(begin..)
    }
}
