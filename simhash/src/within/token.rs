//! Tokens as numbers, for [`tiles`](super::tiles), and the beginnings of runs.
//!
//! A token is a hash, which is even for words and odd for letters of scripts without spaces. 31 bits are enough: of a
//! billion pairs of words between equal runs, one pair is taken for equal. Where characters are compared, it is the
//! number of a letter.

use crate::random::GOLDEN_RATIO;

/// The least weight of a run: three words or five letters.
pub const RUN_WEIGHT: usize = 15;
/// The weight of a word. No token weighs more.
pub const WORD_WEIGHT: usize = 5;
const LETTER_WEIGHT: usize = 3;
/// A token of the clue that is in a run.
pub const TAKEN_FROM_CLUE: u32 = 0;
/// A letter of the content that the clue does not have.
pub const UNKNOWN: u32 = 1;

/// A token as a number, as small as its text allows.
pub trait Token: Copy + Eq + Into<u32> {
    /// The least number that says that a token of the content is in a run. The first tokens of a run write its place in
    /// the clue, the lowest digit first.
    const TAKEN: u32;
    /// The number of a token of a run after those that write the place.
    const REST: u32;
    /// Digits of a place: no more than a run has tokens.
    const DIGITS: usize;

    fn new(number: u32) -> Self;
    fn weight(self) -> usize;
}

macro_rules! impl_token {
    ($type:ty, $taken:expr, $digits:expr, $weight:expr) => {
        impl Token for $type {
            const TAKEN: u32 = $taken;
            const REST: u32 = Self::MAX as u32;
            const DIGITS: usize = $digits;

            #[inline]
            fn new(number: u32) -> Self {
                number as Self
            }

            #[inline]
            fn weight(self) -> usize {
                $weight(self)
            }
        }
    };
}

// Five digits below 64, two below 2^15, or one below 2^31 - 1 write any place of a text of at most 1 GB.
impl_token!(u8, 191, 5, |_| LETTER_WEIGHT);
impl_token!(u16, (1 << 15) - 1, 2, |_| LETTER_WEIGHT);
impl_token!(u32, 1 << 31, 1, |token| if token % 2 == 0 { WORD_WEIGHT } else { LETTER_WEIGHT });

/// The token that stands for a word or a letter with this hash.
pub fn token(hash: u64, is_spaceless: bool) -> u32 {
    (hash as u32 & (u32::TAKEN - 2)).max(2) | u32::from(is_spaceless)
}

/// A hash of the shortest beginning that has at least `least` tokens and weighs as much as a run, and its length. None
/// if the tokens are too few, or if a token before that is taken or unknown.
#[inline]
pub fn beginning<T: Token>(tokens: &[T], least: usize) -> Option<(u32, usize)> {
    let (mut hash, mut weight) = (0u64, 0);
    for (length, token) in (1..).zip(tokens) {
        let number: u32 = (*token).into();
        if number <= UNKNOWN || number >= T::TAKEN {
            return None;
        }
        hash = (hash ^ u64::from(number)).wrapping_mul(GOLDEN_RATIO).rotate_left(29);
        weight += token.weight();
        if weight >= RUN_WEIGHT && length >= least {
            return Some((hash as u32, length));
        }
    }
    None
}
