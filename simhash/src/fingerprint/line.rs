//! A short cut for lines: short texts of ASCII whose words are features by themselves.
//!
//! Most of a short text's cost is paid once for each text. So a line is not normalised, its words are stored in a table
//! of fixed size, and its capitals are made small in a register. Lines of 57 bytes take four fifths of the time of the
//! general path, and get the same fingerprint, which `tests/properties.rs` checks.

use std::ops::Range;

use super::features::{CaseFold, emit_word, takes_capitals};
use super::hash::{SeededHasher, bytes_at, hash_1_to_8, lowest_bytes};
use super::options::Options;
use super::tally::Tally;
use crate::error::Result;
use crate::text::tokens::{TokenSink, tokenize};

/// Bytes of the longest line. It has at most 124 words, so a slot stays free.
const MAX_LINE_BYTES: usize = 248;
const SLOTS: usize = 128;

/// Adds the votes of the words of a line, each once, to an empty tally. Returns false, perhaps after some votes, if the
/// text must be read by the general path. Only for options by which all features weigh the same.
#[inline]
pub fn vote_for_line(text: &str, options: &Options, tally: &mut Tally) -> Result<bool> {
    if text.len() > MAX_LINE_BYTES || options.seed != 0 || !takes_capitals(options) || !text.is_ascii() {
        return Ok(false);
    }
    let fold = if options.case_fold { CaseFold::ASCII } else { CaseFold::NONE };
    let hashes = [0; SLOTS];
    let mut words = LineWords { text: text.as_bytes(), fold, folded: Vec::new(), hashes, tally, has_zero: false };
    tokenize(text, &mut words, &|| ())?;
    Ok(!words.has_zero)
}

/// The distinct words of a line.
struct LineWords<'a> {
    text: &'a [u8],
    fold: CaseFold,
    /// Memory for the small letters of one word.
    folded: Vec<u8>,
    /// The hashes in their slots; 0 is a free slot.
    hashes: [u64; SLOTS],
    tally: &'a mut Tally,
    /// Whether a word has the hash 0, which marks a free slot in `hashes`.
    has_zero: bool,
}

impl LineWords<'_> {
    /// Adds the vote of a word, unless the line has had the word before.
    #[inline(always)]
    fn insert(&mut self, hash: u64) {
        // A taken slot has another hash.
        let is_taken = |slot: usize| self.hashes[slot].min(self.hashes[slot] ^ hash) != 0;
        let mut slot = hash as usize % SLOTS;
        while is_taken(slot) {
            slot = (slot + 1) % SLOTS;
        }
        self.tally.vote(hash, self.hashes[slot] == 0);
        self.hashes[slot] = hash;
        self.has_zero |= hash == 0;
    }
}

impl TokenSink for LineWords<'_> {
    #[inline(always)]
    fn word(&mut self, token: Range<usize>) -> Result<()> {
        let hash = match bytes_at(self.text, token.start, token.end) {
            Some(bytes) => hash_1_to_8(bytes | self.fold.case_bits & lowest_bytes(token.len()), token.len()),
            // A word of more than eight bytes, or a word in a line of fewer than eight bytes.
            None => emit_word(&self.text[token], self.fold, &mut self.folded, SeededHasher(0), |_, hash| Ok(hash))?,
        };
        self.insert(hash);
        Ok(())
    }

    fn spaceless(&mut self, _: Range<usize>) -> Result<()> {
        unreachable!("ASCII has no letter of a script written without spaces")
    }
}
