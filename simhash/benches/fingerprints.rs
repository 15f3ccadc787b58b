//! Makes as many fingerprints of realistic texts as a search benchmark needs, from far fewer real documents.
//!
//! `cargo bench -p simhash --bench fingerprints -- COUNT FILE.jsonl ...` prints COUNT lines with a number, from 1, and
//! a fingerprint, as `COPY` reads them. Every fingerprint is that of a whole text, made like this:
//!
//! - three in four texts are two to eight excerpts of up to 500 bytes, of whole lines, from random documents of one
//!   FILE; a FILE is chosen in proportion to its size. Such texts share the vocabulary and the boilerplate of their
//!   kind, which is what makes real fingerprints uneven;
//! - one in four texts is an edit of another of these texts: up to one in fifty of its words is replaced by a word from
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

const MIN_EXCERPTS: u64 = 2;
const MAX_EXCERPTS: u64 = 8;
const MAX_EXCERPT_LENGTH: usize = 500;
/// One in this many texts is an edit of another.
const ONE_EDIT_IN: u64 = 4;
/// An edit replaces each word with a chance of at most one in this many.
const ONE_REPLACEMENT_IN: u64 = 50;

fn main() -> ExitCode {
    let arguments = documents::arguments();
    let Some((Ok(count), files)) = arguments.split_first().map(|(count, files)| (count.parse(), files)) else {
        println!("skipped: no number of fingerprints");
        return ExitCode::SUCCESS;
    };
    match RandomTexts::read(files).and_then(|texts| print(&texts, count)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cannot make fingerprints: {error}");
            ExitCode::FAILURE
        }
    }
}

fn print(texts: &RandomTexts, count: u64) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut scratch = Scratch::default();
    for number in 1..=count {
        // A text of punctuation only has no fingerprint: another one is drawn.
        let fingerprint = (0..).find_map(|attempt| {
            let text = texts.draw(number, attempt);
            Fingerprinter::new(&mut scratch, &Options::default(), &|| ()).fingerprint(&text).ok().flatten()
        });
        if let Some(fingerprint) = fingerprint {
            writeln!(out, "{number}\t{}", fingerprint.cast_signed())?;
        }
    }
    out.flush()
}

/// A sequence of random texts, which is the same in each run.
struct RandomTexts {
    /// The documents of each file, with the number of bytes in this and all earlier files.
    documents_by_file: Vec<(u64, Vec<String>)>,
    bytes: u64,
}

impl RandomTexts {
    fn read(files: &[String]) -> io::Result<Self> {
        let mut documents_by_file = Vec::new();
        let mut bytes = 0;
        for file in files {
            let texts = documents::read(Path::new(file))?.into_iter().map(|document| document.text);
            let documents: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
            bytes += documents.iter().map(|text| text.len() as u64).sum::<u64>();
            documents_by_file.push((bytes, documents));
        }
        if bytes == 0 {
            return Err(io::Error::other("there is no text in these files"));
        }
        Ok(Self { documents_by_file, bytes })
    }

    /// The text with this number, which is another one for each attempt.
    fn draw(&self, number: u64, attempt: u64) -> String {
        let mut random = Random(xxh3_64_with_seed(&number.to_le_bytes(), attempt));
        if number > 1 && random.below(ONE_EDIT_IN) == 0 {
            let original = 1 + random.below(number - 1);
            return self.edit(&self.draw(original, 0), &mut random);
        }
        self.compose(&mut random)
    }

    fn compose(&self, random: &mut Random) -> String {
        let documents = self.documents_of_a_file(random);
        let count = MIN_EXCERPTS + random.below(MAX_EXCERPTS - MIN_EXCERPTS + 1);
        (0..count).map(|_| excerpt(documents, random)).collect()
    }

    fn edit(&self, text: &str, random: &mut Random) -> String {
        let per_million = random.below(1_000_000 / ONE_REPLACEMENT_IN);
        let mut edited = String::with_capacity(text.len());
        for word in text.split_inclusive(char::is_whitespace) {
            if random.below(1_000_000) < per_million {
                let elsewhere = excerpt(self.documents_of_a_file(random), random);
                edited.push_str(elsewhere.split_whitespace().next().unwrap_or_default());
                edited.push(' ');
            } else {
                edited.push_str(word);
            }
        }
        edited
    }

    /// The documents of a random file, which is chosen in proportion to its size.
    fn documents_of_a_file(&self, random: &mut Random) -> &[String] {
        let offset = random.below(self.bytes);
        let chosen = self.documents_by_file.iter().find(|(end, _)| offset < *end);
        chosen.map_or(&[], |(_, documents)| documents)
    }
}

/// Whole lines of one document, from a random offset on.
fn excerpt<'a>(documents: &'a [String], random: &mut Random) -> &'a str {
    let text = random.one_of(documents);
    let offset = text.floor_char_boundary(random.below(text.len() as u64) as usize);
    let start = text[..offset].rfind('\n').map_or(0, |newline| newline + 1);
    let fitting = &text[start..text.floor_char_boundary(start + MAX_EXCERPT_LENGTH)];
    fitting.rfind('\n').map_or(fitting, |newline| &fitting[..=newline])
}
