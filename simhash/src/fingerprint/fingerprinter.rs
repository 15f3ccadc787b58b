//! Makes the fingerprint of a text, its size and bands, and other results from its features.

use super::agreement::{Agreement, normalise_for_same};
use super::bands::Minima;
use super::collect::{BatchKind, Collected, PairStorage, expected_features};
use super::feature_list::FeatureList;
use super::features::each_feature;
use super::line::vote_for_line;
use super::options::{Markup, Options};
use super::size::as_size;
use super::sketch::{DifferenceSketch, Sketch};
use super::tally::Tally;
use super::weighted::WeightedFeatures;
use crate::check::Check;
use crate::error::Result;
use crate::memory::collect_exact;
use crate::text::markup::{text_of_html, text_of_main};
use crate::ticking::ticking;

/// The most bytes of scratch memory that are reused for the next text.
const MAX_RETAINED_BYTES: usize = 1 << 20;

/// Reads texts, all by the same options.
///
/// While it runs, it needs memory for the text without its markup, for its normal form and for a
/// [`FeatureTable`](super::feature_table::FeatureTable). Every allocation that grows with the text may fail, as [out of
/// memory](crate::error::Error::OutOfMemory).
pub struct Fingerprinter<'a> {
    scratch: &'a mut Scratch,
    pub(crate) options: &'a Options,
    pub(crate) tick: &'a dyn Fn(),
}

/// The memory of a [`Fingerprinter`], of which up to 1 MB is reused for the next text.
#[derive(Debug, Default)]
pub struct Scratch {
    /// The text of the last document with markup.
    without_markup: String,
    collected: Collected,
    tally: Tally,
    minima: Minima,
}

/// The values that the indexes of a table store for a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    pub fingerprint: u64,
    /// The [size](super::size) of the text.
    pub size: i32,
    /// The first [bands](super::bands) of the text.
    pub bands: Vec<i32>,
    /// The number with which the option `same` XORs each band.
    mask: i32,
}

impl Summary {
    /// The summary that the text has without the option `same`.
    pub fn plain(&self) -> Self {
        let bands = (0..self.bands.len()).map(|band| self.plain_band(band)).collect();
        Self { bands, mask: 0, ..*self }
    }

    /// A band that the text has without the option `same`.
    pub fn plain_band(&self, band: usize) -> i32 {
        self.bands[band] ^ self.mask
    }

    /// Whether two texts share one of their first `bands` bands, which both summaries have.
    pub fn shares_band(&self, other: &Self, bands: usize) -> bool {
        self.bands.iter().zip(&other.bands).take(bands).any(|(own, other)| own == other)
    }
}

impl<'a> Fingerprinter<'a> {
    /// `tick` is called about every 64 kB of a text. It may unwind.
    pub fn new(scratch: &'a mut Scratch, options: &'a Options, tick: &'a dyn Fn()) -> Self {
        Self { scratch, options, tick }
    }

    /// A fingerprinter with other options and the same scratch memory.
    pub fn with_options<'b>(&'b mut self, options: &'b Options) -> Fingerprinter<'b> {
        Fingerprinter { scratch: self.scratch, options, tick: self.tick }
    }

    /// The fingerprint of a text (Charikar 2002); None if the text has no feature that weighs anything.
    ///
    /// Reads the text once: about 2 ns for each byte of English.
    pub fn fingerprint(&mut self, text: &str) -> Result<Option<u64>> {
        self.read_text(text, |reader, text| reader.fingerprint_of(text))
    }

    /// The fingerprint of a text, its size and its first bands; None if the text has no feature that weighs anything.
    /// `bands` is at most [`MAX_BANDS`](super::bands::MAX_BANDS).
    ///
    /// Reads the text once if all features weigh the same, otherwise twice; and once more by the option `same`.
    pub fn summary(&mut self, text: &str, bands: usize) -> Result<Option<Summary>> {
        self.read_text(text, |reader, text| {
            let mask = reader.agreement_of(text)?.band_mask();
            reader.scratch.minima.reset(bands);
            let (fingerprint, size) = if reader.options.is_plain_set() {
                reader.summarise_set(text)?
            } else {
                (reader.fingerprint_of(text)?, reader.add_to_minima(text, |_| ())?)
            };
            let Some(fingerprint) = fingerprint else { return Ok(None) };
            Ok(Some(Summary { fingerprint, size, bands: reader.first_bands(bands, mask)?, mask }))
        })
    }

    /// The sketch of a text with its first bands; None if the text has no feature that weighs anything. Costs 1.3
    /// fingerprints, and the normal form by the option `same`.
    pub fn sketch(&mut self, text: &str, bands: usize) -> Result<Option<Sketch>> {
        self.read_text(text, |reader, text| {
            let mask = reader.agreement_of(text)?.band_mask();
            let Scratch { collected, minima, .. } = &mut *reader.scratch;
            minima.reset(bands);
            let mut difference = DifferenceSketch::default();
            difference.size = if reader.options.is_plain_set() {
                collected.collect(text, reader.options, PairStorage::WithFeatures, reader.tick, |_, hashes| {
                    minima.add_all(hashes);
                    hashes.iter().for_each(|hash| difference.flip(*hash));
                    Ok(())
                })?;
                as_size(collected.features.distinct())
            } else {
                reader.add_to_minima(text, |hash| difference.flip(hash))?
            };
            if difference.is_empty() {
                return Ok(None);
            }
            Ok(Some(Sketch { bands: reader.first_bands(bands, mask)?, difference }))
        })
    }

    /// The features that the fingerprint of a text is made of, in the order in which they first end in the text.
    ///
    /// In addition to the memory of [`Fingerprinter::fingerprint`], needs the features' bytes and 24 bytes for each
    /// feature.
    pub fn features(&mut self, text: &str) -> Result<FeatureList> {
        self.read_text(text, |reader, text| {
            let (options, tick) = (reader.options, reader.tick);
            let collected = &mut reader.scratch.collected;
            collected.normalise(text, options, tick)?;
            let Collected { normal, features, .. } = collected;
            features.reset(expected_features(normal), true, tick)?;
            let mut list = FeatureList::default();
            each_feature(normal, false, options, tick, |feature: &[u8], hash| {
                if features.insert(hash, tick)? {
                    list.push(feature, hash)?;
                }
                Ok(())
            })?;
            let weights = ticking(&list.hashes, tick).map(|hash| options.weigh(*hash, features.count(*hash)));
            list.weights = collect_exact(list.hashes.len(), weights)?;
            list.unit_weight = options.unit_weight();
            Ok(list)
        })
    }

    /// The features of a text, as hashes and weights.
    pub fn weighted_features(&mut self, text: &str) -> Result<WeightedFeatures> {
        self.read_text(text, |reader, text| reader.weighted_features_of(text, PairStorage::LeftOut))
    }

    /// The features of a text and their pairs, as hashes and weights.
    pub fn weighted_features_and_pairs(&mut self, text: &str) -> Result<WeightedFeatures> {
        self.read_text(text, |reader, text| reader.weighted_features_of(text, PairStorage::WithFeatures))
    }

    /// The properties of the text that another text must have by the option `same`. Costs as much as the normal form,
    /// unless the option requires nothing.
    pub(super) fn agreement(&mut self, text: &str) -> Result<Agreement> {
        if self.options.same.is_nothing() {
            return Ok(Agreement::default());
        }
        self.read_text(text, |reader, text| reader.agreement_of(text))
    }

    /// The agreement of a text without its markup.
    fn agreement_of(&mut self, text: &str) -> Result<Agreement> {
        let (same, tick) = (&self.options.same, self.tick);
        if same.is_nothing() {
            return Ok(Agreement::default());
        }
        same.agreement_of(self.normalise_for_same(text)?, tick)
    }

    /// The properties that two texts must have in common by the option `same`, each with whether they agree in it.
    pub(crate) fn agreement_checks(&mut self, texts: [&str; 2]) -> Result<Vec<Check>> {
        let [a, b] = texts.map(|text| {
            self.read_text(text, |reader, text| {
                let (same, tick) = (&reader.options.same, reader.tick);
                same.agreement_and_numbers(reader.normalise_for_same(text)?, tick)
            })
        });
        Ok(self.options.same.agreement_checks([a?, b?]))
    }

    /// The normal form in which texts must agree, of a text without its markup.
    fn normalise_for_same(&mut self, text: &str) -> Result<&str> {
        let normal = &mut self.scratch.collected.normal;
        normalise_for_same(text, self.options.case_fold, self.options.ignore, normal, self.tick)?;
        Ok(normal)
    }

    /// Passes `sink` the hash of each distinct feature and pair of a text, many at a time, until `sink` returns an
    /// error. Returns their number. Only for options by which all features weigh the same.
    pub(super) fn count_compared(&mut self, text: &str, mut sink: impl FnMut(&[u64]) -> Result<()>) -> Result<usize> {
        self.read_text(text, |reader, text| {
            let collected = &mut reader.scratch.collected;
            collected
                .collect(text, reader.options, PairStorage::WithFeatures, reader.tick, |_, hashes| sink(hashes))?;
            Ok(collected.features.distinct())
        })
    }

    /// Passes `sink` the same hashes as [`Self::count_compared`], and returns the fingerprint of the features among
    /// them.
    pub(super) fn compared_and_fingerprint(
        &mut self,
        text: &str,
        mut sink: impl FnMut(&[u64]) -> Result<()>,
    ) -> Result<Option<u64>> {
        self.read_text(text, |reader, text| {
            let Scratch { collected, tally, .. } = &mut *reader.scratch;
            tally.clear();
            collected.collect(text, reader.options, PairStorage::WithFeatures, reader.tick, |batch_of, hashes| {
                if batch_of == BatchKind::Features {
                    tally.vote_all(hashes);
                }
                sink(hashes)
            })?;
            Ok(tally.fingerprint())
        })
    }

    /// Passes `make` the text in normal form, without its markup.
    pub(crate) fn read_normal<T>(&mut self, text: &str, make: impl FnOnce(&str) -> Result<T>) -> Result<T> {
        self.read_text(text, |reader, text| {
            reader.scratch.collected.normalise(text, reader.options, reader.tick)?;
            make(&reader.scratch.collected.normal)
        })
    }

    /// Passes `make` the text without its markup. Then frees the memory that a long text has taken.
    #[inline]
    fn read_text<T>(&mut self, text: &str, make: impl FnOnce(&mut Self, &str) -> Result<T>) -> Result<T> {
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
        let result = make(self, text);
        let Scratch { without_markup: retained, collected, .. } = &mut *self.scratch;
        if self.options.markup.is_some() {
            *retained = without_markup;
        }
        if retained.capacity() + collected.memory() > MAX_RETAINED_BYTES {
            *retained = String::new();
            *collected = Collected::default();
        }
        result
    }

    /// The first bands of the features that were added to the minima.
    fn first_bands(&self, bands: usize, mask: i32) -> Result<Vec<i32>> {
        collect_exact(bands, (0..bands).map(|band| self.scratch.minima.band(band) ^ mask))
    }

    /// The fingerprint of a text without its markup.
    fn fingerprint_of(&mut self, text: &str) -> Result<Option<u64>> {
        let Scratch { collected, tally, .. } = &mut *self.scratch;
        tally.clear();
        if self.options.is_plain_set() {
            if !vote_for_line(text, self.options, tally)? {
                tally.clear();
                collected.collect(text, self.options, PairStorage::LeftOut, self.tick, |_, hashes| {
                    tally.vote_all(hashes);
                    Ok(())
                })?;
            }
            return Ok(tally.fingerprint());
        }
        let features = self.weighted_features_of(text, PairStorage::LeftOut)?;
        for (hash, weight) in ticking(features.iter(), self.tick) {
            self.scratch.tally.add(hash, weight)?;
        }
        self.put_back(features);
        Ok(self.scratch.tally.fingerprint())
    }

    /// The fingerprint and the size of a text without its markup whose features all weigh the same. Adds these to the
    /// minima.
    fn summarise_set(&mut self, text: &str) -> Result<(Option<u64>, i32)> {
        let Scratch { collected, tally, minima, .. } = &mut *self.scratch;
        tally.clear();
        collected.collect(text, self.options, PairStorage::Apart, self.tick, |batch_of, hashes| {
            if batch_of == BatchKind::Features {
                tally.vote_all(hashes);
            }
            minima.add_all(hashes);
            Ok(())
        })?;
        Ok((tally.fingerprint(), as_size(collected.features.distinct() + collected.pairs.distinct())))
    }

    /// Adds the features and pairs of a text without its markup to the minima by their weights, and passes `emit` those
    /// that weigh as much as a feature of weight 1 that occurs once. Returns the size of the text.
    fn add_to_minima(&mut self, text: &str, mut emit: impl FnMut(u64)) -> Result<i32> {
        let features = self.weighted_features_of(text, PairStorage::WithFeatures)?;
        let full_weight = self.options.weigh_count(1) * self.options.unit_weight();
        for (hash, weight) in ticking(features.occurrences(), self.tick) {
            self.scratch.minima.add(hash, weight, full_weight);
            if weight == full_weight {
                emit(hash);
            }
        }
        let size = as_size(features.total(self.tick).div_ceil(self.options.unit_weight().into()));
        self.put_back(features);
        Ok(size)
    }

    /// The weighted features of a text without its markup.
    fn weighted_features_of(&mut self, text: &str, pair_storage: PairStorage) -> Result<WeightedFeatures> {
        let collected = &mut self.scratch.collected;
        collected.collect(text, self.options, pair_storage, self.tick, |_, _| Ok(()))?;
        let table = std::mem::take(&mut collected.features);
        let pair_factors = std::mem::take(&mut collected.pair_factors);
        Ok(WeightedFeatures { table, options: self.options.clone(), pair_factors })
    }

    /// Gives the memory of weighted features to the next text.
    fn put_back(&mut self, features: WeightedFeatures) {
        self.scratch.collected.features = features.table;
        self.scratch.collected.pair_factors = features.pair_factors;
    }
}
