//! The main content of an HTML page, without its template's parts.
//!
//! 1. Dropped wherever they stand: `nav`, `aside`, `title`, the controls and labels of forms (not `form` itself, which
//!    may be around all of a page), elements with `hidden` or `aria-hidden="true"`, and those with one of ARIA's
//!    [`SITE_ROLES`]; `div` and `td` whose id or class is one of [`SITE_NAMES`]. `header` and `footer` are dropped
//!    unless they are in `article`, `section`, `main` or `blockquote`.
//! 2. If there is `main`, or an element with this role, only its text counts.
//! 3. Otherwise, if `article` elements have at least half of the text, only they count. Fewer may be quotations or a
//!    list of other pages.
//! 4. If nothing is left, or a dropped element does not end, all of the text counts, as with `"html"`.
//!
//! No tree is built. An element ends with the end tag after which as many elements of its name are open as before it
//! began; one whose end tag may be omitted also ends where the next one of its name starts.

use std::ops::Range;

use super::Tag;
use crate::error::Result;
use crate::memory::push;
use crate::text::places::Places;

/// Ids and classes that generators give to the elements around the text: Asciidoctor, DocBook, and Hexo for the numbers
/// of lines. Ids of sections and headings are not in this list: docutils makes them from titles.
const SITE_NAMES: [&str; 5] = ["toc", "footer", "navheader", "navfooter", "gutter"];
/// The roles of parts of a site.
const SITE_ROLES: [&str; 5] = ["navigation", "complementary", "banner", "contentinfo", "search"];
/// Elements that have no end tag.
const VOID: [&[u8]; 13] =
    [b"area", b"base", b"br", b"col", b"embed", b"hr", b"img", b"input", b"link", b"meta", b"source", b"track", b"wbr"];

/// The state of reading a page.
#[derive(Default)]
pub struct Page {
    /// The last attribute of the tag that is being read, and all attributes of this tag so far.
    pub(super) attribute: Attribute,
    attributes: Attributes,
    /// The open element that is dropped, the open `main` and the open `article`: each the outermost one.
    dropped: Option<Open>,
    main: Option<Open>,
    article: Option<Open>,
    /// Whether there is `main`. Then `out` has only its text.
    has_main: bool,
    /// Where the texts of articles stand in `out`; the last one may be open.
    articles: Vec<Range<usize>>,
    /// Open elements whose headers and footers do not belong to the page.
    sections: usize,
}

#[derive(Default)]
pub(super) struct Attribute {
    pub name: Prefix,
    pub value: Prefix,
}

/// The attributes of a tag that count. Of several with the same name, the first one counts, as in HTML.
#[derive(Default)]
struct Attributes {
    role: Option<Role>,
    has_hidden: bool,
    is_aria_hidden: Option<bool>,
    /// Whether the id and the class are one of [`SITE_NAMES`].
    is_site_id: Option<bool>,
    is_site_class: Option<bool>,
}

/// The first bytes of a name or value: more bytes than the longest name or value that counts.
#[derive(Clone, Copy, Default)]
pub(super) struct Prefix {
    bytes: [u8; 16],
    length: usize,
}

/// An open element, and the number of open elements of its name.
struct Open {
    tag: Tag,
    depth: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Main,
    /// The role is one of [`SITE_ROLES`].
    Dropped,
    Other,
}

impl Page {
    pub fn start_tag(&mut self) {
        (self.attribute, self.attributes) = Default::default();
    }

    pub fn start_attribute(&mut self) {
        self.end_attribute();
        self.attribute = Attribute::default();
    }

    fn end_attribute(&mut self) {
        let (Attribute { name, value }, attributes) = (&self.attribute, &mut self.attributes);
        let is_one_of = |names: [&str; 5]| names.iter().any(|name| value.is(name));
        if name.is("hidden") {
            attributes.has_hidden = true;
        } else if name.is("aria-hidden") {
            attributes.is_aria_hidden.get_or_insert(value.is("true"));
        } else if name.is("id") {
            attributes.is_site_id.get_or_insert(is_one_of(SITE_NAMES));
        } else if name.is("class") {
            attributes.is_site_class.get_or_insert(is_one_of(SITE_NAMES));
        } else if name.is("role") {
            attributes.role.get_or_insert(match value.is("main") {
                true => Role::Main,
                false if is_one_of(SITE_ROLES) => Role::Dropped,
                false => Role::Other,
            });
        }
    }

    /// Whether text does not count here.
    pub fn is_silent(&self) -> bool {
        self.dropped.is_some() || self.has_main && self.main.is_none()
    }

    /// Reads a tag after the text `out`. `is_empty` says that its element ends with it.
    pub(super) fn read_tag(&mut self, tag: &Tag, is_empty: bool, out: &mut Vec<u8>) -> Result<()> {
        self.end_attribute();
        let is_empty = is_empty || VOID.contains(&tag.name());
        if self.dropped.as_mut().is_some_and(|open| open.stays_open(tag, is_empty)) {
            return Ok(());
        }
        let was_dropped = self.dropped.take().is_some();
        if is_empty {
            return Ok(());
        }
        self.main = self.main.take().and_then(|mut open| open.stays_open(tag, false).then_some(open));
        if self.article.as_mut().is_some_and(|open| !open.stays_open(tag, false)) {
            self.article = None;
            self.end_article(out.len());
        }
        if !tag.is_end {
            return self.start_element(tag, out);
        }
        self.sections -= usize::from(!was_dropped && is_section(tag.name()) && self.sections > 0);
        Ok(())
    }

    fn start_element(&mut self, tag: &Tag, out: &mut Vec<u8>) -> Result<()> {
        let (name, opened) = (tag.name(), Some(Open { tag: *tag, depth: 1 }));
        // Scripts may hide a whole page until they have run.
        let Attributes { role, has_hidden, is_aria_hidden, is_site_id, is_site_class } = self.attributes;
        let is_hidden = (has_hidden || is_aria_hidden == Some(true)) && !matches!(name, b"html" | b"body");
        if is_dropped(name, self.sections > 0 || self.main.is_some())
            || role == Some(Role::Dropped)
            || is_hidden
            || [is_site_id, is_site_class].contains(&Some(true)) && matches!(name, b"div" | b"td")
        {
            self.dropped = opened;
            return Ok(());
        }
        self.sections += usize::from(is_section(name));
        if name == b"main" || role == Some(Role::Main) {
            if !self.has_main {
                self.has_main = true;
                out.clear();
            }
            self.main = self.main.take().or(opened);
        } else if name == b"article" && !self.has_main && self.article.is_none() {
            self.article = opened;
            push(&mut self.articles, out.len()..usize::MAX)?;
        }
        Ok(())
    }

    fn end_article(&mut self, end: usize) {
        if let Some(article) = self.articles.last_mut() {
            article.end = article.end.min(end);
        }
    }

    /// Ends the page: `out` becomes the text that counts, and `places` gets that step. Returns whether any text counts.
    pub fn end(mut self, out: &mut Vec<u8>, places: Option<&mut Places>) -> Result<bool> {
        self.end_article(out.len());
        let visible = |text: &[u8]| text.iter().filter(|byte| **byte > b' ').count();
        let visible_in_articles = || self.articles.iter().map(|article| visible(&out[article.clone()])).sum::<usize>();
        if !self.has_main && 2 * visible_in_articles() >= visible(out) {
            let (mut length, mut read) = (0, 0);
            let mut edits = places.map(Places::begin_step).transpose()?;
            for article in self.articles {
                if let Some(edits) = &mut edits {
                    edits.push(read..article.start, length..length)?;
                }
                read = article.end;
                out.copy_within(article.clone(), length);
                length += article.len();
            }
            out.truncate(length);
        }
        Ok(self.dropped.is_none() && out.iter().any(|byte| *byte > b' '))
    }
}

impl Prefix {
    pub fn extend(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().take(self.bytes.len() - self.length) {
            self.bytes[self.length] = *byte;
            self.length += 1;
        }
    }

    fn is(&self, name: &str) -> bool {
        self.bytes[..self.length].eq_ignore_ascii_case(name.as_bytes())
    }
}

impl Open {
    /// Counts the tag if it has the same name. Returns whether the element stays open.
    fn stays_open(&mut self, tag: &Tag, is_empty: bool) -> bool {
        if !tag.has_name_of(&self.tag) || is_empty {
            return true;
        }
        self.depth = match tag.is_end {
            true => self.depth - 1,
            false if has_optional_end(tag.name()) => 0,
            false => self.depth + 1,
        };
        self.depth > 0
    }
}

fn is_dropped(name: &[u8], is_in_section: bool) -> bool {
    match name {
        b"nav" | b"aside" | b"title" | b"button" | b"select" | b"textarea" | b"label" | b"legend" => true,
        b"header" | b"footer" => !is_in_section,
        _ => false,
    }
}

fn is_section(name: &[u8]) -> bool {
    matches!(name, b"article" | b"section" | b"main" | b"blockquote")
}

fn has_optional_end(name: &[u8]) -> bool {
    matches!(
        name,
        b"p" | b"li" | b"dt" | b"dd" | b"option" | b"optgroup" | b"thead" | b"tbody" | b"tfoot" | b"tr" | b"td" | b"th"
    )
}
