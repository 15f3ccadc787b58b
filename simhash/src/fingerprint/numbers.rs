//! The numbers of a text, for the option `numbers`.

use std::ops::Range;

use super::hash::hash;
use crate::error::Error;
use crate::text::classes::{DIGIT, class};
use crate::text::tokens::{TokenSink, tokenize};

/// The multiset of the numbers of a text: of its tokens that have a decimal digit of any script.
///
/// Two multisets with as many numbers and the same sum of their hashes are taken to be equal, as two features with the
/// same hash are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NumberSum {
    count: u64,
    sum: u128,
}

impl NumberSum {
    /// Reads the numbers of a text in normal form. One pass, no memory.
    pub fn of(normal: &str, tick: &dyn Fn()) -> Result<Self, Error> {
        let mut reading = NumberSink { normal, numbers: Self::default() };
        tokenize(normal, &mut reading, tick)?;
        Ok(reading.numbers)
    }

    /// A hash of the numbers.
    pub fn digest(self) -> u64 {
        self.count ^ self.sum as u64
    }
}

struct NumberSink<'a> {
    normal: &'a str,
    numbers: NumberSum,
}

impl TokenSink for NumberSink<'_> {
    fn word(&mut self, token: Range<usize>) -> Result<(), Error> {
        let token = &self.normal[token];
        let is_digit = |c: char| !c.is_ascii() && class(c.into()) & DIGIT != 0;
        if token.bytes().any(|byte| byte.is_ascii_digit()) || !token.is_ascii() && token.contains(is_digit) {
            self.numbers.count += 1;
            self.numbers.sum += u128::from(hash(token.as_bytes()));
        }
        Ok(())
    }

    // A letter of a script written without spaces is no digit.
    fn spaceless(&mut self, _: Range<usize>) -> Result<(), Error> {
        Ok(())
    }

    fn letters(&mut self, _: usize, _: u64) -> Result<(), Error> {
        Ok(())
    }
}
