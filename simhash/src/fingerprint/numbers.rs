//! The numbers of a text, for the option `same`.

use std::borrow::Cow;
use std::ops::Range;

use super::hash::hash;
use crate::error::Result;
use crate::random::GOLDEN_RATIO;
use crate::text::classes::{SEPARATOR, SPACELESS, WORD, kind};
use crate::text::normalise::line_break;
use crate::text::tokens::{TokenSink, tokenize};

/// The count and the hash of the numbers of a text, in order and by value.
///
/// A number is one run of digits, or several with a single character of [`JOINERS`] between two of them: 12.50,
/// 2026-01-12, 10.0.0.1. A line may end after a dash between them. Letters after a digit do not count, so 128GB is 128
/// GB. Letters before the first digit of a word are a part of the number, as in A15, unless the number has a point or a
/// comma, as in v1.2.3 and EUR12.50. A minus sign belongs to the number, also before a currency sign, unless a word, a
/// number or another dash is directly before the minus sign: "from -5" has -5, -$5 is -5, and gpt-4 has 4. A decimal
/// may lack its zero: .5 is 0.5.
///
/// Whole numbers are compared by groups of three digits, whatever separates them. So 12000 is 12,000 and 12 000, and a
/// text in which 15 and 128 follow each other agrees with one in which a comma is between them. A group of three digits
/// after another number and words has a mark: "12 of 345" is not 12345.
///
/// Two texts with the same count and the same hash are taken to have the same numbers, as two features with the same
/// hash are taken to be the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NumbersDigest {
    count: u64,
    hash: u64,
}

/// The characters that join two runs of digits to one number.
const JOINERS: [char; 15] = [
    '.', ',', '\u{66b}', '\u{66c}', ':', '/', '\u{2044}', '_', '\'', '\u{2019}', '-', '\u{2010}', '\u{2012}',
    '\u{2013}', '\u{2212}',
];
/// The signs of Arabic and Persian.
const ARABIC_DECIMAL_SEPARATOR: char = '\u{66b}';
const ARABIC_THOUSANDS_SEPARATOR: char = '\u{66c}';
/// The joiners that are written for a minus sign or a hyphen.
const DASHES: [char; 5] = ['-', '\u{2010}', '\u{2012}', '\u{2013}', '\u{2212}'];
/// The joiners that may stand between groups of three digits.
const GROUP_SEPARATORS: [char; 5] = [',', '.', '\'', '\u{2019}', '_'];
/// What may stand before a decimal without its zero, beside dashes and the signs of currencies. After anything else, a
/// point or a comma ends what is before it.
const BEFORE_POINT: &str = " \t\n\r\u{c}([{<>=~+*/\u{b1}\u{d7}\u{2248}\u{2264}\u{2265}";
/// The mark of a group of three digits that is apart from the number before it.
const APART: char = '|';

impl NumbersDigest {
    /// Reads the numbers of a text in normal form. One pass; needs memory for the longest number.
    pub fn of(normal: &str, tick: &dyn Fn()) -> Result<Self> {
        let mut numbers = Self::default();
        let add = |number: &str| {
            for group in number.split(' ') {
                numbers.count += 1;
                numbers.hash = (numbers.hash.rotate_left(5) ^ hash(group.as_bytes())).wrapping_mul(GOLDEN_RATIO);
            }
            Ok(())
        };
        each_number(normal, tick, add)?;
        Ok(numbers)
    }

    pub fn digest(self) -> u64 {
        self.count ^ self.hash
    }
}

/// The numbers of a text in normal form, each after a line break, with one at the end. Groups of three digits are shown
/// as one number, whatever separates them.
pub(super) fn list_numbers(normal: &str, tick: &dyn Fn()) -> Result<String> {
    let (mut list, mut may_go_on) = (String::new(), false);
    let add = |number: &str| {
        list.try_reserve(number.len() + 2)?;
        for group in number.split(' ') {
            // "15" and "128" are shown as 15128, since that is how they are compared.
            let goes_on = may_go_on && group.len() == 3 && is_digits(group);
            list.extend((!goes_on).then_some('\n'));
            list.push_str(group.trim_start_matches(APART));
            let digits = group.trim_start_matches(|c: char| !c.is_ascii_digit());
            may_go_on = digits.len() <= 3 && is_digits(digits);
        }
        Ok(())
    };
    each_number(normal, tick, add)?;
    list.push('\n');
    Ok(list)
}

/// Passes `emit` the numbers of a text in normal form, each with one sign for each kind of separator.
fn each_number(normal: &str, tick: &dyn Fn(), emit: impl FnMut(&str) -> Result<()>) -> Result<()> {
    let canonical = String::new();
    let mut sink = NumberSink { normal, letters: 0..0, number: 0..0, last_end: None, canonical, emit };
    tokenize(normal, &mut sink, tick)?;
    sink.end_number()
}

/// Puts the numbers of a text together from the digits of its words.
struct NumberSink<'a, F> {
    normal: &'a str,
    /// The letters right before the number.
    letters: Range<usize>,
    /// The number that is being read, without letters; empty if there is none.
    number: Range<usize>,
    /// Where the number before this one ends.
    last_end: Option<usize>,
    /// Memory for the canonical form of a number.
    canonical: String,
    emit: F,
}

impl<F: FnMut(&str) -> Result<()>> TokenSink for NumberSink<'_, F> {
    fn word(&mut self, token: Range<usize>) -> Result<()> {
        let normal = self.normal.as_bytes();
        let run_end = |from: usize, is_digit| {
            from + normal[from..token.end].iter().take_while(|byte| byte.is_ascii_digit() == is_digit).count()
        };
        let mut start = run_end(token.start, false);
        let mut letters = token.start..start;
        while start < token.end {
            let end = run_end(start, true);
            self.add_digits(letters, start..end)?;
            start = run_end(end, false);
            letters = start..start;
        }
        Ok(())
    }

    // A letter of a script written without spaces is not a digit.
    fn spaceless(&mut self, _: Range<usize>) -> Result<()> {
        Ok(())
    }
}

impl<F: FnMut(&str) -> Result<()>> NumberSink<'_, F> {
    /// Joins a run of digits, which stands after these letters of its word, to the last number, or begins a new one.
    fn add_digits(&mut self, letters: Range<usize>, digits: Range<usize>) -> Result<()> {
        let between = &self.normal[self.number.end..digits.start];
        let is_joined = between
            .strip_prefix(JOINERS)
            .is_some_and(|after| after.is_empty() || between.starts_with(DASHES) && line_break(after) == after.len());
        if is_joined && !self.number.is_empty() {
            self.number.end = digits.end;
            return Ok(());
        }
        self.end_number()?;
        (self.letters, self.number) = (letters, digits);
        Ok(())
    }

    fn end_number(&mut self) -> Result<()> {
        let number = std::mem::take(&mut self.number);
        if number.is_empty() {
            return Ok(());
        }
        let mut before = &self.normal[..self.letters.start];
        let has_word = |between: &str| between.chars().any(|c| [WORD, SPACELESS].contains(&kind(c.into())));
        let is_apart = self.last_end.replace(number.end).is_some_and(|end| has_word(&before[end..]));
        let (letters, mut written) = (&self.normal[self.letters.clone()], with_latin_separators(&self.normal[number])?);
        if let Some(before_point) = before_point(before).filter(|_| letters.is_empty()) {
            before = before_point;
            let decimals = written.to_mut();
            decimals.try_reserve(2)?;
            decimals.insert_str(0, "0.");
        }
        self.canonical.clear();
        self.canonical.try_reserve(letters.len() + 2 * written.len() + 2)?;
        // A dash between a word or a number and this number is a hyphen.
        let mut backwards = before.strip_suffix(is_currency_sign).unwrap_or(before).chars().rev();
        let is_negative = backwards.next().is_some_and(|c| DASHES.contains(&c))
            && backwards.next().is_none_or(|c| kind(c.into()) == SEPARATOR && !DASHES.contains(&c));
        self.canonical.extend(is_negative.then_some('-'));
        self.canonical.push_str(if written.contains(['.', ',']) { "" } else { letters });
        canonicalise(&written, &mut self.canonical);
        if is_apart && self.canonical.bytes().take_while(u8::is_ascii_digit).count() == 3 {
            self.canonical.insert(0, APART);
        }
        (self.emit)(&self.canonical)
    }
}

/// What is before the point of a decimal without its zero; None if no such point is at the end of the text.
fn before_point(text: &str) -> Option<&str> {
    let may_precede = |c| BEFORE_POINT.contains(c) || DASHES.contains(&c) || is_currency_sign(c);
    let before = text.strip_suffix(['.', ',', ARABIC_DECIMAL_SEPARATOR, ARABIC_THOUSANDS_SEPARATOR])?;
    before.chars().next_back().is_none_or(may_precede).then_some(before)
}

fn is_currency_sign(c: char) -> bool {
    matches!(c, '$' | '\u{a2}'..='\u{a5}' | '\u{e3f}' | '\u{20a0}'..='\u{20cf}')
}

/// A number as it is written, with a point and commas in place of the separators of Arabic and Persian.
fn with_latin_separators(written: &str) -> Result<Cow<'_, str>> {
    if !written.contains([ARABIC_DECIMAL_SEPARATOR, ARABIC_THOUSANDS_SEPARATOR]) {
        return Ok(written.into());
    }
    let mut latin = String::new();
    latin.try_reserve_exact(written.len())?;
    latin.extend(written.chars().map(|c| match c {
        ARABIC_DECIMAL_SEPARATOR => '.',
        ARABIC_THOUSANDS_SEPARATOR => ',',
        c => c,
    }));
    Ok(latin.into())
}

/// Appends a number with one sign for each kind of separator: with spaces between groups of three digits, and a point
/// before decimals. A number of another form, such as a date, has one sign for all dashes and one for all slashes.
fn canonicalise(written: &str, out: &mut String) {
    let Some((whole, decimals)) = split_at_point(written) else {
        return out.extend(written.chars().filter(|c| !c.is_ascii_whitespace()).map(|c| match c {
            '\u{2044}' => '/',
            c if DASHES.contains(&c) => '-',
            c => c,
        }));
    };
    let digits = whole.bytes().filter(u8::is_ascii_digit);
    let mut left = digits.clone().count();
    for digit in digits {
        out.push(digit.into());
        left -= 1;
        out.extend((left > 0 && left.is_multiple_of(3)).then_some(' '));
    }
    if !decimals.is_empty() {
        out.push('.');
        out.push_str(&decimals[1..]);
    }
}

/// The whole part of a number, and its decimals after their point or comma, which may be missing. None for a number of
/// another form, such as a date.
fn split_at_point(written: &str) -> Option<(&str, &str)> {
    let is_joiner = |c: char| JOINERS.contains(&c);
    let (whole, decimals) = match written.char_indices().rev().find(|(_, c)| is_joiner(*c)) {
        Some((at, '.' | ',')) => written.split_at(at),
        _ => (written, ""),
    };
    let point = decimals.chars().next();
    match (group_separator(written), group_separator(whole)) {
        // 1,500 has a group, and 1.500 may have decimals.
        (Some(separator), _) if separator != '.' || written.matches('.').count() > 1 => Some((written, "")),
        (_, Some(separator)) if point.is_some_and(|point| point != separator) => Some((whole, decimals)),
        _ => (!whole.contains(is_joiner)).then_some((whole, decimals)),
    }
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The only separator of a number, if it separates groups of three digits.
fn group_separator(number: &str) -> Option<char> {
    let separator = number.chars().find(|c| JOINERS.contains(c)).filter(|c| GROUP_SEPARATORS.contains(c))?;
    let mut groups = number.split(separator);
    let first = groups.next()?;
    let is_grouped =
        (1..=3).contains(&first.len()) && is_digits(first) && groups.all(|group| group.len() == 3 && is_digits(group));
    is_grouped.then_some(separator)
}

#[cfg(test)]
mod tests {
    use super::NumbersDigest;

    #[test]
    fn same_numbers_in_other_writing() {
        let numbers = |text: &str| NumbersDigest::of(text, &|| ()).expect("memory suffices");
        let same = "1500|1,500  1500000|1.500.000  1500000|1'500'000  1,500.25|1.500,25  1500,25|1.500,25  12.50|12,50  \
            from -5 on|\u{2212}5  (-5)|-5  gpt-4|gpt 4  2010-2012|2010\u{2013}2012  a4, b5|a4 b5  128gb|128 gb  \
            12v 3a|12 v 3 a  6x1,5l|6 x 1,5 l  15pro|15 pro  12.50eur|eur12.50  v1.2.3|1.2.3  12 000,50|12.000,50  \
            12000|12 000  -12 000|-12,000  5 and 12|5 12  7 a 345.50|7 b, 345,50  \
            2010-\n2012|2010-2012  15 128gb|15, 128 gb  1/2|1\u{2044}2  1\u{a0}500\u{202f}000|1500000  \
            12\u{66b}50|12.50  .5|0.5  x <,5|x < 0.5  -$.50|$-0.50  \u{66b}5|0.5  -$5|-5  \u{2212}\u{20ac}500|-500  12\u{66c}000\u{66b}5|12 000,5";
        let other = "12.50|50.12  2026-01-12|2026-12-01  1.2.3|1.3.2  -5|5  1.500|1500  1 2|2 1  12|1 2  12:30|12.30  \
            10.0.0.1 10.0.0.7|10.0.0.7 10.0.0.1  12 of 345|12345 of  12 of 345|12 345 of  \
            a15|a51  a15|b15  m2|2  m2|m 2  m2|m3  1.2.30|1.30.2  1 2345|12345  5-\nb6|5-6  1.\n5|1.5  \
            a .5|a 5  -$5|$5  a. .50|a.50  a-$5|a -$5";
        for (pairs, are_same) in [(same, true), (other, false)] {
            for (a, b) in pairs.split("  ").filter_map(|pair| pair.split_once('|')) {
                assert_eq!(numbers(a) == numbers(b), are_same, "{a} {b}");
            }
        }
    }
}
