//! The table of character references is part of the fingerprint format: an update of html5gum must not change it
//! unnoticed.

use simhash::text::markup::text_of_html;
use xxhash_rust::xxh3::xxh3_64;

/// The standard says that its list of names will not change. The names, and what they stand for, are also in Python's
/// `html.entities`, from which this hash was computed.
#[test]
fn references_match_the_standard() {
    let names = include_str!("golden/references.txt");
    assert_eq!(names.split_whitespace().count(), 2231);
    let html: String = names.split_whitespace().map(|name| format!("&{name}\n")).collect();
    let mut text = String::new();
    text_of_html(&html, &mut text, &|| ()).expect("memory suffices");
    assert_eq!(xxh3_64(text.as_bytes()), 0x985d_bdfd_0484_4b8c);
}
