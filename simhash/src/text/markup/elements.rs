//! The effect of HTML elements on the text around them and in them.

use html5gum::State;

/// The effect of an element on the text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// No effect: the element's text continues the words around it.
    Inline,
    /// Its tags separate words: `br`, an element that is not inline by the style sheet of the standard (section 15.3),
    /// or `text` in SVG.
    Box,
    /// A box that contains text without elements, which is read in this state: the title and the like.
    Text(State),
    /// An element whose content is neither shown nor read as markup, but in this state. `noscript` is such an element
    /// where scripts run.
    Hidden(State),
    /// An element whose content is not shown, but read as markup.
    Template,
    /// SVG or MathML, in which an element may end with its start tag.
    Foreign,
}

impl Element {
    /// The element with a name in small letters.
    pub fn of(name: &[u8]) -> Self {
        match name {
            // The names stand in a row, as in the standard.
            #[rustfmt::skip]
            b"address" | b"article" | b"aside" | b"blockquote" | b"body" | b"br" | b"button" | b"caption" | b"center"
            | b"col" | b"colgroup" | b"dd" | b"details" | b"dialog" | b"dir" | b"div" | b"dl" | b"dt" | b"fieldset"
            | b"figcaption" | b"figure" | b"footer" | b"form" | b"frameset" | b"h1" | b"h2" | b"h3" | b"h4" | b"h5"
            | b"h6" | b"head" | b"header" | b"hgroup" | b"hr" | b"html" | b"input" | b"legend" | b"li" | b"listing"
            | b"main" | b"marquee" | b"menu" | b"meter" | b"nav" | b"ol" | b"optgroup" | b"option" | b"p" | b"pre"
            | b"progress" | b"search" | b"section" | b"select" | b"summary" | b"table" | b"tbody" | b"td" | b"text"
            | b"tfoot" | b"th" | b"thead" | b"tr" | b"ul" => Self::Box,
            b"title" | b"textarea" => Self::Text(State::RcData),
            b"plaintext" => Self::Text(State::PlainText),
            b"xmp" => Self::Text(State::RawText),
            b"script" => Self::Hidden(State::ScriptData),
            b"style" | b"iframe" | b"noembed" | b"noframes" | b"noscript" => Self::Hidden(State::RawText),
            b"template" => Self::Template,
            b"svg" | b"math" => Self::Foreign,
            _ => Self::Inline,
        }
    }
}
