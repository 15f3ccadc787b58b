//! Headlines: a text in which the matches with a clue are marked, or the parts around the longest of them.

use std::cmp::Reverse;
use std::iter;
use std::ops::Range;

use super::fingerprinter::Fingerprinter;
use super::matches::{MAX_CHANGED, Match, NormalForm, Unit, join, shared_runs};
use super::options::Options;
use crate::error::{Error, MAX_VALUE_BYTES, Result};
use crate::memory::push;

/// How a headline looks, with the parameters of `ts_headline`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Style {
    /// What stands before a match, and after it.
    pub start_sel: String,
    pub stop_sel: String,
    /// The most fragments; 0 for all of the text.
    pub max_fragments: usize,
    /// The most words of a fragment, or letters of scripts without spaces.
    pub max_words: usize,
    pub fragment_delimiter: String,
}

impl Default for Style {
    fn default() -> Self {
        Self {
            start_sel: "<b>".to_owned(),
            stop_sel: "</b>".to_owned(),
            max_fragments: 0,
            max_words: 35,
            fragment_delimiter: " ... ".to_owned(),
        }
    }
}

/// The text with its [matches](super::matches) marked. Fragments are the surroundings of the longest matches, in the
/// order of the text; without a match, the begin of the text. Nothing is escaped.
pub fn headline(
    fingerprinter: &mut Fingerprinter,
    content: &str,
    clue: &str,
    style: &Style,
    options: &Options,
    tick: &dyn Fn(),
) -> Result<String> {
    let shared = shared_runs(fingerprinter, content, clue, options, tick)?;
    let mut found = join(shared.tiles, MAX_CHANGED, tick)?;
    let mut fragments = fragments(&found, shared.content, style)?;
    let normal = NormalForm::new(content, options, tick)?;
    normal.place(Unit::Bytes, found.iter_mut().map(|found| &mut found.content), tick)?;
    if style.max_fragments == 0 {
        fragments = iter::once(0..content.len()).collect();
    } else {
        normal.place(Unit::Bytes, fragments.iter_mut(), tick)?;
    }
    let (mut headline, mut marks) = (Headline(String::new()), found.iter().peekable());
    for (number, Range { mut start, end }) in fragments.into_iter().enumerate() {
        if number > 0 {
            headline.push(&style.fragment_delimiter)?;
        }
        while let Some(Match { content: mark, .. }) = marks.next_if(|found| found.content.start < end) {
            // Two matches may have parts of one character.
            let mark = mark.start.max(start)..mark.end.min(end);
            if !mark.is_empty() {
                let parts = [&content[start..mark.start], &style.start_sel, &content[mark.clone()], &style.stop_sel];
                parts.into_iter().try_for_each(|part| headline.push(part))?;
                start = mark.end;
            }
            tick();
        }
        headline.push(&content[start..end])?;
    }
    Ok(headline.0)
}

/// The surroundings of the longest matches, as numbers of tokens.
fn fragments(found: &[Match], tokens: usize, style: &Style) -> Result<Vec<Range<usize>>> {
    let mut longest = Vec::new();
    for found in found {
        push(&mut longest, found)?;
    }
    longest.sort_unstable_by_key(|found| (Reverse(found.words), found.content.start));
    longest.truncate(style.max_fragments);
    longest.sort_unstable_by_key(|found| found.content.start);
    let mut fragments: Vec<Range<usize>> = Vec::new();
    for found in longest {
        let Range { start, end } = found.content;
        let around = style.max_words.saturating_sub(end - start) / 2;
        let most = start.saturating_add(style.max_words);
        let fragment = start.saturating_sub(around)..end.saturating_add(around).min(most).min(tokens);
        match fragments.last_mut() {
            Some(last) if fragment.start <= last.end => last.end = last.end.max(fragment.end),
            _ => push(&mut fragments, fragment)?,
        }
    }
    if fragments.is_empty() && tokens > 0 {
        push(&mut fragments, 0..tokens.min(style.max_words))?;
    }
    Ok(fragments)
}

struct Headline(String);

impl Headline {
    fn push(&mut self, text: &str) -> Result<()> {
        if self.0.len() + text.len() > MAX_VALUE_BYTES {
            return Err(Error::HeadlineTooLong);
        }
        self.0.try_reserve(text.len())?;
        self.0.push_str(text);
        Ok(())
    }
}
