//! Writes the table of character classes: for each code point, what the normaliser and the tokenizer do with it.
//!
//! The table has one byte for each code point, in two stages (blocks of 256; equal blocks are stored once). It is made
//! from ICU4X at build time so that no backend pays for building it, and a property look-up costs two loads.
//! `src/text/classes.rs` reads it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::{env, fs, path::Path};

use icu_casemap::CaseMapper;
use icu_normalizer::{
    ComposingNormalizer, ComposingNormalizerBorrowed, DecomposingNormalizer, DecomposingNormalizerBorrowed,
};
use icu_properties::props::{
    CanonicalCombiningClass, DefaultIgnorableCodePoint, GeneralCategory as Gc, GeneralCategoryGroup, JoiningType,
    Script,
};
use icu_properties::script::ScriptWithExtensions;
use icu_properties::{CodePointMapData, CodePointMapDataBorrowed, CodePointSetData, CodePointSetDataBorrowed};

include!("src/text/class_bits.rs");

const CODE_POINTS: u32 = 0x11_0000;
const BLOCK: usize = 256;

const CATEGORY: CodePointMapDataBorrowed<'static, Gc> = CodePointMapData::new();
const SCRIPT: CodePointMapDataBorrowed<'static, Script> = CodePointMapData::new();
const JOINING: CodePointMapDataBorrowed<'static, JoiningType> = CodePointMapData::new();
const COMBINING: CodePointMapDataBorrowed<'static, CanonicalCombiningClass> = CodePointMapData::new();
const IGNORABLE: CodePointSetDataBorrowed<'static> = CodePointSetData::new::<DefaultIgnorableCodePoint>();
const NFD: DecomposingNormalizerBorrowed<'static> = DecomposingNormalizer::new_nfd();
const NFKC: ComposingNormalizerBorrowed<'static> = ComposingNormalizer::new_nfkc();

/// What is found by reading all characters.
struct Unicode {
    /// Characters that may compose with the character before them (NFC_Quick_Check = Maybe).
    compose_backwards: BTreeSet<char>,
    /// Marks in canonical decompositions of Greek letters.
    greek_marks: BTreeSet<char>,
    /// The digit zero of each script.
    zeros: Vec<char>,
}

impl Unicode {
    fn new() -> Self {
        let mut compose_backwards = BTreeSet::new();
        let mut greek_marks = BTreeSet::new();
        let mut digits = Vec::new();
        for c in (0..CODE_POINTS).filter_map(character) {
            let mut utf8 = [0; 4];
            let text = &*c.encode_utf8(&mut utf8);
            let decomposed = NFD.normalize(text);
            if decomposed.chars().count() > 1 && ComposingNormalizer::new_nfc().normalize(&decomposed) == *text {
                compose_backwards.extend(decomposed.chars().skip(1));
            }
            if SCRIPT.get(c) == Script::Greek && is_letter(c) {
                greek_marks.extend(decomposed.chars().skip(1));
            }
            if is_digit(c) {
                digits.push(c);
            }
        }
        let zeros: Vec<char> = digits.iter().copied().step_by(10).collect();
        let values = (0..digits.len()).map(|i| u32::from(zeros[i / 10]) + i as u32 % 10);
        assert!(digits.iter().map(|c| u32::from(*c)).eq(values), "digits of a script that do not follow its zero");
        assert!(greek_marks.is_subset(&compose_backwards), "a Greek mark that normalisation takes for unchanged");
        Self { compose_backwards, greek_marks, zeros }
    }

    /// The normal form of a character that stands alone, as normalise.rs defines it.
    fn normal_form(&self, text: &str) -> String {
        let visible: String = text.chars().filter(|c| !IGNORABLE.contains(*c)).collect();
        let folded = CaseMapper::new().fold_string(&NFKC.normalize(&visible)).into_owned();
        let mut normal = String::new();
        let mut is_after_greek = false;
        for c in folded.chars().filter(|c| !IGNORABLE.contains(*c) && !is_optional(*c)) {
            let mut utf8 = [0; 4];
            let is_greek = SCRIPT.get(c) == Script::Greek && is_letter(c);
            match c {
                '\u{131}' => normal.push('i'),
                '\u{307}' if normal.ends_with('i') => (),
                _ if is_greek => normal.extend(NFD.normalize(c.encode_utf8(&mut utf8)).chars().next()),
                _ if is_after_greek && self.greek_marks.contains(&c) => continue,
                _ if is_digit(c) => normal.push(ascii_digit(c, &self.zeros)),
                _ => normal.push(look_alike(c)),
            }
            is_after_greek = is_greek;
        }
        normal
    }

    fn class(&self, c: char) -> u8 {
        let mut utf8 = [0; 4];
        let text = &*c.encode_utf8(&mut utf8);
        if IGNORABLE.contains(c) {
            return SEPARATOR | INVISIBLE;
        }
        // With a line break after it, it is removed, and then what follows may combine with what is before it.
        if c == HYPHEN {
            return SEPARATOR;
        }
        let normal = NFKC.normalize(text);
        let first = DecomposingNormalizer::new_nfkd().normalize(text).chars().next().unwrap_or(c);

        let mut class = kind(c);
        let starter = is_starter(c);
        if starter && is_starter(first) && !self.compose_backwards.contains(&first) && !is_optional(first) {
            class |= BOUNDARY;
        }
        // NFKC turns full-width commas, ideographic spaces and the like into other separators, which is the same to the
        // tokenizer.
        let stays_separator = class == SEPARATOR | BOUNDARY
            && !is_optional(c)
            && normal.chars().all(|c| kind(c) == SEPARATOR && is_starter(c));
        if (self.normal_form(text) == text && !self.compose_backwards.contains(&c)) || stays_separator {
            class |= UNCHANGED;
        }
        if !starter {
            class |= REORDERS;
        }
        if is_digit(c) {
            class |= DIGIT;
        }
        if is_optional(c) {
            class |= OPTIONAL;
        }
        class
    }
}

fn is_letter(c: char) -> bool {
    GeneralCategoryGroup::Letter.contains(CATEGORY.get(c))
}

fn is_digit(c: char) -> bool {
    CATEGORY.get(c) == Gc::DecimalNumber
}

fn is_starter(c: char) -> bool {
    COMBINING.get(c) == CanonicalCombiningClass::NotReordered
}

/// Whether the character is removed after normalisation.
fn is_optional(c: char) -> bool {
    let script = SCRIPT.get(c);
    let is_point = CATEGORY.get(c) == Gc::NonspacingMark
        && (matches!(script, Script::Arabic | Script::Hebrew)
            || script == Script::Inherited && ScriptWithExtensions::new().has_script(c, Script::Arabic));
    is_point || JOINING.get(c) == JoiningType::JoinCausing
}

/// The name of the alphabet of a letter, as an enum in classes.rs has it.
fn alphabet(c: char) -> Option<&'static str> {
    match SCRIPT.get(c) {
        _ if !is_letter(c) => None,
        Script::Latin => Some("Latin"),
        Script::Greek => Some("Greek"),
        Script::Cyrillic => Some("Cyrillic"),
        _ => None,
    }
}

/// The kind of a character, as class_bits.rs defines it.
fn kind(c: char) -> u8 {
    const SPACELESS_SCRIPTS: [Script; 7] =
        [Script::Han, Script::Hiragana, Script::Katakana, Script::Thai, Script::Lao, Script::Khmer, Script::Myanmar];
    let category = CATEGORY.get(c);
    let is_spaceless = c == '\u{30FC}' || SPACELESS_SCRIPTS.contains(&SCRIPT.get(c));
    if (is_letter(c) || category == Gc::LetterNumber) && is_spaceless {
        SPACELESS
    } else if is_letter(c) || GeneralCategoryGroup::Number.contains(category) {
        WORD
    } else if GeneralCategoryGroup::Mark.contains(category) {
        MARK
    } else {
        SEPARATOR
    }
}

/// The character at a code point. More than four fifths of all have none: they are not assigned, for private use, or
/// surrogates, and normalisation and case folding leave them as they are.
fn character(c: u32) -> Option<char> {
    char::from_u32(c).filter(|&c| !matches!(CATEGORY.get(c), Gc::Unassigned | Gc::PrivateUse))
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
            .map(|c| match character(c) {
                Some(c) => unicode.class(c),
                None if IGNORABLE.contains32(c) => SEPARATOR | INVISIBLE,
                None => SEPARATOR | UNCHANGED | BOUNDARY,
            })
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
    let mut alphabets: Vec<(char, char, &str)> = Vec::new();
    for c in (0..CODE_POINTS).filter_map(character) {
        let Some(name) = alphabet(c) else { continue };
        match alphabets.last_mut() {
            Some((_, last, of_last)) if *of_last == name && u32::from(*last) + 1 == u32::from(c) => *last = c,
            _ => alphabets.push((c, c, name)),
        }
    }
    writeln!(source, "static ALPHABETS: [(char, char, Alphabet); {}] = [", alphabets.len()).unwrap();
    for (first, last, alphabet) in alphabets {
        writeln!(source, "    ({first:?}, {last:?}, Alphabet::{alphabet}),").unwrap();
    }
    writeln!(source, "];").unwrap();
    let marks: Vec<_> = unicode.greek_marks.iter().collect();
    writeln!(source, "static GREEK_MARKS: [char; {}] = {marks:?};", marks.len()).unwrap();
    writeln!(source, "static ZEROS: [char; {}] = {:?};", unicode.zeros.len(), unicode.zeros).unwrap();
    let out = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&out).join("classes.rs"), source).expect("OUT_DIR is writable");
}
