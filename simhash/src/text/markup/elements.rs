//! What the elements of HTML mean for the text around them and in them.

use html5gum::State;

use crate::random::GOLDEN_RATIO;

/// What an element means for the text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// Nothing: its text continues the words around it.
    Inline,
    /// Its tags separate words: `br`, an element that is not inline by the style sheet of the standard (section 15.3),
    /// or `text` in SVG.
    Box,
    /// A box that contains text without elements, which is read in this state: the title and the like.
    Text(State),
    /// What it contains is neither shown nor read as markup, but in this state. `noscript` is such an element where
    /// scripts run.
    Hidden(State),
    /// What it contains is not shown, but read as markup.
    Template,
    /// SVG or MathML, in which an element may end with its start tag.
    Foreign,
}

impl Element {
    /// The element with a name in small letters.
    pub fn of(name: &[u8]) -> Self {
        match name {
            b"blockquote" | b"figcaption" => Self::Box,
            b"plaintext" => Self::Text(State::PlainText),
            _ if name.len() > 8 => Self::Inline,
            _ => Self::of_word(name.iter().rev().fold(0, |word, letter| word << 8 | u64::from(*letter))),
        }
    }

    /// The element with a name of at most 8 letters, given as a little-endian number.
    #[inline(always)]
    pub fn of_word(name: u64) -> Self {
        let mut slot = slot(name);
        while TABLE[slot].0 != name && TABLE[slot].0 != 0 {
            slot = (slot + 1) % SLOTS;
        }
        TABLE[slot].1
    }
}

const SLOTS: usize = 256;

/// Elements by their names; a free slot has the name 0.
static TABLE: [(u64, Element); SLOTS] = {
    let mut table = [(0, Element::Inline); SLOTS];
    insert(&mut table, BOXES, Element::Box);
    insert(&mut table, &["title", "textarea"], Element::Text(State::RcData));
    insert(&mut table, &["xmp"], Element::Text(State::RawText));
    insert(&mut table, &["script"], Element::Hidden(State::ScriptData));
    insert(&mut table, &["style", "iframe", "noembed", "noframes", "noscript"], Element::Hidden(State::RawText));
    insert(&mut table, &["template"], Element::Template);
    insert(&mut table, &["svg", "math"], Element::Foreign);
    table
};

const BOXES: &[&str] = &[
    "address", "article", "aside", "body", "br", "button", "caption", "center", "col", "colgroup", "dd", "details",
    "dialog", "dir", "div", "dl", "dt", "fieldset", "figure", "footer", "form", "frameset", "h1", "h2", "h3", "h4",
    "h5", "h6", "head", "header", "hgroup", "hr", "html", "input", "legend", "li", "listing", "main", "marquee",
    "menu", "meter", "nav", "ol", "optgroup", "option", "p", "pre", "progress", "search", "section", "select",
    "summary", "table", "tbody", "td", "text", "tfoot", "th", "thead", "tr", "ul",
];

const fn insert(table: &mut [(u64, Element); SLOTS], names: &[&str], element: Element) {
    let mut which = 0;
    while which < names.len() {
        let letters = names[which].as_bytes();
        let (mut name, mut letter) = (0, letters.len());
        while letter > 0 {
            letter -= 1;
            name = name << 8 | letters[letter] as u64;
        }
        let mut slot = slot(name);
        while table[slot].0 != 0 {
            slot = (slot + 1) % SLOTS;
        }
        table[slot] = (name, element);
        which += 1;
    }
}

const fn slot(name: u64) -> usize {
    (name.wrapping_mul(GOLDEN_RATIO) >> 56) as usize
}
