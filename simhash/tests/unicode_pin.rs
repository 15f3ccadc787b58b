//! The Unicode tables are part of the fingerprint format: an update of a crate must not change them unnoticed.

use icu_casemap::CaseMapper;
use icu_normalizer::ComposingNormalizer;
use simhash::text::classes::kind;
use xxhash_rust::xxh3::Xxh3;

/// A hash of what normalisation and the tokenizer make of every character. If it changes, fingerprints change: that
/// needs a new `simhash_format()` and a migration, not another number here.
#[test]
fn tables_are_those_of_format_1() {
    assert_eq!(simhash::FORMAT, 1);
    let mut hash = Xxh3::new();
    for c in '\0'..=char::MAX {
        let mut utf8 = [0; 4];
        let normal = ComposingNormalizer::new_nfkc().normalize(c.encode_utf8(&mut utf8)).into_owned();
        let folded = CaseMapper::new().fold_string(&normal);
        hash.update(folded.as_bytes());
        hash.update(&[0xff, kind(c.into())]);
    }
    assert_eq!(hash.digest(), 0xa16c_12db_a119_5c52);
}

/// Tests characters whose classes differ between versions of Unicode.
#[test]
fn version_is_unicode_17() {
    use simhash::text::classes::{SEPARATOR, SPACELESS, WORD};
    assert_eq!(kind(0x10d40), WORD, "GARAY DIGIT ZERO, new in 16.0");
    assert_eq!(kind(0x16ea0), WORD, "BERIA ERFE CAPITAL LETTER ARKAB, new in 17.0");
    assert_eq!(kind(0x323b0), SPACELESS, "first ideograph of extension J, new in 17.0");
    assert_eq!(kind(0x3347a), SEPARATOR, "unassigned in 17.0");
}
