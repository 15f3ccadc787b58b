//! JSON as text, and `jsonb` values. Strings of the text may have the server's bytes (see [`super::server_text`]).

use std::ffi::CStr;

use pgrx::pg_sys::{Datum, JsonbIteratorToken, jbvType};
use pgrx::prelude::*;
use pgrx::{AnyElement, direct_function_call, direct_function_call_as_datum};
use serde_json::Value;

use super::error::{Explain, Result, out_of_memory, user_error};
use super::server_text::readable;
use super::text::{from_bytes, to_server};

/// The content of a `jsonb` datum, without its length word.
pub type RawJsonb<'a> = &'a [u8];

/// The limit on the digits of the numbers of a `jsonb` value.
const MAX_DIGITS: usize = 1 << 18;

/// The largest integer that every JSON parser reads exactly: many read numbers as double precision.
const MAX_EXACT: u64 = (1 << 53) - 1;

/// An object with these members, in this order. Their values are JSON.
pub fn object<'a>(members: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let to_member = |(name, value): (&str, String)| format!("{}: {value}", string(name));
    let members: Vec<_> = members.into_iter().map(to_member).collect();
    format!("{{{}}}", members.join(", "))
}

/// An array of these elements, each of them JSON.
pub fn array(elements: impl Iterator<Item = String>) -> String {
    format!("[{}]", elements.collect::<Vec<_>>().join(", "))
}

pub fn string(text: &str) -> String {
    Value::from(text).to_string()
}

/// An integer as a number or, if some parsers would round it, as a string.
pub fn integer(value: i64) -> String {
    let digits = value.to_string();
    if value.unsigned_abs() <= MAX_EXACT { digits } else { string(&digits) }
}

/// The JSON with non-ASCII characters escaped, so that every encoding can represent it.
pub fn ascii(json: &str) -> String {
    let mut ascii = String::with_capacity(json.len());
    for c in readable(json).chars() {
        if c.is_ascii() {
            ascii.push(c);
        } else {
            let escape = |unit: &mut u16| format!("\\u{unit:04x}");
            ascii.extend(c.encode_utf16(&mut [0; 2]).iter_mut().map(escape));
        }
    }
    ascii
}

/// The value as JSON, in the server's encoding. An error if its numbers have more than [`MAX_DIGITS`] digits.
///
/// # Safety
/// `value` is the content of a valid `jsonb` datum.
pub unsafe fn to_json(value: RawJsonb<'_>) -> Result<Vec<u8>> {
    // SAFETY: palloc aligns its memory, which holds the container of the caller's valid jsonb datum. A null buffer
    // makes JsonbToCString palloc one; it returns a NUL-terminated string.
    unsafe {
        // A short datum is not aligned, but a container must be.
        let aligned = pg_sys::palloc(value.len()).cast::<u8>();
        aligned.copy_from_nonoverlapping(value.as_ptr(), value.len());
        if digits(aligned.cast()) > MAX_DIGITS {
            let message = "the numbers of the jsonb value are too long";
            return Err(user_error(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, message)
                .with_detail(format!("At most {MAX_DIGITS} digits are read.")));
        }
        let json = CStr::from_ptr(pg_sys::JsonbToCString(std::ptr::null_mut(), aligned.cast(), value.len() as i32));
        let mut copy = Vec::new();
        copy.try_reserve_exact(json.count_bytes()).unwrap_or_else(|_| out_of_memory());
        copy.extend_from_slice(json.to_bytes());
        pg_sys::pfree(aligned.cast());
        Ok(copy)
    }
}

/// The length of all numbers, in digits with signs and points; less, but more than [`MAX_DIGITS`], if there are more. A
/// number that takes 12 bytes may have 131,072 digits.
///
/// # Safety
/// It is a valid container.
unsafe fn digits(container: *mut pg_sys::JsonbContainer) -> usize {
    // SAFETY: the iterator fills the value before it is read. A numeric is what numeric_out takes, and it returns a
    // NUL-terminated string.
    unsafe {
        let (mut iterator, mut value) = (pg_sys::JsonbIteratorInit(container), std::mem::zeroed());
        let mut digits = 0;
        while digits <= MAX_DIGITS {
            match pg_sys::JsonbIteratorNext(&raw mut iterator, &raw mut value, false) {
                JsonbIteratorToken::WJB_DONE => break,
                JsonbIteratorToken::WJB_VALUE | JsonbIteratorToken::WJB_ELEM if value.type_ == jbvType::jbvNumeric => {
                    let number =
                        direct_function_call::<&CStr>(pg_sys::numeric_out, &[Some(Datum::from(value.val.numeric))]);
                    digits += number.map_or(0, CStr::count_bytes);
                }
                _ => {}
            }
        }
        digits
    }
}

/// JSON in UTF-8 as a `jsonb` value. PostgreSQL raises an error if it is too large or cannot be encoded.
pub fn to_jsonb(json: &str) -> Result<AnyElement> {
    let json = to_server(json)?;
    // SAFETY: jsonb_in reads a NUL-terminated text, and returns a `jsonb`.
    let value = unsafe {
        let datum = direct_function_call_as_datum(pg_sys::jsonb_in, &[Some(Datum::from(json.as_ptr()))]);
        datum.and_then(|datum| AnyElement::from_polymorphic_datum(datum, false, pg_sys::JSONBOID))
    };
    Ok(value.expect("jsonb_in returns no NULL"))
}

/// The value as JSON in a `String` of the server ([`super::server_text`]).
///
/// # Safety
/// `value` is the content of a valid `jsonb` datum.
pub unsafe fn to_json_text(value: RawJsonb<'_>) -> Result<String> {
    from_bytes(&unsafe { to_json(value) }?)
}
