//! Makes the fingerprint of a text, and the lists of the features that it is made of.

use super::agreement::Agreement;
use super::bands::Minima;
use super::feature_list::FeatureList;
use super::feature_table::{FEATURE_BATCH, FeatureTable};
use super::features::{FeatureSink, each_feature, takes_capitals};
use super::hash::{Seeded, length_of};
use super::line::vote_for_line;
use super::neighbours::{Neighbours, PairFactors};
use super::options::{Markup, Options};
use super::seen_words::SeenWords;
use super::sketch::{DifferenceSketch, Parities, Sketch};
use super::tally::Tally;
use super::weighted::WeightedFeatures;
use crate::check::Check;
use crate::error::Result;
use crate::text::ignore::Ignored;
use crate::text::markup::{text_of_html, text_of_main};
use crate::text::normalise::{normalise, normalise_beyond_capitals, normalise_separators};
use crate::text::places::rewrite;
use crate::ticking::ticking;

/// Bytes of scratch memory that are reused for the next text.
const RETAINED_BYTES: usize = 1 << 20;

/// Reads texts, all by the same options.
///
/// While it runs, it needs memory for the text without its markup, for its normal form and for a [`FeatureTable`].
/// Every allocation that grows with the text may fail, as [out of memory](crate::error::Error::OutOfMemory).
pub struct Fingerprinter<'a> {
    scratch: &'a mut Scratch,
    pub(crate) options: &'a Options,
    /// Called about every 64 kB of a text. May unwind.
    pub(crate) tick: &'a dyn Fn(),
}

/// The memory of a [`Fingerprinter`], of which up to 1 MB is reused for the next text.
#[derive(Debug, Default)]
pub struct Scratch {
    /// The text of the last document with markup.
    without_markup: String,
    collector: Collector,
    tally: Tally,
    minima: Minima,
}

/// What the indexes of a table have of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    pub fingerprint: u64,
    /// The [size](super::size) of the text.
    pub size: i32,
    /// The first [bands](super::bands) of the text.
    pub bands: Vec<i32>,
    /// What the option `same` has changed in each band.
    agreement: i32,
}

/// Collects the distinct features of a text.
#[derive(Debug, Default)]
struct Collector {
    normal: String,
    distinct: FeatureTable,
    /// The pairs, if they are told from features.
    pairs: FeatureTable,
    seen: SeenWords,
    factors: PairFactors,
}

impl Summary {
    /// The same without the option `same`.
    pub fn plain(&self) -> Self {
        let bands = (0..self.bands.len()).map(|band| self.plain_band(band)).collect();
        Self { bands, agreement: 0, ..*self }
    }

    /// A band without the option `same`.
    pub fn plain_band(&self, band: usize) -> i32 {
        self.bands[band] ^ self.agreement
    }

    /// Whether two texts share one of their first `bands` bands, which both summaries have.
    pub fn shares_band(&self, other: &Self, bands: usize) -> bool {
        self.bands.iter().zip(&other.bands).take(bands).any(|(own, other)| own == other)
    }
}

impl<'a> Fingerprinter<'a> {
    pub fn new(scratch: &'a mut Scratch, options: &'a Options, tick: &'a dyn Fn()) -> Self {
        Self { scratch, options, tick }
    }

    /// The same with other options.
    pub fn with_options<'b>(&'b mut self, options: &'b Options) -> Fingerprinter<'b> {
        Fingerprinter::new(self.scratch, options, self.tick)
    }

    /// The fingerprint of a text (Charikar 2002); None if the text has no feature.
    ///
    /// One pass over the text: about 2 ns for each byte of English.
    pub fn fingerprint(&mut self, text: &str) -> Result<Option<u64>> {
        self.read(text, |this, text| this.tally(text))
    }

    /// The fingerprint of a text, its size and its first bands, in one pass; None if the text has no feature that weighs
    /// anything. `bands` is at most [`MAX_BANDS`](super::bands::MAX_BANDS).
    pub fn summary(&mut self, text: &str, bands: usize) -> Result<Option<Summary>> {
        self.read(text, |this, text| {
            let agreement = this.agreement_of(text)?.key();
            this.scratch.minima.reset(bands);
            let (fingerprint, size) =
                if this.options.is_plain_set() { this.summarise_set(text)? } else { this.summarise_weighted(text)? };
            let Some(fingerprint) = fingerprint else { return Ok(None) };
            Ok(Some(Summary { fingerprint, size, bands: this.bands(bands, agreement)?, agreement }))
        })
    }

    /// The sketch of a text with its first bands; None if the text has no feature that weighs anything. Costs 1.3
    /// fingerprints.
    pub fn sketch(&mut self, text: &str, bands: usize) -> Result<Option<Sketch>> {
        self.read(text, |this, text| {
            let agreement = this.agreement_of(text)?.key();
            this.scratch.minima.reset(bands);
            let mut parities = Parities::default();
            let size = if this.options.is_plain_set() {
                let Scratch { collector, minima, .. } = &mut *this.scratch;
                collector.collect(text, Pairs::together(this.options), this.options, this.tick, |new: &[u64]| {
                    minima.add_all(new);
                    parities.flip_all(new);
                    Ok(())
                })?;
                collector.distinct.distinct() as u128
            } else {
                let features = this.weigh(text, true)?;
                let one = this.options.weigh_count(1) * this.options.one();
                for (hash, weight) in ticking(features.levels(), this.tick) {
                    this.scratch.minima.add(hash, weight, one);
                    if weight == one {
                        parities.flip(hash);
                    }
                }
                features.total(this.tick).div_ceil(this.options.one().into())
            };
            if size == 0 {
                return Ok(None);
            }
            let difference = DifferenceSketch::new(parities, as_size(size));
            Ok(Some(Sketch { bands: this.bands(bands, agreement)?, difference }))
        })
    }

    /// The features that the fingerprint of a text is made of, in the order in which they first end in the text.
    ///
    /// In addition to the memory of [`Fingerprinter::fingerprint`], needs the features' bytes and 24 bytes for each
    /// feature.
    pub fn features(&mut self, text: &str) -> Result<FeatureList> {
        self.read(text, |this, text| this.list(text))
    }

    /// The features of a text, and their pairs if these are asked for, as hashes and weights.
    pub fn weighted_features(&mut self, text: &str, with_pairs: bool) -> Result<WeightedFeatures> {
        self.read(text, |this, text| this.weigh(text, with_pairs))
    }

    pub(super) fn agreement(&mut self, text: &str) -> Result<Agreement> {
        if self.options.same.is_nothing() {
            return Ok(Agreement::default());
        }
        self.read(text, |this, text| this.agreement_of(text))
    }

    /// The same of a text without its markup.
    fn agreement_of(&mut self, text: &str) -> Result<Agreement> {
        if self.options.same.is_nothing() {
            return Ok(Agreement::default());
        }
        self.normalise_same(text)?;
        self.options.same.of(&self.scratch.collector.normal, self.tick)
    }

    /// What two texts must agree in by the option `same`, and whether they do.
    pub(crate) fn agreement_checks(&mut self, texts: [&str; 2]) -> Result<Vec<Check>> {
        let [a, b] = texts.map(|text| {
            self.read(text, |this, text| {
                this.normalise_same(text)?;
                this.options.same.listed(&this.scratch.collector.normal, this.tick)
            })
        });
        Ok(self.options.same.checks([a?, b?]))
    }

    /// Makes the normal form in which texts must agree, of a text without its markup.
    fn normalise_same(&mut self, text: &str) -> Result<()> {
        // The numbers of addresses may be left out, but not all.
        let ignored = Ignored { numbers: false, ..self.options.ignore };
        self.scratch.collector.normalise(text, self.options.case_fold, ignored, self.tick)?;
        rewrite(&mut self.scratch.collector.normal, normalise_separators, None, self.tick)
    }

    /// The distinct features of a text and their pairs, by which texts are compared if all weigh the same.
    pub(super) fn compared_features(&mut self, text: &str) -> Result<FeatureTable> {
        self.read(text, |this, text| {
            this.scratch.collector.collect(
                text,
                Pairs::together(this.options),
                this.options,
                this.tick,
                |_: &[u64]| Ok(()),
            )?;
            Ok(std::mem::take(&mut this.scratch.collector.distinct))
        })
    }

    /// The number of distinct features and pairs by which a text is compared, if all weigh the same. Calls `new` with
    /// the hash of each of them once, many at a time, until it returns an error.
    pub(super) fn count_compared(&mut self, text: &str, new: impl FnMut(&[u64]) -> Result<()>) -> Result<usize> {
        self.read(text, |this, text| {
            this.scratch.collector.collect(text, Pairs::together(this.options), this.options, this.tick, new)?;
            Ok(this.scratch.collector.distinct.distinct())
        })
    }

    /// Passes `make` the text in normal form, without its markup.
    pub(super) fn read_normal<T>(&mut self, text: &str, make: impl FnOnce(&str) -> Result<T>) -> Result<T> {
        self.read(text, |this, text| {
            this.scratch.collector.normalise(text, this.options.case_fold, this.options.ignore, this.tick)?;
            make(&this.scratch.collector.normal)
        })
    }

    /// Passes `make` the text without its markup. Then frees the memory that a long text has taken.
    #[inline]
    fn read<T>(&mut self, text: &str, make: impl FnOnce(&mut Self, &str) -> Result<T>) -> Result<T> {
        let mut without_markup = String::new();
        let text = match self.options.markup {
            None => text,
            Some(markup) => {
                without_markup = std::mem::take(&mut self.scratch.without_markup);
                match markup {
                    Markup::Html => text_of_html(text, &mut without_markup, self.tick)?,
                    Markup::Main => text_of_main(text, &mut without_markup, self.tick)?,
                }
                &without_markup
            }
        };
        let made = make(self, text);
        if self.options.markup.is_some() {
            self.scratch.without_markup = without_markup;
        }
        self.shrink();
        made
    }

    fn list(&mut self, text: &str) -> Result<FeatureList> {
        self.scratch.collector.normalise(text, self.options.case_fold, self.options.ignore, self.tick)?;
        let Collector { normal, distinct, .. } = &mut self.scratch.collector;
        distinct.reset(expected_features(normal), true, self.tick)?;
        let mut list = FeatureList::default();
        each_feature(normal, false, self.options, self.tick, |feature: &[u8], hash| {
            if distinct.insert(hash, self.tick)? {
                list.push(feature, hash)?;
            }
            Ok(())
        })?;
        list.weights.try_reserve_exact(list.hashes.len())?;
        list.weights
            .extend(ticking(&list.hashes, self.tick).map(|hash| self.options.weigh(*hash, distinct.count(*hash))));
        list.one = self.options.one();
        Ok(list)
    }

    /// The first bands of the features that were added to the minima.
    fn bands(&self, bands: usize, agreement: i32) -> Result<Vec<i32>> {
        let mut all = Vec::new();
        all.try_reserve_exact(bands)?;
        all.extend((0..bands).map(|band| self.scratch.minima.band(band) ^ agreement));
        Ok(all)
    }

    /// Frees the memory that a long text has taken.
    fn shrink(&mut self) {
        let text = self.scratch.without_markup.capacity() + self.scratch.collector.normal.capacity();
        let factors = self.scratch.collector.factors.capacity() * size_of::<(u64, u64)>();
        let Collector { distinct, pairs, .. } = &self.scratch.collector;
        if text + distinct.memory() + pairs.memory() + factors > RETAINED_BYTES {
            self.scratch.without_markup = String::new();
            self.scratch.collector = Collector::default();
        }
    }

    fn tally(&mut self, text: &str) -> Result<Option<u64>> {
        if self.options.is_plain_set() {
            self.scratch.tally.clear();
            if !vote_for_line(text, self.options, &mut self.scratch.tally)? {
                self.scratch.tally.clear();
                let vote = |new: &[u64]| {
                    self.scratch.tally.vote_all(new);
                    Ok(())
                };
                self.scratch.collector.collect(text, Pairs::None, self.options, self.tick, vote)?;
            }
            return Ok(self.scratch.tally.fingerprint());
        }
        let features = self.weigh(text, false)?;
        self.scratch.tally.clear();
        for (hash, weight) in ticking(features.iter(), self.tick) {
            self.scratch.tally.add(hash, weight)?;
        }
        self.scratch.collector.distinct = features.distinct;
        Ok(self.scratch.tally.fingerprint())
    }

    fn summarise_set(&mut self, text: &str) -> Result<(Option<u64>, i32)> {
        let Scratch { collector, tally, minima, .. } = &mut *self.scratch;
        tally.clear();
        let pairs = if self.options.has_pairs() { Pairs::Apart } else { Pairs::None };
        collector.collect(text, pairs, self.options, self.tick, Summing { tally, minima })?;
        let size = collector.distinct.distinct() + collector.pairs.distinct();
        Ok((tally.fingerprint(), as_size(size as u128)))
    }

    fn summarise_weighted(&mut self, text: &str) -> Result<(Option<u64>, i32)> {
        let fingerprint = self.tally(text)?;
        let features = self.weigh(text, true)?;
        let one = self.options.weigh_count(1) * self.options.one();
        for (hash, weight) in ticking(features.levels(), self.tick) {
            self.scratch.minima.add(hash, weight, one);
        }
        Ok((fingerprint, as_size(features.total(self.tick).div_ceil(self.options.one().into()))))
    }

    fn weigh(&mut self, text: &str, with_pairs: bool) -> Result<WeightedFeatures> {
        let pairs = if with_pairs { Pairs::together(self.options) } else { Pairs::None };
        self.scratch.collector.collect(text, pairs, self.options, self.tick, |_: &[u64]| Ok(()))?;
        let Collector { distinct, factors, .. } = &mut self.scratch.collector;
        let (distinct, factors) = (std::mem::take(distinct), std::mem::take(factors));
        Ok(WeightedFeatures { distinct, options: self.options.clone(), factors })
    }
}

/// A number of features as a size, which is at most `i32::MAX`.
fn as_size(features: u128) -> i32 {
    i32::try_from(features).unwrap_or(i32::MAX)
}

/// What to collect of pairs of neighbouring features.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pairs {
    None,
    /// In one table with the features.
    Together,
    /// In a table of their own.
    Apart,
}

impl Pairs {
    fn together(options: &Options) -> Self {
        if options.has_pairs() { Self::Together } else { Self::None }
    }
}

/// Gets the distinct features of a text, many at a time.
trait Distinct {
    fn features(&mut self, hashes: &[u64]) -> Result<()>;
    fn pairs(&mut self, hashes: &[u64]) -> Result<()>;
}

impl<F: FnMut(&[u64]) -> Result<()>> Distinct for F {
    #[inline]
    fn features(&mut self, hashes: &[u64]) -> Result<()> {
        self(hashes)
    }

    #[inline]
    fn pairs(&mut self, hashes: &[u64]) -> Result<()> {
        self(hashes)
    }
}

/// Adds features to a fingerprint and to bands, and pairs to bands.
struct Summing<'a> {
    tally: &'a mut Tally,
    minima: &'a mut Minima,
}

impl Distinct for Summing<'_> {
    fn features(&mut self, hashes: &[u64]) -> Result<()> {
        self.tally.vote_all(hashes);
        self.pairs(hashes)
    }

    fn pairs(&mut self, hashes: &[u64]) -> Result<()> {
        self.minima.add_all(hashes);
        Ok(())
    }
}

impl Collector {
    /// Makes the normal form of a text without what does not count.
    fn normalise(&mut self, text: &str, case_fold: bool, ignored: Ignored, tick: &dyn Fn()) -> Result<()> {
        self.normal.clear();
        normalise(text, case_fold, &mut self.normal, tick)?;
        ignored.remove(&mut self.normal, tick)
    }

    /// Collects the features of a text in `distinct`, and pairs of neighbouring features as `pairs` says. Passes `new`
    /// the hash of each distinct one.
    #[inline]
    fn collect(
        &mut self,
        text: &str,
        pairs: Pairs,
        options: &Options,
        tick: &dyn Fn(),
        new: impl Distinct,
    ) -> Result<()> {
        let counted = !options.is_plain_set();
        let is_copied = if takes_capitals(options) {
            self.normal.clear();
            normalise_beyond_capitals(text, options.case_fold, &mut self.normal, tick)?
        } else {
            self.normalise(text, options.case_fold, options.ignore, tick)?;
            true
        };
        let Self { normal, distinct, pairs: table_of_pairs, seen, factors } = self;
        let text = if is_copied { normal } else { text };
        let expected = expected_features(text);
        let expected_pairs = expected.max(text.len() / 8);
        let together = if pairs == Pairs::Together { expected_pairs } else { 0 };
        distinct.reset(expected + together, counted, tick)?;
        let apart = pairs == Pairs::Apart;
        table_of_pairs.reset(if apart { expected_pairs } else { 0 }, false, tick)?;
        seen.reset(if counted { 0 } else { text.len() })?;
        factors.clear();
        let has_capitals = !is_copied && options.case_fold;
        let mut collecting = Collecting {
            seen,
            distinct,
            table_of_pairs: apart.then_some(table_of_pairs),
            new,
            seed: options.seed,
            tick,
            words: [0; FEATURE_BATCH],
            words_len: 0,
            pending: [0; FEATURE_BATCH],
            pending_len: 0,
            pairs: [0; FEATURE_BATCH],
            pairs_len: 0,
        };
        if pairs != Pairs::None {
            let neighbours = Neighbours::new(&mut collecting, options, factors);
            each_feature(text, has_capitals, options, tick, neighbours)?;
        } else {
            each_feature(text, has_capitals, options, tick, &mut collecting)?;
        }
        collecting.flush_words()?;
        collecting.flush()?;
        collecting.flush_pairs()
    }
}

/// Bytes of a text that repeats few features if it is in a script without spaces.
const DIVERSE_TEXT_BYTES: usize = 4096;

/// A guess of the number of distinct features in a text, from its length and first characters. A table that is too
/// small grows, and one that is too large does not stay in the first-level cache.
///
/// English texts of 40 kB have a distinct word for each 50 bytes, and single lines one for each 7; Chinese texts of 17
/// kB have a distinct feature for each 6 bytes, and those of 2 kB one for each 3.3.
fn expected_features(normal: &str) -> usize {
    match normal.as_bytes().first_chunk::<128>() {
        Some(sample) if sample.iter().filter(|byte| byte.is_ascii()).count() > sample.len() / 2 => {
            8 + normal.len() / 32
        }
        _ if normal.len() <= DIVERSE_TEXT_BYTES => normal.len() / 4,
        _ => normal.len() / 8,
    }
}

/// Where [`Collector::collect`] puts features.
struct Collecting<'a, N> {
    seen: &'a mut SeenWords,
    distinct: &'a mut FeatureTable,
    /// None if pairs are in `distinct` too.
    table_of_pairs: Option<&'a mut FeatureTable>,
    new: N,
    tick: &'a dyn Fn(),
    seed: u64,
    /// Words that are not yet hashed, without most repetitions. Whether a word is a repetition is unpredictable, so
    /// nothing branches on it.
    words: [u64; FEATURE_BATCH],
    words_len: usize,
    /// Hashes that are not yet in `distinct`. They are looked up together, in a loop that does nothing else and so has
    /// all that it needs in registers: Chinese takes .85 of the time.
    pending: [u64; FEATURE_BATCH],
    pending_len: usize,
    /// Hashes of pairs that are not yet in a table.
    pairs: [u64; FEATURE_BATCH],
    pairs_len: usize,
}

impl<N: Distinct> Collecting<'_, N> {
    /// Looks up pending hashes.
    #[inline(never)]
    fn flush(&mut self) -> Result<()> {
        let pending = &mut self.pending[..std::mem::take(&mut self.pending_len)];
        let new = self.distinct.insert_all(pending, self.tick)?;
        self.new.features(&pending[..new])
    }

    /// Looks up pending pairs.
    #[inline(never)]
    fn flush_pairs(&mut self) -> Result<()> {
        let pairs = &mut self.pairs[..std::mem::take(&mut self.pairs_len)];
        let table = self.table_of_pairs.as_deref_mut().unwrap_or(self.distinct);
        let new = table.insert_all(pairs, self.tick)?;
        self.new.pairs(&pairs[..new])
    }

    /// Hashes pending words, and looks them up.
    #[inline(never)]
    fn flush_words(&mut self) -> Result<()> {
        let words = &mut self.words[..std::mem::take(&mut self.words_len)];
        let hash = Seeded(self.seed);
        words.iter_mut().for_each(|word| *word = hash.hash_1_to_8(*word, length_of(*word)));
        let new = self.distinct.insert_all(words, self.tick)?;
        self.new.features(&words[..new])
    }
}

impl<N: Distinct> FeatureSink for &mut Collecting<'_, N> {
    #[inline(always)]
    fn feature(&mut self, _: &[u8], hash: u64) -> Result<()> {
        self.pending[self.pending_len % FEATURE_BATCH] = hash;
        self.pending_len += 1;
        if self.pending_len == FEATURE_BATCH { self.flush() } else { Ok(()) }
    }

    #[inline(always)]
    fn word(&mut self, word: u64, _: Seeded) -> Result<()> {
        self.words[self.words_len % FEATURE_BATCH] = word;
        self.words_len += usize::from(!self.seen.repeats(word));
        if self.words_len == FEATURE_BATCH { self.flush_words() } else { Ok(()) }
    }

    #[inline(always)]
    fn pair(&mut self, hash: u64) -> Result<()> {
        self.pairs[self.pairs_len % FEATURE_BATCH] = hash;
        self.pairs_len += 1;
        if self.pairs_len == FEATURE_BATCH { self.flush_pairs() } else { Ok(()) }
    }
}
