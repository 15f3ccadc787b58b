//! Words of scripts that are written without spaces, found by ICU4X's dictionaries (Chinese and Japanese, Thai, Lao,
//! Khmer, Burmese): the longest word that starts where the last one ends, and a letter by itself where no word starts.
//! Katakana stays together.
//!
//! ICU4X collects the words of a stretch before it returns the first one, in memory whose allocation it does not check,
//! and cannot be cancelled. So it gets a window of the stretch at a time. The next window starts at the last word that
//! ends well before the end of this one: since words are found from left to right, the words are those of the whole
//! stretch.

use std::collections::TryReserveError;
use std::ops::Range;

use icu_segmenter::options::WordBreakInvariantOptions;
use icu_segmenter::{WordSegmenter, WordSegmenterBorrowed};

use super::classes::{SPACELESS, kind};
use super::utf8::decode;
use crate::error::Error;
use crate::memory::check_available;

/// Bytes of a stretch that ICU4X gets at a time. A longer word is cut.
const WINDOW_BYTES: usize = 8 * 1024;
/// A word that ends within so many bytes of a window's end may depend on what follows. The longest words of the
/// dictionaries take a few dozen letters.
const MARGIN_BYTES: usize = 1024;

/// Finds words by ICU4X's dictionaries.
pub struct Dictionary {
    segmenter: WordSegmenterBorrowed<'static>,
    window: usize,
    margin: usize,
}

/// The dictionaries that are compiled in. Cheap: they are in the library's read-only pages.
impl Default for Dictionary {
    fn default() -> Self {
        Self::with_windows(WINDOW_BYTES, MARGIN_BYTES)
    }
}

impl Dictionary {
    fn with_windows(window: usize, margin: usize) -> Self {
        Self { segmenter: WordSegmenter::new_dictionary(WordBreakInvariantOptions::default()), window, margin }
    }

    /// Calls `word` with each word of a stretch of spaceless tokens that stand next to each other, in order. Words
    /// consist of whole tokens. `tick` is called for each window, of a few kilobytes.
    pub fn each_word(
        &self,
        text: &str,
        stretch: Range<usize>,
        tick: &dyn Fn(),
        mut word: impl FnMut(Range<usize>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut start = stretch.start;
        while start < stretch.end {
            tick();
            let end = stretch.end.min(text.floor_char_boundary(start.saturating_add(self.window)));
            let certain = if end == stretch.end { end } else { end - self.margin };
            reserve_for_words(end - start)?;
            let window = start;
            for found in self.segmenter.segment_str(&text[window..end]) {
                let found = window + found;
                if found > certain {
                    break;
                }
                if found > start && starts_token(text, found, stretch.end) {
                    word(start..found)?;
                    start = found;
                }
            }
            if start == window {
                let cut = last_token_start(text, window, certain, stretch.end);
                word(start..cut)?;
                start = cut;
            }
        }
        Ok(())
    }
}

/// Whether a token starts at `at`, or the stretch ends there.
fn starts_token(text: &str, at: usize, end: usize) -> bool {
    at == end || kind(decode(text.as_bytes(), at).0) == SPACELESS
}

/// The last offset after `start` and up to `certain` where a token starts; if there is none, the next one.
fn last_token_start(text: &str, start: usize, certain: usize, end: usize) -> usize {
    let is_start = |at: &usize| text.is_char_boundary(*at) && starts_token(text, *at, end);
    (start + 1..=certain).rev().find(is_start).or_else(|| (certain + 1..end).find(is_start)).unwrap_or(end)
}

/// Fails if the memory that ICU4X needs for the words of so many bytes is not available: eight bytes for each, in a
/// vector that doubles as it grows. If that memory were refused to ICU4X, the process would end.
fn reserve_for_words(bytes: usize) -> Result<(), TryReserveError> {
    check_available(bytes.next_power_of_two() * size_of::<usize>())
}

#[cfg(test)]
mod tests {
    use icu_segmenter::WordSegmenter;
    use icu_segmenter::options::WordBreakInvariantOptions;

    use super::{Dictionary, starts_token};
    use crate::random::Random;

    const PIECES: &str = "中华人民共和国 第一条为了 数据库 的 龘 人民法院 こんにちは 世界 エディタ ー です สวัสดี ประเทศไทย \
        ก\u{e48} ພາສາລາວ ភាសាខ្មែរ ស្ត မြန်မာစာ က 𠮷か\u{3099}";

    #[test]
    fn windows_change_no_words() {
        let (mut random, pieces) = (Random(0), PIECES.split(' ').collect::<Vec<_>>());
        let whole = WordSegmenter::new_dictionary(WordBreakInvariantOptions::default());
        for _ in 0..300 {
            // One stretch.
            let text: String = (0..60).map(|_| *random.one_of(&pieces)).collect();
            // ICU4X may cut between a letter and a mark, which no token does.
            let ends = whole.segment_str(&text).skip(1).filter(|end| starts_token(&text, *end, text.len()));
            let expected: Vec<usize> = ends.collect();
            for windows in [(150, 110), (200, 120), (400, 200), (8192, 1024)] {
                let mut ends = Vec::new();
                let word = |word: std::ops::Range<usize>| {
                    ends.push(word.end);
                    Ok(())
                };
                let dictionary = Dictionary::with_windows(windows.0, windows.1);
                dictionary.each_word(&text, 0..text.len(), &|| (), word).expect("memory suffices");
                assert_eq!(ends, expected, "{windows:?} {text}");
            }
        }
    }
}
