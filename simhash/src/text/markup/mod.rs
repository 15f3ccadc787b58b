//! The text of an HTML document, without its markup.
//!
//! html5gum cuts the document into tokens by the rules of the WHATWG standard (section 13.2.5). No tree is built, so
//! elements that are not nested right keep their texts in the order of the document. The tags of an element that is
//! a box of its own separate words, and so does `br`; other tags do not.
//!
//! [`source`] passes the document to html5gum, [`elements`] says what each element means for the text, and [`page`]
//! what a page is about.

mod elements;
mod page;
mod source;

use std::cell::Cell;

use html5gum::{Emitter, State, Tokenizer};

use super::places::{Edits, Places};
use crate::error::{Error, MAX_VALUE_BYTES, Result};
use crate::random::GOLDEN_RATIO;
use elements::Element;
pub use page::Page;
use source::{HtmlSource, SEPARATOR};

/// Overwrites `out` with the text of an HTML document. Character references are decoded. Comments, attributes, and the
/// contents of scripts, styles, templates and similar elements are not text; see [`Element`].
///
/// Reads the document once. `tick` is called every 64 kB. Takes memory for the text alone.
pub fn text_of_html(html: &str, out: &mut String, tick: &dyn Fn()) -> Result<()> {
    text_with_places(html, None, out, None, tick)
}

/// Overwrites `out` with the main content of an HTML page: see [`page`]. Reads the page a second time if it has none.
/// Takes 16 bytes more than [`text_of_html`] for each article, and more time, because html5gum reads all tags.
pub fn text_of_main(html: &str, out: &mut String, tick: &dyn Fn()) -> Result<()> {
    text_with_places(html, Some(Page::default()), out, None, tick)
}

/// Does what [`text_of_html`] does or, with a page, [`text_of_main`]. Adds its steps to `places`, which has none yet.
pub fn text_with_places(
    html: &str,
    mut page: Option<Page>,
    out: &mut String,
    mut places: Option<&mut Places>,
    tick: &dyn Fn(),
) -> Result<()> {
    let edits = places.as_deref_mut().map(Places::begin_step).transpose()?;
    let mut text = read(html, page.as_mut(), out, edits, tick)?;
    let has_text = page.map(|page| page.end(&mut text, places.as_deref_mut())).transpose()?.unwrap_or(true);
    *out = String::from_utf8(text).unwrap_or_else(|_| unreachable!("html5gum passes on all bytes of a character"));
    if has_text {
        return Ok(());
    }
    if let Some(places) = &mut places {
        places.clear();
    }
    text_with_places(html, None, out, places, tick)
}

/// The text of a document, in the memory of `out`.
fn read(
    html: &str,
    page: Option<&mut Page>,
    out: &mut String,
    edits: Option<&mut Edits>,
    tick: &dyn Fn(),
) -> Result<Vec<u8>> {
    let mut text = std::mem::take(out).into_bytes();
    text.clear();
    let (skips_tags, skipped) = (Cell::new(page.is_none()), Cell::new(0));
    let sources = edits.map(|edits| Sources { html: html.as_bytes(), edits, read: 0, skipped: &skipped, end: 0 });
    let emitter = TextEmitter {
        out: &mut text,
        sources,
        page,
        skips_tags: &skips_tags,
        tag: Tag::default(),
        last_start: Tag::default(),
        is_hidden: false,
        templates: 0,
        foreign: 0,
        failure: None,
    };
    let mut tokenizer = Tokenizer::new_with_emitter(HtmlSource::new(html, &skips_tags, &skipped, tick), emitter);
    // The emitter's only tokens are errors.
    if let Some(Ok(error) | Err(error)) = tokenizer.next() {
        return Err(error);
    }
    drop(tokenizer);
    Ok(text)
}

/// Finds where the text stands in the document.
struct Sources<'a> {
    html: &'a [u8],
    edits: &'a mut Edits,
    /// Bytes that html5gum has read, up to the end of the text that it passes on.
    read: usize,
    /// Bytes that html5gum has not read, because they were skipped.
    skipped: &'a Cell<usize>,
    /// Where the last text that was passed on ends in the document.
    end: usize,
}

impl Sources<'_> {
    /// Forgets the text so far: it does not count.
    fn clear(&mut self) {
        self.edits.clear();
        self.end = 0;
    }

    /// Adds a piece of text, which begins at offset `new` of the text without markup.
    fn push(&mut self, text: &[u8], new: usize) -> Result<()> {
        let end = self.html.len().min(self.read + self.skipped.get());
        let passed_on = self.end.min(end);
        let last = |byte: u8| self.html[passed_on..end].iter().rposition(|found| *found == byte);
        let start_of = |byte: u8| last(byte).map_or(end, |offset| passed_on + offset);
        let (start, end) = match text {
            _ if self.html[..end].ends_with(text) => (end - text.len(), end),
            // A separator, or U+FFFD, is not in the document.
            b"\n" | SEPARATOR | b"\xef\xbf\xbd" => (end, end),
            // html5gum has also read the name after `</`, and passes it on next.
            b"</" => (start_of(b'<'), self.html.len().min(start_of(b'<') + text.len())),
            // A character reference.
            _ => (start_of(b'&'), end),
        };
        let is_copied = &self.html[start..end] == text;
        if start > self.end {
            self.edits.push(self.end..start, new..new)?;
        }
        if !is_copied {
            self.edits.push(start..end, new..new + text.len())?;
        }
        self.end = end;
        Ok(())
    }
}

/// Collects the text of a document. html5gum calls it for each token.
struct TextEmitter<'a> {
    out: &'a mut Vec<u8>,
    sources: Option<Sources<'a>>,
    /// None if all of the text counts.
    page: Option<&'a mut Page>,
    /// Whether plain tags may be skipped where the tokenizer is: they are markup, and all of the text counts.
    skips_tags: &'a Cell<bool>,
    tag: Tag,
    /// The last start tag: the tokenizer asks whether an end tag belongs to it.
    last_start: Tag,
    /// Whether the tokenizer is in a script, or another element whose content is neither shown nor markup.
    is_hidden: bool,
    /// Elements `template` that are open.
    templates: usize,
    /// Elements `svg` and `math` that are open.
    foreign: usize,
    failure: Option<Error>,
}

/// Bytes of a name that are stored: one more than the longest name that [`Element::of`] knows has, so that no longer
/// name is cut to it.
const MAX_NAME_BYTES: usize = 11;

#[derive(Clone, Copy, Default)]
struct Tag {
    /// The name, in small letters, which may be cut.
    name: [u8; MAX_NAME_BYTES],
    length: usize,
    /// A hash of what is cut off, so that long names, as of custom elements, are told apart.
    rest: u64,
    is_end: bool,
    is_self_closing: bool,
}

impl Tag {
    fn name(&self) -> &[u8] {
        &self.name[..self.length]
    }

    fn has_name_of(&self, other: &Self) -> bool {
        self.name() == other.name() && self.rest == other.rest
    }
}

impl TextEmitter<'_> {
    #[inline(always)]
    fn push(&mut self, text: &[u8]) {
        if self.out.len() + text.len() > MAX_VALUE_BYTES {
            self.failure = Some(Error::NormalFormTooLong);
        } else if let Err(error) = self.out.try_reserve(text.len()) {
            self.failure = Some(error.into());
        } else {
            if let Some(Err(error)) = self.sources.as_mut().map(|sources| sources.push(text, self.out.len())) {
                self.failure = Some(error);
            }
            self.out.extend_from_slice(text);
        }
    }
}

impl Emitter for TextEmitter<'_> {
    type Token = Error;

    #[inline(always)]
    fn pop_token(&mut self) -> Option<Error> {
        self.failure.take()
    }

    #[inline(always)]
    fn emit_string(&mut self, text: &[u8]) {
        if !self.is_hidden && self.templates == 0 && self.page.as_ref().is_none_or(|page| !page.is_silent()) {
            self.push(text);
        }
    }

    #[inline(always)]
    fn move_position(&mut self, offset: isize) {
        if let Some(sources) = &mut self.sources {
            sources.read = sources.read.saturating_add_signed(offset);
        }
    }

    #[inline(always)]
    fn init_start_tag(&mut self) {
        self.tag = Tag::default();
        if let Some(page) = &mut self.page {
            page.start_tag();
        }
    }

    #[inline(always)]
    fn init_end_tag(&mut self) {
        self.tag = Tag { is_end: true, ..Tag::default() };
    }

    #[inline(always)]
    fn push_tag_name(&mut self, name: &[u8]) {
        for &letter in name {
            if let Some(free) = self.tag.name.get_mut(self.tag.length) {
                *free = letter;
                self.tag.length += 1;
            } else {
                self.tag.rest = (self.tag.rest.rotate_left(5) ^ u64::from(letter)).wrapping_mul(GOLDEN_RATIO);
            }
        }
    }

    fn set_self_closing(&mut self) {
        self.tag.is_self_closing = true;
    }

    /// Returns the state in which the tokenizer must read what the element contains.
    fn emit_current_tag(&mut self) -> Option<State> {
        let element = Element::of(self.tag.name());
        // Where tags are not markup, html5gum finds only the end tag of the element. After it, they are markup again.
        self.is_hidden = false;
        self.skips_tags.set(self.page.is_none());
        if matches!(element, Element::Box | Element::Text(_)) {
            self.emit_string(SEPARATOR);
        }
        // In HTML, no element ends with its start tag, whatever the tag says. In an end tag, the `/` means nothing.
        let is_foreign = element == Element::Foreign || self.foreign > 0;
        let is_empty = self.tag.is_self_closing && !self.tag.is_end && is_foreign;
        if let Some(page) = &mut self.page
            && self.templates == 0
            && let Err(error) = page.read_tag(&self.tag, is_empty, self.out)
        {
            self.failure = Some(error);
        }
        if let Some(sources) = &mut self.sources
            && self.out.is_empty()
        {
            sources.clear();
        }
        if self.tag.is_end {
            self.templates -= usize::from(element == Element::Template && self.templates > 0);
            self.foreign -= usize::from(element == Element::Foreign && self.foreign > 0);
            return None;
        }
        self.last_start = self.tag;
        self.templates += usize::from(element == Element::Template);
        if is_empty {
            return None;
        }
        self.foreign += usize::from(element == Element::Foreign);
        self.is_hidden = matches!(element, Element::Hidden(_));
        let (Element::Text(state) | Element::Hidden(state)) = element else { return None };
        self.skips_tags.set(false);
        Some(state)
    }

    fn init_attribute(&mut self) {
        if let Some(page) = &mut self.page {
            page.start_attribute();
        }
    }

    fn push_attribute_name(&mut self, name: &[u8]) {
        if let Some(page) = &mut self.page {
            page.attribute.name.extend(name);
        }
    }

    fn push_attribute_value(&mut self, value: &[u8]) {
        if let Some(page) = &mut self.page {
            page.attribute.value.extend(value);
        }
    }

    #[inline(always)]
    fn current_is_appropriate_end_tag_token(&mut self) -> bool {
        self.tag.is_end && self.tag.has_name_of(&self.last_start)
    }

    #[inline(always)]
    fn should_emit_errors(&mut self) -> bool {
        false
    }

    // The other tokens are not text.
    fn set_last_start_tag(&mut self, _: Option<&[u8]>) {}
    fn emit_eof(&mut self) {}
    fn emit_error(&mut self, _: html5gum::Error) {}
    fn init_comment(&mut self) {}
    fn emit_current_comment(&mut self) {}
    fn push_comment(&mut self, _: &[u8]) {}
    fn init_doctype(&mut self) {}
    fn emit_current_doctype(&mut self) {}
    fn set_force_quirks(&mut self) {}
    fn push_doctype_name(&mut self, _: &[u8]) {}
    fn set_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn set_doctype_system_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_system_identifier(&mut self, _: &[u8]) {}
}
