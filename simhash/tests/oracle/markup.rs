//! The text of a document, from all tokens that html5gum finds.

use html5gum::{State, Token as HtmlToken, Tokenizer};

/// What stands between white space. The text of a document may have any white space where some is due.
pub fn words(text: &str) -> Vec<&str> {
    text.split(|c| c <= ' ').filter(|word| !word.is_empty()).collect()
}

/// The text of an HTML document, from the list of its tokens.
pub fn text_of_html(html: &str) -> String {
    const BOXES: &str = "address article aside blockquote body br button caption center col colgroup dd details dialog \
        dir div dl dt fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html \
        input legend li listing main marquee menu meter nav ol optgroup option p plaintext pre progress search section \
        select summary table tbody td text textarea tfoot th thead title tr ul xmp";
    let is_box = |name: &str| BOXES.split(' ').any(|other| other == name);
    let mut text = Vec::new();
    let (mut hidden, mut templates, mut foreign) = (false, 0, 0);
    let mut tokens = Tokenizer::new(html);
    while let Some(Ok(token)) = tokens.next() {
        match token {
            HtmlToken::String(string) if !hidden && templates == 0 => text.extend_from_slice(&string),
            HtmlToken::StartTag(tag) => {
                let name = String::from_utf8_lossy(&tag.name);
                text.extend((is_box(&name) && templates == 0).then_some(b'\n'));
                let is_foreign = ["svg", "math"].contains(&&*name);
                templates += usize::from(name == "template");
                if tag.self_closing && (is_foreign || foreign > 0) {
                    continue;
                }
                foreign += usize::from(is_foreign);
                hidden = ["script", "style", "noscript", "iframe", "noembed", "noframes"].contains(&&*name);
                match &*name {
                    "title" | "textarea" => tokens.set_state(State::RcData),
                    "script" => tokens.set_state(State::ScriptData),
                    "plaintext" => tokens.set_state(State::PlainText),
                    "xmp" => tokens.set_state(State::RawText),
                    _ if hidden => tokens.set_state(State::RawText),
                    _ => {}
                }
            }
            HtmlToken::EndTag(tag) => {
                let name = String::from_utf8_lossy(&tag.name);
                text.extend((is_box(&name) && templates == 0).then_some(b'\n'));
                hidden = false;
                templates -= usize::from(name == "template" && templates > 0);
                foreign -= usize::from(["svg", "math"].contains(&&*name) && foreign > 0);
            }
            _ => {}
        }
    }
    String::from_utf8(text).expect("tokens of UTF-8")
}
