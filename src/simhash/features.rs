//! Step 3: a text's features, and the table of the distinct ones.

use std::ops::Range;

use super::error::{Error, MAX_FEATURES};
use super::hash::{hash, hash_at};
use super::options::{Options, Tokens};
use super::shingle::Shingler;
use super::tokens::{TokenSink, tokenize};

/// Steps of a loop between two ticks.
const STRIDE: usize = 64 * 1024;

/// Gives each feature of a text in normal form, with its hash, to `emit`: as often as it occurs, in the order of their
/// ends.
#[inline]
pub fn each_feature(
    normal: &str,
    options: &Options,
    tick: &impl Fn(),
    emit: impl FnMut(&[u8], u64) -> Result<(), Error>,
) -> Result<(), Error> {
    let text = normal.as_bytes();
    match options.tokens {
        Tokens::Words => {
            let mut sink = WordFeatures {
                text,
                words: Shingler::new(text, options.words_per_feature(), Some(b' ')),
                single_words: options.words_per_feature() == 1,
                spaceless: Shingler::new(text, options.spaceless_per_feature(), None),
                emit,
            };
            tokenize(normal, &mut sink, tick)?;
            sink.end_words()?;
            sink.end_spaceless()
        }
        Tokens::Chars => {
            let characters = Shingler::new(text, options.chars_per_feature(), None);
            let mut sink = CharFeatures { text, characters, emit, tick };
            tokenize(normal, &mut sink, tick)?;
            emit_hashed(sink.characters.end_run()?, &mut sink.emit)
        }
    }
}

#[inline(always)]
fn emit_hashed(feature: Option<&[u8]>, emit: &mut impl FnMut(&[u8], u64) -> Result<(), Error>) -> Result<(), Error> {
    feature.map_or(Ok(()), |feature| emit(feature, hash(feature)))
}

/// Shingles of words and of spaceless tokens; either ends a run of the other.
struct WordFeatures<'t, E> {
    text: &'t [u8],
    words: Shingler<'t>,
    single_words: bool,
    spaceless: Shingler<'t>,
    emit: E,
}

impl<E: FnMut(&[u8], u64) -> Result<(), Error>> WordFeatures<'_, E> {
    #[inline]
    fn end_words(&mut self) -> Result<(), Error> {
        emit_hashed(self.words.end_run()?, &mut self.emit)
    }

    #[inline]
    fn end_spaceless(&mut self) -> Result<(), Error> {
        emit_hashed(self.spaceless.end_run()?, &mut self.emit)
    }
}

impl<E: FnMut(&[u8], u64) -> Result<(), Error>> TokenSink for WordFeatures<'_, E> {
    #[inline(always)]
    fn word(&mut self, token: Range<usize>) -> Result<(), Error> {
        self.end_spaceless()?;
        if self.single_words {
            let hash = hash_at(self.text, token.start, token.end);
            return (self.emit)(&self.text[token], hash);
        }
        emit_hashed(self.words.push(token)?, &mut self.emit)
    }

    #[inline(always)]
    fn spaceless(&mut self, token: Range<usize>) -> Result<(), Error> {
        self.end_words()?;
        emit_hashed(self.spaceless.push(token)?, &mut self.emit)
    }
}

/// Shingles of the characters of all tokens, as one run: the text with its non-word characters removed.
struct CharFeatures<'t, E, T> {
    text: &'t [u8],
    characters: Shingler<'t>,
    emit: E,
    tick: &'t T,
}

impl<E: FnMut(&[u8], u64) -> Result<(), Error>, T: Fn()> TokenSink for CharFeatures<'_, E, T> {
    #[inline]
    fn word(&mut self, token: Range<usize>) -> Result<(), Error> {
        let mut start = token.start;
        let characters = self.text[token].chunk_by(|_, next| next & 0b1100_0000 == 0b1000_0000);
        for (i, character) in characters.enumerate() {
            // A token may be as long as the text, in which the tokenizer ticks between tokens only.
            if i % STRIDE == STRIDE - 1 {
                (self.tick)();
            }
            let end = start + character.len();
            emit_hashed(self.characters.push(start..end)?, &mut self.emit)?;
            start = end;
        }
        Ok(())
    }

    #[inline]
    fn spaceless(&mut self, token: Range<usize>) -> Result<(), Error> {
        self.word(token)
    }
}

/// The distinct features of a text by their hash, with the number of times each occurs if that is asked for.
///
/// Two features of one 64-bit hash are one feature: by the definition of the format, for they could not be told apart
/// by any fingerprint. Linear probing from the hash's low bits, a quarter to half full: 16 to 32 bytes a distinct
/// feature once large, 48 while it grows, and half as much again with counts.
#[derive(Debug, Default)]
pub struct DistinctFeatures {
    /// 0: free. The feature whose hash is 0 is `zero`.
    hashes: Vec<u64>,
    /// As long as `hashes`, or empty if nothing is counted.
    counts: Vec<u32>,
    used: usize,
    zero: u32,
}

/// Slots to start with: half of the text's bytes, in these bounds.
const FEWEST_SLOTS: usize = 64;
const MOST_FIRST_SLOTS: usize = 16 * 1024;

impl DistinctFeatures {
    /// Forgets all features, and makes ready for a text of `bytes` bytes.
    pub fn reset(&mut self, bytes: usize, counted: bool, tick: &impl Fn()) -> Result<(), Error> {
        let slots = (bytes / 2).clamp(FEWEST_SLOTS, MOST_FIRST_SLOTS).next_power_of_two();
        self.used = 0;
        self.zero = 0;
        self.hashes.clear();
        self.counts.clear();
        fill(&mut self.hashes, slots, tick)?;
        if counted {
            fill(&mut self.counts, slots, tick)?;
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
        counted.chain((self.zero > 0).then(|| (0, self.count(0))))
    }

    /// How many distinct features there are.
    pub fn distinct(&self) -> usize {
        self.used + usize::from(self.zero > 0)
    }

    /// How often the feature of this hash occurs (1 if nothing is counted), 0 if it is not among them.
    pub fn count(&self, hash: u64) -> u32 {
        if hash == 0 {
            return if self.counts.is_empty() { self.zero.min(1) } else { self.zero };
        }
        let slot = self.slot_of(hash);
        self.counts.get(slot).copied().unwrap_or((self.hashes[slot] == hash).into())
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
        if self.used > MAX_FEATURES {
            return Err(Error::TooManyFeatures);
        }
        let mut larger = Self { used: self.used, zero: self.zero, ..Self::default() };
        fill(&mut larger.hashes, self.hashes.len() * 2, tick)?;
        if !self.counts.is_empty() {
            fill(&mut larger.counts, self.hashes.len() * 2, tick)?;
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

/// Makes `length` zeroes of an empty vector, or fails. The first touch of new memory takes long enough to be cancelled.
fn fill<T: Clone + Default>(slots: &mut Vec<T>, length: usize, tick: &impl Fn()) -> Result<(), Error> {
    slots.try_reserve_exact(length)?;
    while slots.len() < length {
        slots.resize(length.min(slots.len() + STRIDE), T::default());
        tick();
    }
    Ok(())
}
