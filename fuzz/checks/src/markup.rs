//! Markup: the text of a document is that of the list of its tokens, and the fingerprint that of the text.
//!
//! An input is a document.

use simhash::fingerprint::Fingerprinter;
use simhash::fingerprint::options::{Markup, Options};
use simhash::text::markup::text_of_html;

use super::oracle;

pub fn check(input: &[u8]) {
    let html = String::from_utf8_lossy(input);
    let mut text = String::new();
    text_of_html(&html, &mut text, &|| ()).expect("memory suffices");
    assert_eq!(oracle::words(&text), oracle::words(&oracle::text_of_html(&html)), "{html:?}");
    let mut fingerprinter = Fingerprinter::default();
    let expected = fingerprinter.fingerprint(&text, &Options::default(), &|| ());
    let options = Options { markup: Some(Markup::Html), ..Options::default() };
    assert_eq!(fingerprinter.fingerprint(&html, &options, &|| ()), expected, "{html:?}");
}
