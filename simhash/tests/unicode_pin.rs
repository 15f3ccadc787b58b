//! The Unicode tables are part of the fingerprint format: an update of a crate must not change them unnoticed.

use simhash::text::classes::kind;
use simhash::text::normalise::{normalise, remove_accents};
use simhash::text::places::rewrite;
use xxhash_rust::xxh3::Xxh3;

/// A hash of what normalisation and the tokenizer make of every character of Unicode 18. If it changes, fingerprints
/// change: that needs a new `simhash_format()` and a migration, not another number here.
#[test]
fn tables_match_format_2() {
    assert_eq!(simhash::FINGERPRINT_FORMAT, 2);
    let mut hash = Xxh3::new();
    for c in '\0'..=char::MAX {
        let mut normal = String::new();
        normalise(c.encode_utf8(&mut [0; 4]), true, &mut normal, &|| ()).expect("memory suffices");
        hash.update(normal.as_bytes());
        normal.clear();
        normalise(c.encode_utf8(&mut [0; 4]), false, &mut normal, &|| ()).expect("memory suffices");
        hash.update(normal.as_bytes());
        rewrite(&mut normal, remove_accents, None, &|| ()).expect("memory suffices");
        hash.update(normal.as_bytes());
        hash.update(&[0xff, kind(c.into())]);
    }
    assert_eq!(hash.digest(), 0x5773_d103_e116_4060);
}
