//! A cache of the short words that a text has had, so that most repetitions of a word cost neither a hash nor a slot
//! in the table of features.
//!
//! In English, seven of eight words are repetitions. The cache has one slot for each value of a multiplicative hash
//! (Knuth, TAOCP 3, section 6.4), and a word replaces the one in its slot. So a word may be forgotten, which costs time
//! only, but it is never taken for another: its up to eight bytes are compared. With the cache, English takes 0.78 of
//! the time without it, and source code 0.70.

use crate::error::Result;
use crate::random::GOLDEN_RATIO;

/// A cache of words of 1 to 8 bytes, none of which is 0.
#[derive(Debug, Default)]
pub struct SeenWords {
    /// The words in their slots; 0 is a free slot. Empty for a text in which repetitions are unlikely; otherwise, the
    /// number of slots is a power of two.
    words: Vec<u64>,
    /// Leaves as many of a product's highest bits as a slot's number has.
    shift: u32,
}

/// A shorter text has too few repetitions: English texts of 2 kB take 6 % longer with the cache.
const MIN_TEXT_BYTES: usize = 4096;
const BYTES_PER_SLOT: usize = 16;
/// 16 kB, so that the table of features also fits in the CPU's first-level cache.
const MAX_SLOTS: usize = 2048;

impl SeenWords {
    /// Empties the cache, and sizes it for a text of `bytes` bytes.
    pub fn reset(&mut self, bytes: usize) -> Result<()> {
        self.words.clear();
        if bytes >= MIN_TEXT_BYTES {
            let slots = (bytes / BYTES_PER_SLOT).next_power_of_two().min(MAX_SLOTS);
            self.words.try_reserve_exact(slots)?;
            self.words.resize(slots, 0);
            self.shift = u64::BITS - slots.ilog2();
        }
        Ok(())
    }

    /// Whether the word is known to have occurred before. Remembers it.
    #[inline(always)]
    pub fn repeats(&mut self, word: u64) -> bool {
        match self.words.get_mut((word.wrapping_mul(GOLDEN_RATIO) >> self.shift) as usize) {
            Some(slot) => std::mem::replace(slot, word) == word,
            None => false,
        }
    }
}
