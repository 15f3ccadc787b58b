//! Compares Unicode libraries, and whether a table of our own is worth it: ICU4X, the unicode-rs family and
//! `pg_simhash` on the two tasks that a fingerprint needs, in MB/s of the text.
//!
//! - normalise: the whole text through NFKC and full case folding.
//! - classify: for each character, whether it is a letter or number, a letter of a script written without spaces, a
//!   mark, or none of these (by general category and script).
//!
//! `cargo bench -p simhash --bench unicode -- FILE.jsonl[.gz] ...`. Each English set is also measured with its letters
//! replaced by Cyrillic ones, and with its vowels accented by combining marks (which NFKC composes). The
//! implementations take turns; the result is the median of all runs.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use caseless::Caseless;
use icu_casemap::CaseMapper;
use icu_normalizer::ComposingNormalizerBorrowed;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup, Script};
use icu_properties::{CodePointMapData, CodePointMapDataBorrowed};
use simhash::text::classes::{self, MARK, SEPARATOR, SPACELESS, WORD};
use simhash::text::normalise::normalise;
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory as RsCategory, GeneralCategoryGroup as RsGroup, UnicodeGeneralCategory};
use unicode_script::{Script as RsScript, UnicodeScript};

mod documents;

const RUNS: usize = 9;
/// Size of each set in bytes.
const BYTES: usize = 4_000_000;

/// An implementation of a task: its name, and a function that runs it on texts.
type Way = (&'static str, fn(&[String]));

const NORMALISE: [Way; 3] =
    [("ICU4X", normalise_icu), ("unicode-rs", normalise_unicode_rs), ("pg_simhash", normalise_own)];
const CLASSIFY: [Way; 3] = [("ICU4X", classify_icu), ("unicode-rs", classify_unicode_rs), ("pg_simhash", classify_own)];

fn main() {
    let mut texts: Vec<(String, Vec<String>)> = Vec::new();
    for path in std::env::args().skip(1).filter(|argument| argument != "--bench") {
        let Ok(documents) = documents::read(Path::new(&path)) else {
            println!("{path}: skipped, no documents there");
            continue;
        };
        let mut bytes = 0;
        let enough = |document: &String| {
            bytes += document.len();
            bytes - document.len() < BYTES
        };
        let documents: Vec<String> = documents.into_iter().map(|d| d.text).take_while(enough).collect();
        let name = path.rsplit('/').next().and_then(|name| name.split('.').next()).unwrap_or(&path).to_owned();
        if name.starts_with("english") {
            texts.push((format!("{name}, as Cyrillic"), documents.iter().map(|text| cyrillic(text)).collect()));
            texts.push((format!("{name}, with accents"), documents.iter().map(|text| accented(text)).collect()));
        }
        texts.push((name, documents));
    }
    if texts.is_empty() {
        println!("skipped: no documents");
        return;
    }
    texts.sort_by(|a, b| a.0.cmp(&b.0));
    texts.iter().for_each(|(name, documents)| check(name, documents));
    report("normalise", &NORMALISE, &texts);
    report("classify", &CLASSIFY, &texts);
}

fn report(what: &str, ways: &[Way], texts: &[(String, Vec<String>)]) {
    print!("{what:<24} {:>6}", "MB");
    ways.iter().for_each(|(name, _)| print!(" {:>16}", format!("{name}, MB/s")));
    println!("{:>20}", "pg_simhash : ICU4X");
    for (name, documents) in texts {
        let megabytes = documents.iter().map(String::len).sum::<usize>() as f64 / 1e6;
        let mut seconds = vec![Vec::new(); ways.len()];
        for _ in 0..RUNS {
            for ((_, way), seconds) in ways.iter().zip(&mut seconds) {
                let start = Instant::now();
                way(documents);
                seconds.push(start.elapsed().as_secs_f64());
            }
        }
        print!("{name:<24} {megabytes:>6.1}");
        let medians: Vec<f64> = seconds.iter_mut().map(|seconds| median(seconds)).collect();
        medians.iter().for_each(|median| print!(" {:>16.0}", megabytes / median));
        println!("{:>20.1}", medians[0] / medians[2]);
    }
}

fn median(seconds: &mut [f64]) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

/// Prints where the three implementations differ; they may only as far as their versions of Unicode do.
fn check(name: &str, documents: &[String]) {
    let mut texts = 0;
    for text in documents {
        let icu = CaseMapper::new().fold_string(&ComposingNormalizerBorrowed::new_nfkc().normalize(text)).into_owned();
        let unicode_rs: String = text.nfkc().default_case_fold().collect();
        texts += usize::from(icu != unicode_rs);
    }
    let (category, script) = properties();
    let mut all: Vec<char> = documents.iter().flat_map(|text| text.chars()).collect();
    all.sort_unstable();
    all.dedup();
    let differs = |c: &&char| {
        let icu = kind_icu(category.get(**c), script.get(**c), **c);
        icu != kind_unicode_rs(**c) || icu != classes::kind(u32::from(**c))
    };
    let characters = all.iter().filter(differs).count();
    if texts + characters > 0 {
        println!("{name}: the libraries differ on {texts} texts and {characters} characters");
    }
}

fn normalise_icu(documents: &[String]) {
    let nfkc = ComposingNormalizerBorrowed::new_nfkc();
    let fold = CaseMapper::new();
    for text in documents {
        black_box(&*fold.fold_string(&nfkc.normalize(text)));
    }
}

fn normalise_unicode_rs(documents: &[String]) {
    let mut normal = String::new();
    for text in documents {
        normal.clear();
        normal.extend(text.nfkc().default_case_fold());
        black_box(&*normal);
    }
}

fn normalise_own(documents: &[String]) {
    let mut normal = String::new();
    for text in documents {
        normal.clear();
        let _ = black_box(normalise(text, true, &mut normal, &|| ()));
        black_box(&*normal);
    }
}

/// Counts the characters of each kind, so that the answers are used.
fn count(documents: &[String], kind: impl Fn(char) -> u8) {
    let mut kinds = [0u32; 4];
    for c in documents.iter().flat_map(|text| text.chars()) {
        kinds[usize::from(kind(c))] += 1;
    }
    black_box(kinds);
}

fn properties() -> (CodePointMapDataBorrowed<'static, GeneralCategory>, CodePointMapDataBorrowed<'static, Script>) {
    (CodePointMapData::new(), CodePointMapData::new())
}

fn classify_icu(documents: &[String]) {
    let (category, script) = properties();
    count(documents, |c| kind_icu(category.get(c), script.get(c), c));
}

fn kind_icu(category: GeneralCategory, script: Script, c: char) -> u8 {
    let spaceless = matches!(
        script,
        Script::Han
            | Script::Hiragana
            | Script::Katakana
            | Script::Thai
            | Script::Lao
            | Script::Khmer
            | Script::Myanmar
    );
    let letter = GeneralCategoryGroup::Letter.contains(category);
    if (letter || category == GeneralCategory::LetterNumber) && (spaceless || c == '\u{30FC}') {
        SPACELESS
    } else if letter || GeneralCategoryGroup::Number.contains(category) {
        WORD
    } else if GeneralCategoryGroup::Mark.contains(category) {
        MARK
    } else {
        SEPARATOR
    }
}

fn classify_unicode_rs(documents: &[String]) {
    count(documents, kind_unicode_rs);
}

fn kind_unicode_rs(c: char) -> u8 {
    let spaceless = matches!(
        c.script(),
        RsScript::Han
            | RsScript::Hiragana
            | RsScript::Katakana
            | RsScript::Thai
            | RsScript::Lao
            | RsScript::Khmer
            | RsScript::Myanmar
    );
    let spaceless = spaceless || c == '\u{30FC}';
    match c.general_category_group() {
        RsGroup::Letter if spaceless => SPACELESS,
        RsGroup::Number if spaceless && c.general_category() == RsCategory::LetterNumber => SPACELESS,
        RsGroup::Letter | RsGroup::Number => WORD,
        RsGroup::Mark => MARK,
        _ => SEPARATOR,
    }
}

fn classify_own(documents: &[String]) {
    count(documents, |c| classes::kind(u32::from(c)));
}

/// Replaces each English letter by a Russian one; capitals stay capitals.
fn cyrillic(text: &str) -> String {
    let letter = |c: char| match c {
        'a'..='z' => char::from_u32(c as u32 - 'a' as u32 + 'а' as u32).unwrap_or(c),
        'A'..='Z' => char::from_u32(c as u32 - 'A' as u32 + 'А' as u32).unwrap_or(c),
        _ => c,
    };
    text.chars().map(letter).collect()
}

/// Adds a combining acute accent after each vowel.
fn accented(text: &str) -> String {
    text.chars().flat_map(|c| [Some(c), "aeiouAEIOU".contains(c).then_some('\u{301}')]).flatten().collect()
}
