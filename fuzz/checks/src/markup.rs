//! Checks the reader of HTML: the text of a document is that of the list of its tokens, and the fingerprint of the
//! document is that of its text. An input is a document.

use simhash::error::Result;
use simhash::fingerprint::options::{Markup, Options};
use simhash::fingerprint::{Fingerprinter, Scratch};
use simhash::text::markup::{text_of_html, text_of_main};

use super::oracle;

pub fn check(input: &[u8]) {
    let html = String::from_utf8_lossy(input);
    check_reader(&html, Markup::Html, text_of_html, oracle::text_of_html);
    check_reader(&html, Markup::Main, text_of_main, oracle::text_of_main);
}

fn check_reader(
    html: &str,
    markup: Markup,
    read: impl Fn(&str, &mut String, &dyn Fn()) -> Result<()>,
    read_by_oracle: impl Fn(&str) -> String,
) {
    let mut text = String::new();
    read(html, &mut text, &|| ()).expect("memory suffices");
    assert_eq!(oracle::words(&text), oracle::words(&read_by_oracle(html)), "{html:?}");
    let mut scratch = Scratch::default();
    let expected = Fingerprinter::new(&mut scratch, &Options::default(), &|| ()).fingerprint(&text);
    let options = Options { markup: Some(markup), ..Options::default() };
    assert_eq!(Fingerprinter::new(&mut scratch, &options, &|| ()).fingerprint(html), expected, "{html:?}");
}
