//! Step 3: a text's features, and the table of the distinct ones.

use super::error::Error;
use super::options::{Options, Tokens};
use super::shingle::Shingler;
use super::tokens::{TokenSink, tokenize};

/// Hash of a feature: xxh3-64, seed 0, of its UTF-8 bytes.
#[inline]
pub fn hash(feature: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(feature)
}

/// Gives each feature of a text in normal form to `emit`, as often as it occurs, in the order of their ends.
#[inline]
pub fn each_feature(
    normal: &str,
    options: &Options,
    tick: &impl Fn(),
    emit: impl FnMut(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    match options.tokens {
        Tokens::Words => {
            let mut sink = WordFeatures {
                words: Shingler::new(options.words_per_feature(), Some(b' ')),
                single_words: options.words_per_feature() == 1,
                spaceless: Shingler::new(options.spaceless_per_feature(), None),
                emit,
            };
            tokenize(normal, &mut sink, tick)?;
            sink.end_words()?;
            sink.end_spaceless()
        }
        Tokens::Chars => {
            let mut sink = CharFeatures { characters: Shingler::new(options.chars_per_feature(), None), emit };
            tokenize(normal, &mut sink, tick)?;
            sink.characters.end_run().map_or(Ok(()), sink.emit)
        }
    }
}

/// Shingles of words and of spaceless tokens; either ends a run of the other.
struct WordFeatures<E> {
    words: Shingler,
    single_words: bool,
    spaceless: Shingler,
    emit: E,
}

impl<E: FnMut(&[u8]) -> Result<(), Error>> WordFeatures<E> {
    #[inline]
    fn end_words(&mut self) -> Result<(), Error> {
        self.words.end_run().map_or(Ok(()), &mut self.emit)
    }

    #[inline]
    fn end_spaceless(&mut self) -> Result<(), Error> {
        self.spaceless.end_run().map_or(Ok(()), &mut self.emit)
    }
}

impl<E: FnMut(&[u8]) -> Result<(), Error>> TokenSink for WordFeatures<E> {
    #[inline(always)]
    fn word(&mut self, token: &[u8]) -> Result<(), Error> {
        self.end_spaceless()?;
        if self.single_words {
            return (self.emit)(token);
        }
        self.words.push(token)?.map_or(Ok(()), &mut self.emit)
    }

    #[inline]
    fn spaceless(&mut self, token: &[u8]) -> Result<(), Error> {
        self.end_words()?;
        self.spaceless.push(token)?.map_or(Ok(()), &mut self.emit)
    }
}

/// Shingles of the characters of all tokens, as one run: the text with its non-word characters removed.
struct CharFeatures<E> {
    characters: Shingler,
    emit: E,
}

impl<E: FnMut(&[u8]) -> Result<(), Error>> TokenSink for CharFeatures<E> {
    #[inline(always)]
    fn word(&mut self, token: &[u8]) -> Result<(), Error> {
        for character in token.chunk_by(|_, next| next & 0b1100_0000 == 0b1000_0000) {
            self.characters.push(character)?.map_or(Ok(()), &mut self.emit)?;
        }
        Ok(())
    }

    #[inline]
    fn spaceless(&mut self, token: &[u8]) -> Result<(), Error> {
        self.word(token)
    }
}

/// The distinct features of a text by their hash, with the number of times each occurs if that is asked for.
///
/// Two features of one 64-bit hash are one feature: by the definition of the format, for they could not be told apart
/// by any fingerprint. Linear probing from the hash's low bits, at most half full; 16 to 32 bytes a distinct feature
/// once large, or half as much again with counts.
#[derive(Debug, Default)]
pub struct DistinctFeatures {
    /// 0: free. The feature whose hash is 0 is `zero`.
    hashes: Vec<u64>,
    /// As long as `hashes`, or empty if nothing is counted.
    counts: Vec<u32>,
    used: usize,
    zero: u32,
}

/// Slots to start with: a quarter of the text's bytes, in these bounds.
const FEWEST_SLOTS: usize = 64;
const MOST_FIRST_SLOTS: usize = 8 * 1024;
/// Slots moved between two ticks when the table grows.
const STRIDE: usize = 64 * 1024;

impl DistinctFeatures {
    /// Forgets all features, and makes ready for a text of `bytes` bytes.
    pub fn reset(&mut self, bytes: usize, counted: bool) -> Result<(), Error> {
        let slots = (bytes / 4).clamp(FEWEST_SLOTS, MOST_FIRST_SLOTS).next_power_of_two();
        self.used = 0;
        self.zero = 0;
        self.hashes.clear();
        self.counts.clear();
        fill(&mut self.hashes, slots)?;
        if counted {
            fill(&mut self.counts, slots)?;
        }
        Ok(())
    }

    /// Counts a feature; whether it is the first of its hash.
    #[inline(always)]
    pub fn insert(&mut self, hash: u64, tick: &impl Fn()) -> Result<bool, Error> {
        if hash == 0 {
            self.zero = self.zero.saturating_add(1);
            return Ok(self.zero == 1);
        }
        let slot = self.slot_of(hash);
        let new = self.hashes[slot] == 0;
        self.hashes[slot] = hash;
        if let Some(count) = self.counts.get_mut(slot) {
            *count = count.saturating_add(1);
        }
        self.used += usize::from(new);
        if self.used * 2 > self.hashes.len() {
            self.grow(tick)?;
        }
        Ok(new)
    }

    /// Each distinct hash with its count (1 if nothing is counted), in no useful order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u32)> {
        let counted = self.hashes.iter().enumerate().filter(|(_, hash)| **hash != 0);
        let counted = counted.map(|(slot, hash)| (*hash, self.counts.get(slot).copied().unwrap_or(1)));
        counted.chain((self.zero > 0).then_some((0, if self.counts.is_empty() { 1 } else { self.zero })))
    }

    /// How many distinct features there are.
    pub fn len(&self) -> usize {
        self.used + usize::from(self.zero > 0)
    }

    /// How often the feature of this hash occurs.
    pub fn count(&self, hash: u64) -> u32 {
        if hash == 0 { self.zero } else { self.counts.get(self.slot_of(hash)).copied().unwrap_or(1) }
    }

    /// Bytes that the table holds on to.
    pub fn memory(&self) -> usize {
        self.hashes.capacity() * 8 + self.counts.capacity() * 4
    }

    /// Where `hash` is, or would go.
    #[inline(always)]
    fn slot_of(&self, hash: u64) -> usize {
        let mask = self.hashes.len() - 1;
        let mut slot = hash as usize & mask;
        // Free or equal? As one branch: which of the two it is would be a coin toss.
        while self.hashes[slot].min(self.hashes[slot] ^ hash) != 0 {
            slot = (slot + 1) & mask;
        }
        slot
    }

    #[cold]
    fn grow(&mut self, tick: &impl Fn()) -> Result<(), Error> {
        let mut larger = Self { used: self.used, zero: self.zero, ..Self::default() };
        fill(&mut larger.hashes, self.hashes.len() * 4)?;
        if !self.counts.is_empty() {
            fill(&mut larger.counts, self.hashes.len() * 4)?;
        }
        for (i, hash) in self.hashes.iter().enumerate() {
            if i % STRIDE == 0 {
                tick();
            }
            if *hash != 0 {
                let slot = larger.slot_of(*hash);
                larger.hashes[slot] = *hash;
                if let Some(count) = self.counts.get(i) {
                    larger.counts[slot] = *count;
                }
            }
        }
        *self = larger;
        Ok(())
    }
}

/// Makes `slots` zeroes of an empty vector, or fails.
fn fill<T: Clone + Default>(slots: &mut Vec<T>, length: usize) -> Result<(), Error> {
    slots.try_reserve_exact(length)?;
    slots.resize(length, T::default());
    Ok(())
}
