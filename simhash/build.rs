//! Writes the table of character classes: for each code point, what the normaliser and the tokenizer do with it.
//!
//! The table has one byte for each code point, in two stages (blocks of 256; equal blocks are stored once). It is made
//! from ICU4X at build time so that no backend pays for building it, and a property look-up costs two loads.
//! `src/text/classes.rs` reads it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::{env, fs, path::Path};

use icu_casemap::CaseMapper;
use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use icu_properties::props::{CanonicalCombiningClass, GeneralCategory as Gc, GeneralCategoryGroup, Script};
use icu_properties::{CodePointMapData, CodePointMapDataBorrowed};

include!("src/text/class_bits.rs");

const CODE_POINTS: u32 = 0x11_0000;
const BLOCK: usize = 256;

struct Unicode {
    category: CodePointMapDataBorrowed<'static, Gc>,
    script: CodePointMapDataBorrowed<'static, Script>,
    combining: CodePointMapDataBorrowed<'static, CanonicalCombiningClass>,
    nfkc: ComposingNormalizerBorrowed<'static>,
    nfkd: DecomposingNormalizerBorrowed<'static>,
    /// Characters that may compose with the character before them (NFC_Quick_Check = Maybe).
    compose_backwards: BTreeSet<char>,
}

impl Unicode {
    fn new() -> Self {
        let category = CodePointMapData::new();
        let nfc = ComposingNormalizerBorrowed::new_nfc();
        let nfd = DecomposingNormalizerBorrowed::new_nfd();
        let mut compose_backwards = BTreeSet::new();
        for c in (0..CODE_POINTS).filter_map(|c| character(category, c)) {
            let mut utf8 = [0; 4];
            let c = c.encode_utf8(&mut utf8);
            let decomposed = nfd.normalize(c);
            if decomposed.chars().count() > 1 && nfc.normalize(&decomposed) == *c {
                compose_backwards.extend(decomposed.chars().skip(1));
            }
        }
        Self {
            category,
            script: CodePointMapData::new(),
            combining: CodePointMapData::new(),
            nfkc: ComposingNormalizerBorrowed::new_nfkc(),
            nfkd: DecomposingNormalizerBorrowed::new_nfkd(),
            compose_backwards,
        }
    }

    fn is_starter(&self, c: char) -> bool {
        self.combining.get(c) == CanonicalCombiningClass::NotReordered
    }

    fn kind(&self, c: char) -> u8 {
        let category = self.category.get(c);
        let letter = GeneralCategoryGroup::Letter.contains(category);
        if (letter || category == Gc::LetterNumber) && self.is_spaceless(c) {
            SPACELESS
        } else if letter || GeneralCategoryGroup::Number.contains(category) {
            WORD
        } else if GeneralCategoryGroup::Mark.contains(category) {
            MARK
        } else {
            SEPARATOR
        }
    }

    fn is_spaceless(&self, c: char) -> bool {
        c == '\u{30FC}'
            || [
                Script::Han,
                Script::Hiragana,
                Script::Katakana,
                Script::Thai,
                Script::Lao,
                Script::Khmer,
                Script::Myanmar,
            ]
            .contains(&self.script.get(c))
    }

    fn class(&self, c: char) -> u8 {
        let mut utf8 = [0; 4];
        let text = &*c.encode_utf8(&mut utf8);
        let normal = self.nfkc.normalize(text);
        let folded = CaseMapper::new().fold_string(&normal);
        let first = self.nfkd.normalize(text).chars().next().unwrap_or(c);

        let mut class = self.kind(c);
        let starter = self.is_starter(c);
        if starter && self.is_starter(first) && !self.compose_backwards.contains(&first) {
            class |= BOUNDARY;
        }
        // NFKC turns full-width commas, ideographic spaces and the like into other separators, which is the same to the
        // tokenizer.
        let stays_separator =
            class == SEPARATOR | BOUNDARY && normal.chars().all(|c| self.kind(c) == SEPARATOR && self.is_starter(c));
        if (folded == text && !self.compose_backwards.contains(&c)) || stays_separator {
            class |= UNCHANGED;
        }
        if !starter {
            class |= REORDERS;
        }
        if self.category.get(c) == Gc::DecimalNumber {
            class |= DIGIT;
        }
        class
    }
}

/// The character at a code point. More than four fifths of all have none: they are not assigned, for private use, or
/// surrogates, and normalisation and case folding leave them as they are.
fn character(category: CodePointMapDataBorrowed<'static, Gc>, c: u32) -> Option<char> {
    char::from_u32(c).filter(|&c| !matches!(category.get(c), Gc::Unassigned | Gc::PrivateUse))
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/text/class_bits.rs");

    let unicode = Unicode::new();
    let mut index = Vec::new();
    let mut blocks: Vec<u8> = Vec::new();
    let mut known: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    for start in (0..CODE_POINTS).step_by(BLOCK) {
        let block: Vec<u8> = (start..start + BLOCK as u32)
            .map(|c| character(unicode.category, c).map_or(SEPARATOR | UNCHANGED | BOUNDARY, |c| unicode.class(c)))
            .collect();
        let number = *known.entry(block).or_insert_with_key(|block| {
            blocks.extend(block);
            blocks.len() / BLOCK - 1
        });
        index.push(u8::try_from(number).expect("at most 256 distinct blocks"));
    }

    let mut source = String::new();
    writeln!(source, "static INDEX: [u8; {}] = {index:?};", index.len()).unwrap();
    writeln!(source, "static CLASSES: [u8; {}] = {blocks:?};", blocks.len()).unwrap();
    let out = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&out).join("classes.rs"), source).expect("OUT_DIR is writable");
}
