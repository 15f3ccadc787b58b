//! The Unicode tables are part of the fingerprint format: an update of a crate must not change them unnoticed.

use icu_provider::prelude::*;
use icu_segmenter::provider::{
    Baked, SegmenterBreakGraphemeClusterV1, SegmenterBreakWordV1, SegmenterDictionaryAutoV2,
    SegmenterDictionaryExtendedV2,
};
use simhash::text::classes::kind;
use simhash::text::normalise::{normalise, remove_accents};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// A hash of what normalisation and the tokenizer make of every character. If it changes, fingerprints change: that
/// needs a new `simhash_format()` and a migration, not another number here.
#[test]
fn tables_match_format_2() {
    assert_eq!(simhash::FORMAT, 2);
    let mut hash = Xxh3::new();
    for c in '\0'..=char::MAX {
        let mut normal = String::new();
        normalise(c.encode_utf8(&mut [0; 4]), true, &mut normal, &|| ()).expect("memory suffices");
        hash.update(normal.as_bytes());
        normal.clear();
        let cased = normalise(c.encode_utf8(&mut [0; 4]), false, &mut normal, &|| ());
        cased.and_then(|()| remove_accents(&normal.clone(), &mut normal, &|| ())).expect("memory suffices");
        hash.update(normal.as_bytes());
        hash.update(&[0xff, kind(c.into())]);
    }
    assert_eq!(hash.digest(), 0xc280_7a5b_1407_ada4);
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

/// A hash of ICU4X's dictionaries and of the rules beside them. If it changes, fingerprints with the option
/// `"tokens": "dictionary"` change.
#[test]
fn dictionaries_match_format_2() {
    fn hash<M: DataMarker>(name: &str) -> u64
    where
        Baked: DataProvider<M>,
        for<'a> <M::DataStruct as yoke::Yokeable<'a>>::Output: std::fmt::Debug,
    {
        let attributes = DataMarkerAttributes::try_from_str(name).expect("a name");
        let id = DataIdentifierBorrowed::for_marker_attributes(attributes);
        let data = Baked.load(DataRequest { id, ..Default::default() }).expect("the data");
        xxh3_64(format!("{:?}", data.payload.get()).as_bytes())
    }
    let hashes = [
        hash::<SegmenterDictionaryAutoV2>("cjdict"),
        hash::<SegmenterDictionaryExtendedV2>("thaidict"),
        hash::<SegmenterDictionaryExtendedV2>("laodict"),
        hash::<SegmenterDictionaryExtendedV2>("khmerdict"),
        hash::<SegmenterDictionaryExtendedV2>("burmesedict"),
        hash::<SegmenterBreakWordV1>(""),
        hash::<SegmenterBreakGraphemeClusterV1>(""),
    ];
    let expected = [
        0xd4b93ff6da918af8,
        0x1b065584ea8ad526,
        0xdf9b40ffd2ed1eb2,
        0xb02fa25ca36b24d0,
        0xa1235f11f105d6ca,
        0xd64358be9346f399,
        0x503c2f7b28d72766,
    ];
    assert_eq!(hashes, expected);
}
