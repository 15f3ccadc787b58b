//! Collects the distinct features of a text, and its pairs of neighbouring features.

use super::feature_table::{FEATURE_BATCH, FeatureTable};
use super::features::{FeatureSink, PairSink, each_feature, takes_capitals};
use super::hash::{SeededHasher, length_of};
use super::neighbours::{Neighbours, PairFactors};
use super::options::Options;
use super::seen_words::SeenWords;
use crate::error::Result;
use crate::text::normalise::{normalise, normalise_beyond_capitals};

/// The collected features of a text. The memory is reused for the next text.
#[derive(Debug, Default)]
pub struct Collected {
    /// The text in normal form.
    pub normal: String,
    /// The distinct features; also the pairs, if they are stored with the features.
    pub features: FeatureTable,
    /// The distinct pairs, if they are stored apart.
    pub pairs: FeatureTable,
    pub pair_factors: PairFactors,
    seen_words: SeenWords,
}

/// Which table stores the pairs of neighbouring features.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PairStorage {
    LeftOut,
    WithFeatures,
    Apart,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum BatchKind {
    Features,
    Pairs,
}

impl Collected {
    pub fn memory(&self) -> usize {
        let factors = self.pair_factors.capacity() * size_of::<(u64, u64)>();
        self.normal.capacity() + self.features.memory() + self.pairs.memory() + factors
    }

    /// Makes the normal form of a text, without the ignored parts.
    pub fn normalise(&mut self, text: &str, options: &Options, tick: &dyn Fn()) -> Result<()> {
        self.normal.clear();
        normalise(text, options.case_fold, &mut self.normal, tick)?;
        options.ignore.remove(&mut self.normal, None, tick)
    }

    /// Collects the features of a text, and its pairs if the options compare texts by them. Passes `sink` the hash of
    /// each distinct one, many at a time.
    #[inline]
    pub fn collect(
        &mut self,
        text: &str,
        options: &Options,
        pair_storage: PairStorage,
        tick: &dyn Fn(),
        sink: impl FnMut(BatchKind, &[u64]) -> Result<()>,
    ) -> Result<()> {
        let pair_storage = if options.has_pairs() { pair_storage } else { PairStorage::LeftOut };
        let has_counts = !options.is_plain_set();
        // If the text is not copied, it is in normal form itself, except for capitals.
        let is_copied = if takes_capitals(options) {
            self.normal.clear();
            normalise_beyond_capitals(text, options.case_fold, &mut self.normal, tick)?
        } else {
            self.normalise(text, options, tick)?;
            true
        };
        let Self { normal, features, pairs, pair_factors, seen_words } = self;
        let text = if is_copied { normal } else { text };
        let expected = expected_features(text);
        // Words repeat more often than pairs of words.
        let expected_pairs = expected.max(text.len() / 8);
        let expected_in = |storage| if pair_storage == storage { expected_pairs } else { 0 };
        features.reset(expected + expected_in(PairStorage::WithFeatures), has_counts, tick)?;
        pairs.reset(expected_in(PairStorage::Apart), false, tick)?;
        seen_words.reset(if has_counts { 0 } else { text.len() })?;
        pair_factors.clear();
        let may_have_capitals = !is_copied && options.case_fold;
        let mut batches = Batches {
            seen_words,
            features,
            pairs: (pair_storage == PairStorage::Apart).then_some(pairs),
            sink,
            seed: options.seed,
            tick,
            words: [0; FEATURE_BATCH],
            words_len: 0,
            hashes: [0; FEATURE_BATCH],
            hashes_len: 0,
            pair_hashes: [0; FEATURE_BATCH],
            pair_hashes_len: 0,
        };
        if pair_storage != PairStorage::LeftOut {
            let neighbours = Neighbours::new(&mut batches, options, pair_factors);
            each_feature(text, may_have_capitals, options, tick, neighbours)?;
        } else {
            each_feature(text, may_have_capitals, options, tick, &mut batches)?;
        }
        batches.flush_words()?;
        batches.flush_hashes()?;
        batches.flush_pairs()
    }
}

/// Up to this many bytes, a text in a script without spaces repeats few of its features.
const DIVERSE_TEXT_BYTES: usize = 4096;

/// Estimates the number of distinct features in a text from its length and first characters. A table that is too small
/// grows. A table that is too large does not stay in the first-level cache.
///
/// English texts of 40 kB have a distinct word for each 50 bytes, and single lines one for each 7; Chinese texts of 17
/// kB have a distinct feature for each 6 bytes, and Chinese texts of 2 kB one for each 3.3.
pub fn expected_features(normal: &str) -> usize {
    match normal.as_bytes().first_chunk::<128>() {
        Some(sample) if sample.iter().filter(|byte| byte.is_ascii()).count() > sample.len() / 2 => {
            8 + normal.len() / 32
        }
        _ if normal.len() <= DIVERSE_TEXT_BYTES => normal.len() / 4,
        _ => normal.len() / 8,
    }
}

/// Features that wait to be looked up in the tables, many at a time.
struct Batches<'a, S> {
    seen_words: &'a mut SeenWords,
    features: &'a mut FeatureTable,
    /// The table of pairs; None if they are stored with features.
    pairs: Option<&'a mut FeatureTable>,
    sink: S,
    tick: &'a dyn Fn(),
    seed: u64,
    /// Short words that are not yet hashed, without most repetitions. Nothing branches on whether a word is a
    /// repetition, because a CPU cannot predict it.
    words: [u64; FEATURE_BATCH],
    words_len: usize,
    /// Hashes of other features. A loop that does nothing else looks them up together, so that all that it needs is in
    /// registers: Chinese takes .85 of the time.
    hashes: [u64; FEATURE_BATCH],
    hashes_len: usize,
    pair_hashes: [u64; FEATURE_BATCH],
    pair_hashes_len: usize,
}

impl<S: FnMut(BatchKind, &[u64]) -> Result<()>> Batches<'_, S> {
    /// Hashes the waiting words, and looks them up.
    #[inline(never)]
    fn flush_words(&mut self) -> Result<()> {
        let words = &mut self.words[..std::mem::take(&mut self.words_len)];
        let hasher = SeededHasher(self.seed);
        words.iter_mut().for_each(|word| *word = hasher.hash_1_to_8(*word, length_of(*word)));
        let new_count = self.features.insert_all(words, self.tick)?;
        (self.sink)(BatchKind::Features, &words[..new_count])
    }

    #[inline(never)]
    fn flush_hashes(&mut self) -> Result<()> {
        let hashes = &mut self.hashes[..std::mem::take(&mut self.hashes_len)];
        let new_count = self.features.insert_all(hashes, self.tick)?;
        (self.sink)(BatchKind::Features, &hashes[..new_count])
    }

    #[inline(never)]
    fn flush_pairs(&mut self) -> Result<()> {
        let hashes = &mut self.pair_hashes[..std::mem::take(&mut self.pair_hashes_len)];
        let table = self.pairs.as_deref_mut().unwrap_or(self.features);
        let new_count = table.insert_all(hashes, self.tick)?;
        (self.sink)(BatchKind::Pairs, &hashes[..new_count])
    }
}

impl<S: FnMut(BatchKind, &[u64]) -> Result<()>> FeatureSink for &mut Batches<'_, S> {
    #[inline(always)]
    fn feature(&mut self, _: &[u8], hash: u64) -> Result<()> {
        self.hashes[self.hashes_len % FEATURE_BATCH] = hash;
        self.hashes_len += 1;
        if self.hashes_len == FEATURE_BATCH { self.flush_hashes() } else { Ok(()) }
    }

    #[inline(always)]
    fn short_word(&mut self, bytes: u64, _: SeededHasher) -> Result<()> {
        self.words[self.words_len % FEATURE_BATCH] = bytes;
        self.words_len += usize::from(!self.seen_words.repeats(bytes));
        if self.words_len == FEATURE_BATCH { self.flush_words() } else { Ok(()) }
    }
}

impl<S: FnMut(BatchKind, &[u64]) -> Result<()>> PairSink for &mut Batches<'_, S> {
    #[inline(always)]
    fn pair(&mut self, hash: u64) -> Result<()> {
        self.pair_hashes[self.pair_hashes_len % FEATURE_BATCH] = hash;
        self.pair_hashes_len += 1;
        if self.pair_hashes_len == FEATURE_BATCH { self.flush_pairs() } else { Ok(()) }
    }
}
