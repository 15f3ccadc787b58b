//! JSON as text. Its strings may have the server's bytes (see [`super::server_text`]).

use serde_json::Value;

use super::server_text::readable;

/// The largest integer that every JSON parser reads exactly: many read numbers as double precision.
const MAX_EXACT: u64 = (1 << 53) - 1;

/// An object with these members, whose values are JSON, in this order.
pub fn object<'a>(members: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let member = |(name, value): (&str, String)| format!("{}: {value}", string(name));
    let members: Vec<_> = members.into_iter().map(member).collect();
    format!("{{{}}}", members.join(", "))
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
