//! Learns weights for the option `weights` from a sample of texts. Features that most texts have distinguish them
//! least.

use std::cmp::Reverse;

use super::feature_table::FeatureTable;
use super::features::{FeatureSink, each_feature};
use super::fingerprinter::{Fingerprinter, Scratch};
use super::hash::hash;
use super::neighbours::join;
use super::options::Options;
use crate::error::Result;
use crate::memory::{collect_exact, with_capacity};
use crate::ticking::{NUMBERS_BETWEEN_TICKS, ticking};

/// The most bytes of a text that are read; they represent the whole text.
pub const MAX_READ_BYTES: usize = 32 << 10;
/// A weight is a multiple of a fifth: fine enough, and its decimal is short.
pub const WEIGHT_LEVELS: u8 = 5;
/// The number of texts in the sample of a table.
pub const TABLE_SAMPLE: usize = 300;
/// Most features of a table with a weight.
pub const MAX_TABLE_WEIGHTS: usize = 300;
/// Most bytes of the weights of a table, as `jsonb`.
pub const MAX_TABLE_WEIGHT_BYTES: usize = 16 << 10;
/// A feature or pair is common if at least one in this many texts of the sample, and at least two texts, have it.
const COMMON_ONE_IN: usize = 10;
/// Bytes of `jsonb` that a weight takes in addition to its feature, at most.
pub const WEIGHT_BYTES: usize = 24;

/// A sample of texts: those whose first [`MAX_READ_BYTES`] bytes have the smallest hashes, equal ones counted once. So
/// it depends on the texts alone, and not on their order or number of copies.
///
/// Takes the memory of the texts in the sample, up to [`MAX_READ_BYTES`] bytes each.
#[derive(Debug)]
pub struct TextSample {
    size: usize,
    /// Hashes and texts, in order.
    texts: Vec<(u64, String)>,
}

/// The frequency and the hash of a feature. In ascending order, the commonest comes first.
type Ranked = (Reverse<u32>, u64);

/// A feature whose weight, 1 to 4 fifths, was learnt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LearntWeight {
    pub feature: String,
    pub fifths: u8,
}

impl TextSample {
    pub fn new(size: usize) -> Self {
        Self { size, texts: Vec::new() }
    }

    pub fn text_count(&self) -> usize {
        self.texts.len()
    }

    /// The number of texts that have an end tag, as HTML has.
    pub fn tagged_text_count(&self) -> usize {
        let is_end_tag = |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphabetic());
        self.texts.iter().filter(|(_, text)| text.split("</").skip(1).any(is_end_tag)).count()
    }

    /// Adds a text, if its hash is small enough. Most texts of a large table cost only their hash.
    pub fn add(&mut self, text: &str) -> Result<()> {
        let beginning = &text[..text.floor_char_boundary(MAX_READ_BYTES)];
        let hash = hash(beginning.as_bytes());
        let Err(position) = self.texts.binary_search_by_key(&hash, |(hash, _)| *hash) else {
            return Ok(());
        };
        if position >= self.size {
            return Ok(());
        }
        let mut copy = String::new();
        copy.try_reserve_exact(beginning.len())?;
        copy.push_str(beginning);
        if self.texts.len() == self.size {
            self.texts.pop();
        }
        self.texts.try_reserve(1)?;
        self.texts.insert(position, (hash, copy));
        Ok(())
    }

    /// The weights of the `most` features that occur in most texts, the commonest first; among equally common ones,
    /// those with the smallest hash first. Features that are left out weigh 1: features beyond `most`, and features
    /// whose weight rounds to 1, such as each feature of a single text.
    ///
    /// With N texts that have a feature, a feature of df texts has idf = ln(N / (1 + df)) (Salton and Buckley 1988),
    /// and weighs ln(1 + idf) as a share of the largest weight, which a feature of a single text has, in steps of a
    /// fifth; at least one fifth. The logarithms of two machines may differ in the last of 53 bits, which leaves the
    /// step the same.
    ///
    /// The option `weights` has no effect. Reads the sample twice. Besides the sample, takes the memory of
    /// a [`FeatureTable`] of all its distinct features, up to 48 bytes each.
    pub fn learn(&self, options: &Options, most: usize, tick: &dyn Fn()) -> Result<Vec<LearntWeight>> {
        let options = Options { weights: None, ..options.clone() };
        let mut scratch = Scratch::default();
        let mut fingerprinter = Fingerprinter::new(&mut scratch, &options, tick);
        let mut texts = 0;
        let frequencies = self.count_texts(tick, |text| {
            let features = fingerprinter.weighted_features(text)?.table;
            texts += usize::from(features.distinct() > 0);
            Ok(features)
        })?;
        let weighs_less = |(_, frequency): &(u64, u32)| weight_in_fifths(texts, *frequency) < WEIGHT_LEVELS;
        let common = commonest(frequencies.iter().filter(weighs_less), most, tick)?;
        self.name_features(&common, &mut fingerprinter, |frequency| weight_in_fifths(texts, frequency))
    }

    /// The weights with which the texts of a table are compared with each other, as JSON: a fifth for each feature that
    /// is in a pair of neighbours that a tenth of the texts have. Of these, the commonest, at most
    /// [`MAX_TABLE_WEIGHTS`] and [`MAX_TABLE_WEIGHT_BYTES`]. If the options compare no pairs, a fifth for each feature
    /// that a tenth of the texts have.
    ///
    /// So the words of a template weigh less than a text's own words, and frequent words of prose do not. The result is
    /// bounded, and has no word of few rows. Reads the sample three times, and takes the memory of [`Self::learn`],
    /// with pairs.
    pub fn learn_table(&self, options: &Options, tick: &dyn Fn()) -> Result<String> {
        let options = Options { weights: None, ..options.clone() };
        let mut scratch = Scratch::default();
        let mut fingerprinter = Fingerprinter::new(&mut scratch, &options, tick);
        let frequencies = self.count_texts(tick, |text| {
            let mut table = FeatureTable::default();
            table.reset(0, false, tick)?;
            each_with_previous(&mut fingerprinter, text, |previous, hash| {
                if let Some(previous) = previous {
                    table.insert(join(previous, hash), tick)?;
                }
                table.insert(hash, tick).map(drop)
            })?;
            Ok(table)
        })?;
        let is_common = |hash| self.is_common(frequencies.count(hash));
        let mut common = FeatureTable::default();
        common.reset(0, false, tick)?;
        for (_, text) in &self.texts {
            each_with_previous(&mut fingerprinter, text, |previous, hash| match previous {
                Some(previous) if options.has_pairs() && is_common(join(previous, hash)) => {
                    common.insert(previous, tick)?;
                    common.insert(hash, tick).map(drop)
                }
                _ if !options.has_pairs() && is_common(hash) => common.insert(hash, tick).map(drop),
                _ => Ok(()),
            })?;
        }
        let ranked = common.iter().map(|(hash, _)| (hash, frequencies.count(hash)));
        let common = commonest(ranked, MAX_TABLE_WEIGHTS, tick)?;
        Ok(to_json(&self.name_features(&common, &mut fingerprinter, |_| 1)?, MAX_TABLE_WEIGHT_BYTES))
    }

    /// Whether a feature that `frequency` of the texts have is common: at least a tenth of them, and at least two.
    fn is_common(&self, frequency: u32) -> bool {
        frequency > 1 && frequency as usize * COMMON_ONE_IN >= self.texts.len()
    }

    /// The share of the texts that consist mostly of features and pairs of neighbours that a tenth of the texts have:
    /// such texts resemble each other whatever else they say. Reads the sample twice, and takes the memory of
    /// [`Self::learn`], with pairs.
    pub fn mostly_common_share(&self, options: &Options, tick: &dyn Fn()) -> Result<f64> {
        let options = Options { weights: None, ..options.clone() };
        let mut scratch = Scratch::default();
        let mut fingerprinter = Fingerprinter::new(&mut scratch, &options, tick);
        let frequencies = self.count_texts(tick, |text| Ok(fingerprinter.weighted_features_and_pairs(text)?.table))?;
        let mut mostly = 0;
        for (_, text) in &self.texts {
            let compared = fingerprinter.weighted_features_and_pairs(text)?.table;
            let common =
                ticking(compared.iter(), tick).filter(|(hash, _)| self.is_common(frequencies.count(*hash))).count();
            mostly += usize::from(2 * common > compared.distinct());
        }
        Ok(mostly as f64 / self.texts.len().max(1) as f64)
    }

    /// Counts the texts that have each feature. `read` returns the features of a text.
    fn count_texts(&self, tick: &dyn Fn(), mut read: impl FnMut(&str) -> Result<FeatureTable>) -> Result<FeatureTable> {
        let mut frequencies = FeatureTable::default();
        frequencies.reset(0, true, tick)?;
        for (_, text) in &self.texts {
            for (hash, _) in ticking(read(text)?.iter(), tick) {
                frequencies.insert(hash, tick)?;
            }
        }
        Ok(frequencies)
    }

    /// Reads from the texts how these features are written, and returns them in the same order. `weigh` makes fifths of
    /// a frequency.
    fn name_features(
        &self,
        common: &[Ranked],
        fingerprinter: &mut Fingerprinter,
        weigh: impl Fn(u32) -> u8,
    ) -> Result<Vec<LearntWeight>> {
        let unnamed =
            |(Reverse(frequency), _): &Ranked| LearntWeight { feature: String::new(), fifths: weigh(*frequency) };
        let mut learnt = collect_exact(common.len(), common.iter().map(unnamed))?;
        let indexes = common.iter().enumerate().map(|(index, (_, hash))| (*hash, index));
        let mut by_hash = collect_exact(common.len(), indexes)?;
        by_hash.sort_unstable();
        for (_, text) in &self.texts {
            let features = fingerprinter.features(text)?;
            for feature in ticking(features.iter(), fingerprinter.tick) {
                let Ok(found) = by_hash.binary_search_by_key(&feature.hash, |(hash, _)| *hash) else { continue };
                let named = &mut learnt[by_hash[found].1].feature;
                if named.is_empty() {
                    named.try_reserve_exact(feature.text.len())?;
                    named.push_str(feature.text);
                }
            }
        }
        Ok(learnt)
    }
}

/// The `most` features with the largest frequencies, from pairs of hash and frequency. The largest frequency is first;
/// among equal ones, the smallest hash.
fn commonest(features: impl Iterator<Item = (u64, u32)>, most: usize, tick: &dyn Fn()) -> Result<Vec<Ranked>> {
    let mut common = with_capacity(most + NUMBERS_BETWEEN_TICKS)?;
    for (hash, frequency) in ticking(features, tick) {
        // A single sort of all features could not be cancelled.
        if common.len() == most + NUMBERS_BETWEEN_TICKS {
            common.sort_unstable();
            common.truncate(most);
        }
        common.push((Reverse(frequency), hash));
    }
    common.sort_unstable();
    common.truncate(most);
    Ok(common)
}

/// The value of the option `weights` as JSON: the weights of the commonest features, which take up to `bytes` bytes of
/// `jsonb`.
pub fn to_json(learnt: &[LearntWeight], bytes: usize) -> String {
    let mut weights = serde_json::Map::new();
    let mut left = bytes;
    for LearntWeight { feature, fifths } in learnt {
        let Some(rest) = left.checked_sub(feature.len() + WEIGHT_BYTES) else { break };
        left = rest;
        weights.insert(feature.clone(), (f64::from(*fifths) / f64::from(WEIGHT_LEVELS)).into());
    }
    serde_json::Value::Object(weights).to_string()
}

/// Passes `emit` each feature of a text with the feature before it in its run, both as hashes.
fn each_with_previous(
    fingerprinter: &mut Fingerprinter,
    text: &str,
    emit: impl FnMut(Option<u64>, u64) -> Result<()>,
) -> Result<()> {
    struct WithPrevious<E> {
        previous: Option<u64>,
        emit: E,
    }

    impl<E: FnMut(Option<u64>, u64) -> Result<()>> FeatureSink for WithPrevious<E> {
        fn feature(&mut self, _: &[u8], hash: u64) -> Result<()> {
            (self.emit)(self.previous.replace(hash), hash)
        }

        fn end_run(&mut self) {
            self.previous = None;
        }
    }

    let (options, tick) = (fingerprinter.options, fingerprinter.tick);
    let sink = WithPrevious { previous: None, emit };
    fingerprinter.read_normal(text, |normal| each_feature(normal, false, options, tick, sink))
}

/// The weight of a feature of `frequency` of `texts` texts, in fifths.
fn weight_in_fifths(texts: usize, frequency: u32) -> u8 {
    let unscaled = |frequency: u32| (texts as f64 / (1.0 + f64::from(frequency))).ln().max(0.0).ln_1p();
    let (weight, largest) = (unscaled(frequency), unscaled(1));
    let share = if largest > 0.0 { weight / largest } else { 1.0 };
    (share * f64::from(WEIGHT_LEVELS)).round().max(1.0) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::resemblance::{DEFAULT_RESEMBLANCE, resemblance};

    fn sample(texts: impl IntoIterator<Item = String>, size: usize) -> TextSample {
        let mut sample = TextSample::new(size);
        texts.into_iter().for_each(|text| sample.add(&text).expect("memory suffices"));
        sample
    }

    /// Features that are learnt, with their weights, in the order of the weights.
    fn learnt(sample: &TextSample, most: usize) -> Vec<(u8, String)> {
        let learnt = sample.learn(&Options::default(), most, &|| ()).expect("memory suffices");
        let mut learnt: Vec<_> = learnt.into_iter().map(|learnt| (learnt.fifths, learnt.feature)).collect();
        learnt.sort_unstable();
        learnt
    }

    #[test]
    fn common_features_weigh_less() {
        let nth_text = |n| format!("The n{n} {} {}", if n % 2 == 0 { "even" } else { "odd" }, n / 3);
        let texts = sample((0..100).map(nth_text), 300);
        // ln(1 + ln(100 / 51)) / ln(1 + ln(100 / 2)) = .52 / 1.59 = .32
        let expected = [(1, "the"), (2, "even"), (2, "odd")].map(|(fifths, feature)| (fifths, feature.to_owned()));
        assert_eq!(learnt(&texts, 3), expected);
        assert_eq!(learnt(&texts, 0), []);
        for texts in [&[][..], &["a"], &["a", "a b"], &["", "!", "a"]] {
            assert_eq!(learnt(&sample(texts.iter().map(|text| (*text).to_owned()), 300), 100), [], "{texts:?}");
        }
    }

    #[test]
    fn order_and_copies_change_nothing() {
        let nth_text = |n| format!("{} {} {} {}", n % 7, n % 11, n % 13, n);
        let found = learnt(&sample((0..400).map(nth_text), 50), 10);
        assert_eq!(found.len(), 10);
        assert_eq!(learnt(&sample((0..400).rev().chain(100..300).map(nth_text), 50), 10), found);
    }

    #[test]
    fn commonest_of_many_features_are_found() {
        // Eight pairs of texts, each with more than 6,000 words of its own; two words are in all of them.
        let words = |pair: usize| (0..8000).map(move |n| format!("{:x} ", pair * 8000 + n)).collect::<String>();
        let texts = sample((0..16).map(|n| format!("t{n} zz yy {}", words(n / 2))), 300);
        assert!(learnt(&texts, 2).iter().map(|(_, feature)| &**feature).eq(["yy", "zz"]));
    }

    /// A line with a few words that no other text has, and a disclaimer of eighty.
    fn mail(n: usize) -> String {
        let disclaimer: String = (0..80).map(|word| format!("legal{word} ")).collect();
        format!("please call client c{n} about l{n} m{n} n{n} o{n} today\n-- \n{disclaimer}")
    }

    #[test]
    fn weights_of_a_table_tell_texts_with_a_template_apart() {
        let others = (0..200).map(|n| format!("unrelated{n} rare{} words{n}", n / 20));
        let sample = sample((0..100).map(mail).chain(others), TABLE_SAMPLE);
        assert_eq!(sample.mostly_common_share(&Options::default(), &|| ()), Ok(1.0 / 3.0));
        let json = sample.learn_table(&Options::default(), &|| ()).expect("memory suffices");
        assert!(json.contains(r#""legal7":0.2"#) && !json.contains("rare"), "{json}");
        let weighted = Options::default().with_weights(&json).expect("weights");
        let found = |b: &str, options: &Options| {
            resemblance(&mut Fingerprinter::new(&mut Scratch::default(), options, &|| ()), &mail(1), b)
                .expect("memory suffices")
        };
        assert!(found(&mail(2), &Options::default()) >= Some(DEFAULT_RESEMBLANCE));
        assert!(found(&mail(2), &weighted) < Some(DEFAULT_RESEMBLANCE));
        assert!(found(&format!("{}!", mail(1).to_uppercase()), &weighted) >= Some(DEFAULT_RESEMBLANCE));
    }

    #[test]
    fn weights_of_a_table_are_bounded() {
        let weights = |word: fn(usize) -> String| {
            let common: String = (0..500).map(word).collect();
            let sample = sample((0..20).map(|n| format!("{n} {common}")), TABLE_SAMPLE);
            let json = sample.learn_table(&Options::default(), &|| ()).expect("memory suffices");
            let map: serde_json::Map<_, _> = serde_json::from_str(&json).expect("JSON");
            (map.len(), json.len())
        };
        let (short, _) = weights(|n| format!("w{n} "));
        let (long, bytes) = weights(|n| format!("{n}{} ", "w".repeat(1000)));
        assert_eq!((short, long), (MAX_TABLE_WEIGHTS, 15));
        assert!(bytes <= MAX_TABLE_WEIGHT_BYTES, "{bytes}");
        assert_eq!(TextSample::new(9).learn_table(&Options::default(), &|| ()), Ok("{}".to_owned()));
        assert_eq!(TextSample::new(9).mostly_common_share(&Options::default(), &|| ()), Ok(0.0));
    }
}
