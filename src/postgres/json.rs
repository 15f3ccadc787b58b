//! Writes JSON, whose strings may be server strings ([`super::encoding`]), and converts `jsonb` values.

use std::ffi::CStr;

use pgrx::pg_sys::{Datum, JsonbIteratorToken, jbvType};
use pgrx::prelude::*;
use pgrx::{AnyElement, direct_function_call, direct_function_call_as_datum};
use serde_json::Value;

use super::encoding::readable;
use super::error::{Explain, Result, out_of_memory, user_error};
use super::server_string::{server_string, to_server_cstring};

/// The content of a `jsonb` datum, without its length word.
pub type RawJsonb<'a> = &'a [u8];

/// The limit on the digits of the numbers of a `jsonb` value.
const MAX_DIGITS: usize = 1 << 18;

/// The largest integer that every JSON parser reads exactly: many read numbers as double precision.
const MAX_EXACT: u64 = (1 << 53) - 1;

/// A JSON object with these members, in this order. Their values are JSON.
pub fn object<'a>(members: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let to_member = |(name, value): (&str, String)| format!("{}: {value}", string(name));
    let members: Vec<_> = members.into_iter().map(to_member).collect();
    format!("{{{}}}", members.join(", "))
}

/// A JSON array of these elements, each of them JSON.
pub fn array(elements: impl Iterator<Item = String>) -> String {
    format!("[{}]", elements.collect::<Vec<_>>().join(", "))
}

/// A JSON string.
pub fn string(text: &str) -> String {
    Value::from(text).to_string()
}

/// An integer as a JSON number or, if some parsers would round it, as a JSON string.
pub fn integer(value: i64) -> String {
    let digits = value.to_string();
    if value.unsigned_abs() <= MAX_EXACT { digits } else { string(&digits) }
}

/// Escapes the non-ASCII characters of JSON, so that every encoding can represent it.
pub fn to_ascii(json: &str) -> String {
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

/// A `jsonb` value as JSON, in the server's encoding. An error if its numbers have more than [`MAX_DIGITS`] digits.
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
        if count_digits(aligned.cast()) > MAX_DIGITS {
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

/// The length of all numbers in a container, in digits, signs and points. Stops once it exceeds [`MAX_DIGITS`]: a
/// number that takes 12 bytes may have 131,072 digits.
///
/// # Safety
/// The container is valid.
unsafe fn count_digits(container: *mut pg_sys::JsonbContainer) -> usize {
    // SAFETY: the iterator fills the value before it is read. numeric_out takes a numeric, and returns a C string.
    unsafe {
        let (mut iterator, mut value) = (pg_sys::JsonbIteratorInit(container), std::mem::zeroed());
        let mut digits = 0;
        while digits <= MAX_DIGITS {
            match pg_sys::JsonbIteratorNext(&raw mut iterator, &raw mut value, false) {
                JsonbIteratorToken::WJB_DONE => break,
                JsonbIteratorToken::WJB_VALUE | JsonbIteratorToken::WJB_ELEM if value.type_ == jbvType::jbvNumeric => {
                    let number = direct_function_call::<&CStr>(pg_sys::numeric_out, &[Some(value.val.numeric.into())]);
                    digits += number.map_or(0, CStr::count_bytes);
                }
                _ => {}
            }
        }
        digits
    }
}

/// JSON, whose strings may be server strings, as a `jsonb` value. PostgreSQL raises an error if it is too large,
/// or if the database's encoding lacks one of its characters.
pub fn to_jsonb(json: &str) -> Result<AnyElement> {
    let c_string = to_server_cstring(json)?;
    // SAFETY: jsonb_in reads a C string, and returns a `jsonb`.
    let value = unsafe {
        let datum = direct_function_call_as_datum(pg_sys::jsonb_in, &[Some(Datum::from(c_string.as_ptr()))]);
        datum.and_then(|datum| AnyElement::from_polymorphic_datum(datum, false, pg_sys::JSONBOID))
    };
    Ok(value.expect("jsonb_in returns no NULL"))
}

/// A `jsonb` value as JSON in a server string; an error as in [`to_json`].
///
/// # Safety
/// `value` is the content of a valid `jsonb` datum.
pub unsafe fn to_json_text(value: RawJsonb<'_>) -> Result<String> {
    server_string(&unsafe { to_json(value) }?)
}
