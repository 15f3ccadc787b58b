//! The text of an HTML document, without its markup.
//!
//! html5gum cuts the document into tokens by the rules of the WHATWG standard (section 13.2.5). No tree is built, so
//! elements that are not nested right keep their texts in the order of the document. The tags of an element that is
//! a box of its own separate words, and so does a line break; other tags do not.

use std::collections::TryReserveError;
use std::hint::black_box;

use html5gum::{Emitter, Readable, Reader, State, Tokenizer};

use crate::error::{Error, MAX_BYTES};
use crate::ticking::BYTES;

/// Overwrites `out` with the text of an HTML document: character references are decoded, and what a browser does not
/// show of an element is left out. See [`Contents`].
///
/// One pass. `tick` is called every 64 kB.
pub fn text_of_html(html: &str, out: &mut String, tick: &impl Fn()) -> Result<(), Error> {
    let mut text = std::mem::take(out).into_bytes();
    text.clear();
    let source = Source { rest: html.as_bytes(), next_tick: html.len(), single: 0, tick };
    let mut tokenizer = Tokenizer::new_with_emitter(source, Text::new(&mut text));
    // All that the emitter returns are errors.
    if let Some(Ok(error) | Err(error)) = tokenizer.next() {
        return Err(error);
    }
    drop(tokenizer);
    *out = String::from_utf8(text).unwrap_or_else(|_| unreachable!("html5gum passes on all bytes of a character"));
    Ok(())
}

/// The document as html5gum reads it: in pieces, with ticks between them.
struct Source<'a, T> {
    rest: &'a [u8],
    /// Bytes that are left when the next tick is due.
    next_tick: usize,
    /// Bytes that have been read one by one since the last piece.
    single: usize,
    tick: &'a T,
}

/// Below this many bytes, skip the trial allocation: if the allocator cannot provide that, nothing else can go on.
const FEW_BYTES: usize = 256;

impl<T: Fn()> Source<'_, T> {
    #[inline(always)]
    fn skip(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
        if self.rest.len() < self.next_tick {
            self.next_tick = self.rest.len().saturating_sub(BYTES);
            (self.tick)();
        }
    }
}

impl<T: Fn()> Reader for Source<'_, T> {
    type Error = Error;

    #[inline(always)]
    fn read_byte(&mut self) -> Result<Option<u8>, Error> {
        let Some(byte) = self.rest.first().copied() else { return Ok(None) };
        self.skip(1);
        self.single += 1;
        if self.single >= FEW_BYTES && self.single.is_power_of_two() {
            reserve_for_name(self.single)?;
        }
        Ok(Some(byte))
    }

    #[inline(always)]
    fn try_read_string(&mut self, string: &[u8], case_sensitive: bool) -> Result<bool, Error> {
        let Ok(is_next) = self.rest.to_reader().try_read_string(string, case_sensitive);
        if is_next {
            self.skip(string.len());
        }
        Ok(is_next)
    }

    #[inline(always)]
    fn read_until<'b>(&'b mut self, needle: &[u8], buffer: &'b mut [u8; 4]) -> Result<Option<&'b [u8]>, Error> {
        let ahead = &self.rest[..self.rest.len().min(BYTES)];
        let Ok(length) = ahead.to_reader().read_until(needle, buffer).map(|piece| piece.map(<[u8]>::len));
        self.skip(length.unwrap_or_default());
        self.single = 0;
        Ok(length.map(|length| &ahead[..length]))
    }
}

/// Fails if the memory is not available that html5gum needs for a name of up to twice as many bytes.
///
/// Where a script may end, html5gum collects the name of the tag in a vector that doubles as it grows. If that memory
/// is refused, the process ends. So this allocates the same amount and frees it, which leaves it to html5gum.
#[cold]
fn reserve_for_name(bytes: usize) -> Result<(), TryReserveError> {
    let mut name = Vec::<u8>::new();
    name.try_reserve_exact(4 * bytes)?;
    // Without this, the compiler removes the allocation as unused.
    black_box(name);
    Ok(())
}

/// Bytes of the longest name of an element that matters: blockquote.
const LONGEST_NAME: usize = 10;

/// The name of an element, in small letters; 0 bytes follow a shorter name. A longer one is cut, which makes it none of
/// those that matter.
type Name = [u8; LONGEST_NAME + 1];

/// Collects the text of a document. html5gum tells it what it reads.
struct Text<'a> {
    out: &'a mut Vec<u8>,
    tag: Tag,
    /// The element of the last start tag: the tokenizer asks whether an end tag belongs to it.
    last_start: Name,
    /// Whether the tokenizer is in a script, or another element whose content is neither shown nor markup.
    is_hidden: bool,
    /// Elements `template` that are open.
    templates: usize,
    /// Elements `svg` and `math` that are open.
    foreign: usize,
    failure: Option<Error>,
}

/// The tag that is being read.
#[derive(Default)]
struct Tag {
    name: Name,
    length: usize,
    is_end: bool,
    is_self_closing: bool,
}

/// What an element contains.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Contents {
    /// Text and elements.
    Elements,
    /// Text without elements, which is shown: the title and the like. The state says how it is read.
    Shown(State),
    /// Text without elements, which is not shown. (`noscript` is such an element where scripts run.)
    Hidden(State),
}

fn contents(element: &[u8]) -> Contents {
    match element {
        b"title" | b"textarea" => Contents::Shown(State::RcData),
        b"xmp" => Contents::Shown(State::RawText),
        b"plaintext" => Contents::Shown(State::PlainText),
        b"script" => Contents::Hidden(State::ScriptData),
        b"style" | b"iframe" | b"noembed" | b"noframes" | b"noscript" => Contents::Hidden(State::RawText),
        _ => Contents::Elements,
    }
}

/// Whether the tags of an element separate words: `br`, and all elements that are not inline by the style sheet of the
/// standard (section 15.3); and `text`, a piece of text in SVG.
fn separates(element: &[u8]) -> bool {
    matches!(
        element,
        b"address" | b"article" | b"aside" | b"blockquote" | b"body" | b"br" | b"button" | b"caption" | b"center"
            | b"col" | b"colgroup" | b"dd" | b"details" | b"dialog" | b"dir" | b"div" | b"dl" | b"dt" | b"fieldset"
            | b"figcaption" | b"figure" | b"footer" | b"form" | b"frameset" | b"h1" | b"h2" | b"h3" | b"h4" | b"h5"
            | b"h6" | b"head" | b"header" | b"hgroup" | b"hr" | b"html" | b"input" | b"legend" | b"li" | b"listing"
            | b"main" | b"marquee" | b"menu" | b"meter" | b"nav" | b"ol" | b"optgroup" | b"option" | b"p"
            | b"plaintext" | b"pre" | b"progress" | b"search" | b"section" | b"select" | b"summary" | b"table"
            | b"tbody" | b"td" | b"text" | b"textarea" | b"tfoot" | b"th" | b"thead" | b"title" | b"tr" | b"ul"
            | b"xmp"
    )
}

impl<'a> Text<'a> {
    fn new(out: &'a mut Vec<u8>) -> Self {
        let (tag, last_start) = (Tag::default(), Name::default());
        Self { out, tag, last_start, is_hidden: false, templates: 0, foreign: 0, failure: None }
    }

    #[inline(always)]
    fn push(&mut self, text: &[u8]) {
        if self.out.len() + text.len() > MAX_BYTES {
            self.failure = Some(Error::NormalFormTooLong);
        } else if let Err(error) = self.out.try_reserve(text.len()) {
            self.failure = Some(error.into());
        } else {
            self.out.extend_from_slice(text);
        }
    }
}

impl Tag {
    fn element(&self) -> &[u8] {
        &self.name[..self.length]
    }
}

impl Emitter for Text<'_> {
    type Token = Error;

    #[inline(always)]
    fn pop_token(&mut self) -> Option<Error> {
        self.failure.take()
    }

    #[inline(always)]
    fn emit_string(&mut self, text: &[u8]) {
        if !self.is_hidden && self.templates == 0 {
            self.push(text);
        }
    }

    #[inline(always)]
    fn init_start_tag(&mut self) {
        self.tag = Tag::default();
    }

    #[inline(always)]
    fn init_end_tag(&mut self) {
        self.tag = Tag { is_end: true, ..Tag::default() };
    }

    #[inline(always)]
    fn push_tag_name(&mut self, name: &[u8]) {
        for byte in name.iter().take(self.tag.name.len() - self.tag.length) {
            self.tag.name[self.tag.length] = *byte;
            self.tag.length += 1;
        }
    }

    fn set_self_closing(&mut self) {
        self.tag.is_self_closing = true;
    }

    /// Returns how the tokenizer must read the content of an element that has no elements.
    fn emit_current_tag(&mut self) -> Option<State> {
        let element = self.tag.element();
        let (separates, contents) = (separates(element), contents(element));
        let (is_template, is_foreign) = (element == b"template", matches!(element, b"svg" | b"math"));
        // In a script, the only tag is its end tag.
        self.is_hidden = false;
        if separates {
            self.push(b"\n");
        }
        if self.tag.is_end {
            self.templates -= usize::from(is_template && self.templates > 0);
            self.foreign -= usize::from(is_foreign && self.foreign > 0);
            return None;
        }
        self.last_start = self.tag.name;
        self.templates += usize::from(is_template);
        // HTML knows no self-closing elements, but SVG and MathML do.
        if self.tag.is_self_closing && (is_foreign || self.foreign > 0) {
            return None;
        }
        self.foreign += usize::from(is_foreign);
        self.is_hidden = matches!(contents, Contents::Hidden(_));
        match contents {
            Contents::Elements => None,
            Contents::Shown(state) | Contents::Hidden(state) => Some(state),
        }
    }

    #[inline(always)]
    fn current_is_appropriate_end_tag_token(&mut self) -> bool {
        self.tag.is_end && self.tag.name == self.last_start
    }

    #[inline(always)]
    fn should_emit_errors(&mut self) -> bool {
        false
    }

    // What follows is no text.
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
    fn init_attribute(&mut self) {}
    fn push_attribute_name(&mut self, _: &[u8]) {}
    fn push_attribute_value(&mut self, _: &[u8]) {}
}
