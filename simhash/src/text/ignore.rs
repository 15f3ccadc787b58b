//! What the option `ignore` leaves out of a text in normal form: numbers, addresses of the web, accents.

use std::ops::Range;

use super::classes::{DIGIT, class};
use super::normalise::{normalise_separators, remove_accents};
use super::tokens::tokenize;
use crate::error::Result;
use crate::ticking::ticking;

/// Classes of tokens, and of marks, that do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ignored {
    /// Tokens with a decimal digit of any script.
    pub numbers: bool,
    /// Addresses of the web: a scheme, `://` and what follows it, or what begins with `www.`; up to the first character
    /// that RFC 3986 does not allow in an address.
    pub urls: bool,
    /// Marks on letters of the Latin, Greek and Cyrillic alphabets.
    pub accents: bool,
}

impl Ignored {
    pub fn is_nothing(self) -> bool {
        self == Self::default()
    }

    /// Removes what does not count from a text in normal form. Needs memory for another copy of the text.
    pub fn remove(self, normal: &mut String, tick: &dyn Fn()) -> Result<()> {
        if self.is_nothing() {
            return Ok(());
        }
        normalise_separators(normal, tick)?;
        for (is_wanted, remove) in [
            (self.accents, remove_accents as fn(&str, &mut String, &dyn Fn()) -> Result<()>),
            (self.urls, remove_urls),
            (self.numbers, remove_numbers),
        ] {
            if is_wanted {
                let mut rest = String::new();
                remove(normal, &mut rest, tick)?;
                *normal = rest;
            }
        }
        Ok(())
    }
}

/// Whether a token has a decimal digit of any script.
pub fn has_digit(token: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_digit() || !c.is_ascii() && class(c.into()) & DIGIT != 0;
    token.bytes().any(|byte| byte.is_ascii_digit()) || !token.is_ascii() && token.contains(is_digit)
}

fn remove_numbers(normal: &str, out: &mut String, tick: &dyn Fn()) -> Result<()> {
    // A space takes the place of at least one byte.
    out.try_reserve_exact(normal.len())?;
    let mut copied = 0;
    let mut remove = |token: Range<usize>| {
        if has_digit(&normal[token.clone()]) {
            out.push_str(&normal[copied..token.start]);
            out.push(' ');
            copied = token.end;
        }
    };
    tokenize(normal, &mut remove, tick)?;
    out.push_str(&normal[copied..]);
    Ok(())
}

fn remove_urls(normal: &str, out: &mut String, tick: &dyn Fn()) -> Result<()> {
    out.try_reserve_exact(normal.len())?;
    let bytes = normal.as_bytes();
    let mut copied = 0;
    for at in ticking(0..bytes.len(), tick) {
        if at >= copied
            && let Some(start) = url_start(bytes, copied, at)
        {
            // All of an address is ASCII, so its ends are between characters.
            out.push_str(&normal[copied..start]);
            out.push(' ');
            copied = at + bytes[at..].iter().take_while(|byte| is_in_url(**byte)).count();
        }
    }
    out.push_str(&normal[copied..]);
    Ok(())
}

/// Where the address starts of which `://` or `www.` is at byte `at`, not before byte `from`; None if there is neither.
fn url_start(bytes: &[u8], from: usize, at: usize) -> Option<usize> {
    let rest = &bytes[at..];
    if rest.starts_with(b"://") {
        let is_in_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let before = &bytes[from..at];
        let length = before.iter().rev().take_while(|byte| is_in_scheme(byte)).count();
        let scheme = &before[before.len() - length..];
        return Some(at - length + scheme.iter().position(u8::is_ascii_alphabetic)?);
    }
    let is_www = rest.first_chunk().is_some_and(|start: &[u8; 4]| start.eq_ignore_ascii_case(b"www."));
    let is_inside = at > from && bytes[at - 1].is_ascii_alphanumeric();
    (is_www && !is_inside).then_some(at)
}

/// Whether RFC 3986 has the character in an address: unreserved, reserved, or `%`.
fn is_in_url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::{Ignored, remove_urls};

    fn without(ignored: Ignored, text: &str) -> Vec<String> {
        let mut text = text.to_owned();
        ignored.remove(&mut text, &|| ()).expect("memory suffices");
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn removes_urls() {
        let urls = Ignored { urls: true, ..Ignored::default() };
        for (text, rest) in [
            ("see https://example.com/a?b=c#d now", vec!["see", "now"]),
            ("(www.example.com)", vec!["("]),
            ("请访问http://example.com/页。谢谢", vec!["请访问", "页。谢谢"]),
            ("awww. yes", vec!["awww.", "yes"]),
            ("WWW.EXAMPLE.COM FTP://X", vec![]),
            ("a://b://c d", vec!["d"]),
            ("1.2://x ://y 7git+ssh://z", vec!["1.2://x", "://y", "7"]),
            ("http://a<http://b>", vec!["<", ">"]),
        ] {
            assert_eq!(without(urls, text), rest, "{text}");
        }
    }

    #[test]
    fn long_text_of_schemes_is_read_once() {
        let text = "a.".repeat(100_000) + &"://".repeat(1000);
        let mut out = String::new();
        remove_urls(&text, &mut out, &|| ()).expect("memory suffices");
        assert_eq!(out, " ");
    }
}
