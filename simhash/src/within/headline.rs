//! Headlines: a text in which the matches with a clue are marked, or the parts around the longest of them.

use std::iter;
use std::ops::Range;

use super::matches::{MAX_CHANGED, Match, NormalForm, Unit, find_shared_runs};
use crate::error::{Error, MAX_VALUE_BYTES, Result};
use crate::fingerprint::Fingerprinter;
use crate::memory::{collect_exact, push, repeated};
use crate::ticking::sort;

/// How a headline looks, with the parameters of `ts_headline`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Style {
    /// The strings before and after a match.
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
/// order of the text; without a match, the beginning of the text. Nothing is escaped.
pub fn headline(fingerprinter: &mut Fingerprinter, content: &str, clue: &str, style: &Style) -> Result<String> {
    let (options, tick) = (fingerprinter.options, fingerprinter.tick);
    let shared = find_shared_runs(fingerprinter, content, clue, MAX_CHANGED)?;
    let mut matches = shared.matches;
    let normal = NormalForm::new(content, options, tick)?;
    let fragments = if style.max_fragments == 0 {
        iter::once(0..content.len() as u32).collect()
    } else {
        let mut fragments = choose_fragments(&matches, shared.content_tokens, style, tick)?;
        normal.place(Unit::Bytes, fragments.iter_mut(), tick)?;
        // Two fragments may have parts of one character.
        fragments.dedup_by(|next, last| {
            let touches = next.start <= last.end;
            if touches {
                last.end = next.end;
            }
            touches
        });
        fragments
    };
    normal.place(Unit::Bytes, matches.iter_mut().map(|Match { content, .. }| content), tick)?;
    let (mut headline, mut matches_left) = (String::new(), matches.iter().peekable());
    for (number, Range { mut start, end }) in fragments.into_iter().enumerate() {
        if number > 0 {
            append(&mut headline, &style.fragment_delimiter)?;
        }
        let part = |start, end| &content[start as usize..end as usize];
        while let Some(Match { content: place, .. }) = matches_left.peek().filter(|next| next.content.start < end) {
            let ends_here = place.end <= end;
            // Two matches may have parts of one character.
            let shown = place.start.max(start)..place.end.min(end);
            if !shown.is_empty() {
                let parts = [part(start, shown.start), &style.start_sel, part(shown.start, shown.end), &style.stop_sel];
                parts.into_iter().try_for_each(|part| append(&mut headline, part))?;
                start = shown.end;
            }
            tick();
            if !ends_here {
                break;
            }
            matches_left.next();
        }
        append(&mut headline, part(start, end))?;
    }
    Ok(headline)
}

/// The surroundings of the longest matches, as numbers of tokens. As in `ts_headline`, a match within the surroundings
/// of a longer one has none of its own, and surroundings that touch are one fragment.
fn choose_fragments(matches: &[Match], tokens: usize, style: &Style, tick: &dyn Fn()) -> Result<Vec<Range<u32>>> {
    let mut longest = collect_exact(matches.len(), matches)?;
    // A text has no more words than bytes, so a number of words and a place take 32 bits each.
    let key = |found: &&Match| u64::from(!found.words) << 32 | u64::from(found.content.start);
    sort(&mut longest, &key, u64::BITS, tick);
    let mut is_shown = repeated(tokens, false, tick)?;
    let mut shown = 0;
    for Match { content, .. } in longest {
        let (start, end) = (content.start as usize, content.end as usize);
        if shown < style.max_fragments && !is_shown[start..end].contains(&true) {
            let around = style.max_words.saturating_sub(end - start) / 2;
            let max_end = start.saturating_add(style.max_words).min(tokens);
            is_shown[start.saturating_sub(around)..end.saturating_add(around).min(max_end)].fill(true);
            shown += 1;
        }
    }
    if shown == 0 {
        is_shown[..tokens.min(style.max_words)].fill(true);
    }
    let (mut fragments, mut start) = (Vec::new(), 0);
    for part in is_shown.chunk_by(|token, next| token == next) {
        let end = start + part.len() as u32;
        if part[0] {
            push(&mut fragments, start..end)?;
        }
        start = end;
    }
    Ok(fragments)
}

fn append(headline: &mut String, text: &str) -> Result<()> {
    if headline.len() + text.len() > MAX_VALUE_BYTES {
        return Err(Error::HeadlineTooLong);
    }
    headline.try_reserve(text.len())?;
    headline.push_str(text);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Fingerprinter, Style, headline};
    use crate::fingerprint::Scratch;
    use crate::fingerprint::options::{Options, Tokens};

    #[test]
    fn a_match_in_two_fragments_is_marked_in_both() {
        let style = Style { max_fragments: 2, max_words: 7, ..Style::default() };
        let (content, clue) = ("a b c d e f g h i by x y z", "x y z or a b c d e f g h i");
        let (mut scratch, options) = (Scratch::default(), Options::default());
        let marked = headline(&mut Fingerprinter::new(&mut scratch, &options, &|| ()), content, clue, &style);
        assert_eq!(marked.as_deref(), Ok("<b>a b c d e f g</b> ... <b>i</b> by <b>x y z</b>"));
    }

    #[test]
    fn a_character_in_two_fragments_is_shown_once() {
        let style = Style { max_fragments: 2, max_words: 7, ..Style::default() };
        let options = Options { tokens: Tokens::Chars, ..Options::default() };
        let (content, clue) = ("\u{fdfa} jumps over", "\u{fdfa} zzzz jumps");
        let mut scratch = Scratch::default();
        let marked = headline(&mut Fingerprinter::new(&mut scratch, &options, &|| ()), content, clue, &style);
        assert_eq!(marked.as_deref(), Ok("<b>\u{fdfa}</b> <b>jumps</b> o"));
    }
}
