//! Tokens as numbers, for [`tiles`](super::tiles), and the beginnings of runs.

/// A token: a hash, which is even for words and odd for letters of scripts without spaces. 31 bits are enough: of a
/// billion pairs of words between equal runs, one pair is taken for equal.
pub type Token = u32;

/// The least weight of a run: three words or five letters.
pub const RUN: usize = 15;
/// The weight of a word, and the largest one.
pub const WORD: usize = 5;
/// Marks a token of the content that is in a run. The other bits are its place in the clue.
pub const TAKEN: Token = 1 << 31;
/// A token of the clue that is in a run.
pub const TAKEN_FROM_CLUE: Token = 0;

/// The token that stands for a word or a letter with this hash.
pub fn token(hash: u64, spaceless: bool) -> Token {
    (hash as Token & (TAKEN - 2)).max(2) | Token::from(spaceless)
}

fn weight(token: Token) -> usize {
    if token & 1 == 0 { WORD } else { 3 }
}

/// A hash of the shortest beginning of at least so many tokens that weighs as much as a run, and its length.
#[inline]
pub fn beginning(tokens: &[Token], least: usize) -> Option<(u32, usize)> {
    let (mut hash, mut sum) = (0u64, 0);
    for (length, token) in (1..).zip(tokens) {
        if *token == TAKEN_FROM_CLUE || *token >= TAKEN {
            return None;
        }
        hash = (hash ^ u64::from(*token)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        sum += weight(*token);
        if sum >= RUN && length >= least {
            return Some((hash as u32, length));
        }
    }
    None
}
