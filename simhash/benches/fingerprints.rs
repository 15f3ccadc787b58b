//! Makes as many fingerprints of realistic texts as a search benchmark needs, from far fewer real documents.
//!
//! `cargo bench -p simhash --bench fingerprints -- COUNT FILE.jsonl ...` prints COUNT lines with a number, from 1, and
//! a fingerprint, as `COPY` reads them. Every fingerprint is that of a whole text, made like this:
//!
//! - three in four texts are two to eight excerpts of up to 500 bytes, of whole lines, from random documents of one
//!   FILE; a FILE is chosen in proportion to its size. Such texts share the vocabulary and the boilerplate of their
//!   kind, which is what makes real fingerprints uneven;
//! - one in four texts revises another of these texts: up to one in fifty of its words is replaced by a word from
//!   elsewhere.
//!
//! The fingerprints depend on nothing but the files.

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use simhash::fingerprint::options::Options;
use simhash::fingerprint::{Fingerprinter, Scratch};
use simhash::random::Random;
use xxhash_rust::xxh3::xxh3_64_with_seed;

mod documents;

const EXCERPTS: std::ops::RangeInclusive<u64> = 2..=8;
const EXCERPT_LENGTH: usize = 500;
/// One in this many texts revises another.
const TEXTS_PER_REVISION: u64 = 4;
/// A revision replaces each word with a chance of at most one in this number.
const WORDS_PER_REPLACEMENT: u64 = 50;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let Some((Ok(count), files)) = arguments.split_first().map(|(count, files)| (count.parse(), files)) else {
        println!("skipped: no number of fingerprints");
        return ExitCode::SUCCESS;
    };
    match Library::read(files).and_then(|library| print(&library, count)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cannot make fingerprints: {error}");
            ExitCode::FAILURE
        }
    }
}

fn print(library: &Library, count: u64) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut scratch = Scratch::default();
    for number in 1..=count {
        // A text of punctuation only has no fingerprint: draw again.
        let fingerprint = (0..).find_map(|attempt| {
            let text = library.text(number, attempt);
            Fingerprinter::new(&mut scratch, &Options::default(), &|| ()).fingerprint(&text).ok().flatten()
        });
        if let Some(fingerprint) = fingerprint {
            writeln!(out, "{number}\t{}", fingerprint.cast_signed())?;
        }
    }
    out.flush()
}

/// The documents that excerpts come from.
struct Library {
    /// The documents of each file, with the number of bytes in this and all earlier files.
    shelves: Vec<(u64, Vec<String>)>,
    bytes: u64,
}

impl Library {
    fn read(files: &[String]) -> io::Result<Self> {
        let mut shelves = Vec::new();
        let mut bytes = 0;
        for file in files {
            let texts = documents::read(Path::new(file))?.into_iter().map(|document| document.text);
            let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
            bytes += texts.iter().map(|text| text.len() as u64).sum::<u64>();
            shelves.push((bytes, texts));
        }
        if bytes == 0 {
            return Err(io::Error::other("there is no text in these files"));
        }
        Ok(Self { shelves, bytes })
    }

    /// The text with this number, which is another one for each attempt.
    fn text(&self, number: u64, attempt: u64) -> String {
        let mut dice = Random(xxh3_64_with_seed(&number.to_le_bytes(), attempt));
        if number > 1 && dice.below(TEXTS_PER_REVISION) == 0 {
            let original = 1 + dice.below(number - 1);
            return self.revise(&self.text(original, 0), &mut dice);
        }
        self.compose(&mut dice)
    }

    fn compose(&self, dice: &mut Random) -> String {
        let shelf = self.shelf(dice);
        let count = EXCERPTS.start() + dice.below(EXCERPTS.end() - EXCERPTS.start() + 1);
        (0..count).map(|_| excerpt(shelf, dice)).collect()
    }

    fn revise(&self, text: &str, dice: &mut Random) -> String {
        let per_million = dice.below(1_000_000 / WORDS_PER_REPLACEMENT);
        let mut revised = String::with_capacity(text.len());
        for word in text.split_inclusive(char::is_whitespace) {
            if dice.below(1_000_000) < per_million {
                let elsewhere = excerpt(self.shelf(dice), dice);
                revised.push_str(elsewhere.split_whitespace().next().unwrap_or_default());
                revised.push(' ');
            } else {
                revised.push_str(word);
            }
        }
        revised
    }

    /// The documents of one file.
    fn shelf(&self, dice: &mut Random) -> &[String] {
        let at = dice.below(self.bytes);
        let shelf = self.shelves.iter().find(|(end, _)| at < *end);
        shelf.map_or(&[], |(_, texts)| texts)
    }
}

/// Whole lines of one document, from a random offset on.
fn excerpt<'a>(shelf: &'a [String], dice: &mut Random) -> &'a str {
    let text = dice.one_of(shelf);
    let offset = text.floor_char_boundary(dice.below(text.len() as u64) as usize);
    let start = text[..offset].rfind('\n').map_or(0, |newline| newline + 1);
    let fitting = &text[start..text.floor_char_boundary(start + EXCERPT_LENGTH)];
    fitting.rfind('\n').map_or(fitting, |newline| &fitting[..=newline])
}
