//! The text of a document, from all tokens that html5gum finds.

use std::collections::BTreeMap;

use html5gum::{State, Token as HtmlToken, Tokenizer};

/// What stands between white space. The text of a document may have any white space where some is due.
pub fn words(text: &str) -> Vec<&str> {
    text.split(|c| c <= ' ').filter(|word| !word.is_empty()).collect()
}

/// A text that is shown, or a tag.
enum Piece {
    Text(Vec<u8>),
    Start { name: String, attributes: BTreeMap<String, String>, is_empty: bool },
    End { name: String },
}

/// The text of an HTML document, from the list of its tokens.
pub fn text_of_html(html: &str) -> String {
    let texts =
        pieces(html).into_iter().filter_map(|piece| if let Piece::Text(text) = piece { Some(text) } else { None });
    String::from_utf8(texts.collect::<Vec<_>>().concat()).expect("tokens of UTF-8")
}

/// The text of what a page is about: of each text, by the elements that are open around it.
pub fn text_of_main(html: &str) -> String {
    const DROPPED: &str = "nav aside title button select textarea label legend";
    const ROLES: &str = "navigation complementary banner contentinfo search";
    const NAMES: &str = "toc footer navheader navfooter gutter";
    const VOID: &str = "area base br col embed hr img input link meta source track wbr";
    const OPTIONAL_END: &str = "p li dt dd option optgroup thead tbody tfoot tr td th";
    let is_in = |name: &str, list: &str| list.split(' ').any(|other| other == name);
    // Elements that are open, by what they are for; the name, and how many of it.
    let mut open: BTreeMap<&str, (String, usize)> = BTreeMap::new();
    let (mut all, mut of_main, mut of_articles) = (vec![], None::<Vec<u8>>, vec![]);
    let mut sections = 0;
    for piece in pieces(html) {
        let (name, attributes) = match piece {
            Piece::Text(text) => {
                if open.contains_key("dropped") {
                    continue;
                }
                all.extend_from_slice(&text);
                if open.contains_key("article") {
                    of_articles.extend_from_slice(&text);
                }
                if let (Some(of_main), true) = (&mut of_main, open.contains_key("main")) {
                    of_main.extend_from_slice(&text);
                }
                continue;
            }
            Piece::Start { is_empty: true, .. } => continue,
            Piece::Start { name, .. } | Piece::End { name } if is_in(&name, VOID) => continue,
            Piece::Start { name, attributes, .. } => (name, Some(attributes)),
            Piece::End { name } => (name, None),
        };
        let was_dropped = open.contains_key("dropped");
        for kind in ["dropped", "main", "article"] {
            if kind != "dropped" && open.contains_key("dropped") {
                break;
            }
            let Some((opened, depth)) = open.get_mut(kind) else { continue };
            if *opened == name {
                *depth = match attributes {
                    None => *depth - 1,
                    Some(_) if is_in(&name, OPTIONAL_END) => 0,
                    Some(_) => *depth + 1,
                };
                if *depth == 0 {
                    open.remove(kind);
                }
            }
        }
        if open.contains_key("dropped") || was_dropped && attributes.is_none() {
            continue;
        }
        let is_section = is_in(&name, "article section main blockquote");
        let Some(attributes) = attributes else {
            sections = usize::max(sections, is_section.into()) - usize::from(is_section);
            continue;
        };
        let has = |key: &str, value: &str| attributes.get(key).is_some_and(|found| found.eq_ignore_ascii_case(value));
        let is_named = NAMES.split(' ').any(|name| has("id", name) || has("class", name));
        let is_hidden = attributes.contains_key("hidden") || has("aria-hidden", "true");
        let is_inside = sections > 0 || open.contains_key("main");
        let is_dropped = is_in(&name, DROPPED)
            || is_in(&name, "header footer") && !is_inside
            || ROLES.split(' ').any(|role| has("role", role))
            || is_hidden && !is_in(&name, "html body")
            || is_named && is_in(&name, "div td");
        if is_dropped {
            open.insert("dropped", (name, 1));
            continue;
        }
        sections += usize::from(is_section);
        if name == "main" || has("role", "main") {
            of_main.get_or_insert_default();
            open.entry("main").or_insert((name, 1));
        } else if name == "article" {
            open.entry("article").or_insert((name, 1));
        }
    }
    let visible = |text: &[u8]| text.iter().filter(|byte| **byte > b' ').count();
    let found = of_main.unwrap_or(if 2 * visible(&of_articles) >= visible(&all) { of_articles } else { all });
    let has_text = !open.contains_key("dropped") && found.iter().any(|byte| *byte > b' ');
    if has_text { String::from_utf8(found).expect("tokens of UTF-8") } else { text_of_html(html) }
}

fn pieces(html: &str) -> Vec<Piece> {
    const BOXES: &str = "address article aside blockquote body br button caption center col colgroup dd details dialog \
        dir div dl dt fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html \
        input legend li listing main marquee menu meter nav ol optgroup option p plaintext pre progress search section \
        select summary table tbody td text textarea tfoot th thead title tr ul xmp";
    let is_box = |name: &str| BOXES.split(' ').any(|other| other == name);
    let mut pieces = Vec::new();
    let separator = || Piece::Text(vec![b'\n'; 2]);
    let (mut is_hidden, mut templates, mut foreign) = (false, 0, 0);
    let mut tokens = Tokenizer::new(html);
    while let Some(Ok(token)) = tokens.next() {
        match token {
            HtmlToken::String(string) if !is_hidden && templates == 0 => pieces.push(Piece::Text(string.to_vec())),
            HtmlToken::StartTag(tag) => {
                let name = String::from_utf8_lossy(&tag.name);
                pieces.extend((is_box(&name) && templates == 0).then(separator));
                let is_foreign = ["svg", "math"].contains(&&*name);
                let is_empty = tag.self_closing && (is_foreign || foreign > 0);
                let utf8 = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let attributes = tag.attributes.iter().map(|(key, value)| (utf8(key), utf8(value))).collect();
                let start = Piece::Start { name: name.to_string(), attributes, is_empty };
                pieces.extend((templates == 0).then_some(start));
                templates += usize::from(name == "template");
                if is_empty {
                    continue;
                }
                foreign += usize::from(is_foreign);
                is_hidden = ["script", "style", "noscript", "iframe", "noembed", "noframes"].contains(&&*name);
                match &*name {
                    "title" | "textarea" => tokens.set_state(State::RcData),
                    "script" => tokens.set_state(State::ScriptData),
                    "plaintext" => tokens.set_state(State::PlainText),
                    "xmp" => tokens.set_state(State::RawText),
                    _ if is_hidden => tokens.set_state(State::RawText),
                    _ => {}
                }
            }
            HtmlToken::EndTag(tag) => {
                let name = String::from_utf8_lossy(&tag.name);
                pieces.extend((is_box(&name) && templates == 0).then(separator));
                pieces.extend((templates == 0).then(|| Piece::End { name: name.to_string() }));
                is_hidden = false;
                templates -= usize::from(name == "template" && templates > 0);
                foreign -= usize::from(["svg", "math"].contains(&&*name) && foreign > 0);
            }
            _ => {}
        }
    }
    pieces
}
