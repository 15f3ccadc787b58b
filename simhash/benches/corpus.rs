//! Gathers the documents for the other benchmarks, from files that every developer's machine has.
//!
//! `cargo bench -p simhash --bench corpus -- FOLDER [DATA]` writes these files into FOLDER, with one JSON object
//! with "id" and "text" a line:
//!
//! - `english.jsonl`: copyright files and changelogs of the installed packages (`/usr/share/doc`);
//! - `source.jsonl`: C headers (`/usr/include`) and the Rust source of the crates in cargo's registry;
//! - `chinese.jsonl`: the set of Chinese laws of `quality.rs`, if the folder DATA holds it (`laws*.jsonl.gz`);
//! - `lines.jsonl`: 200 thousand lines of English, as short documents;
//! - `pages.jsonl`: 100 thousand pages of all these and of other text files beside them, at most 4,000 bytes each.
//!
//! The order depends on nothing but the files. Files of more than 1 MB are left out, and files with a zero byte, which
//! PostgreSQL's `text` cannot hold. With `QUICK=1`, a tenth of everything.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;
use xxhash_rust::xxh3::xxh3_64;

mod documents;

use documents::Document;

const MAX_FILE_BYTES: usize = 1_000_000;
/// A set gets no further file when it has this many bytes.
const MIN_SET_BYTES: usize = 60_000_000;
const MAX_LINES: usize = 200_000;
const MAX_PAGES: usize = 100_000;
const MAX_PAGE_BYTES: usize = 4_000;

fn main() -> ExitCode {
    let arguments = documents::arguments();
    let Some(folder) = arguments.first() else {
        println!("skipped: no folder to write to");
        return ExitCode::SUCCESS;
    };
    match gather(Path::new(folder), arguments.get(1).map(Path::new)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cannot gather documents in {folder}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn gather(folder: &Path, data: Option<&Path>) -> io::Result<()> {
    let divisor = if std::env::var_os("QUICK").is_some_and(|quick| !quick.is_empty()) { 10 } else { 1 };
    std::fs::create_dir_all(folder)?;

    let docs = Path::new("/usr/share/doc");
    let headers = Path::new("/usr/include");
    let crates = cargo_home().join("registry/src");

    let english = read_files(&find_files(&[docs], is_english), MIN_SET_BYTES / divisor)?;
    let source = read_files(&find_files(&[headers, &crates], is_source), MIN_SET_BYTES / divisor)?;
    let chinese = read_laws(data)?;
    write_set(folder, "english", "/usr/share/doc: copyright, changelog", &english)?;
    write_set(folder, "source", "/usr/include: headers; cargo's registry: Rust", &source)?;
    write_set(folder, "chinese", "laws set of the quality data", &chinese)?;

    write_set(folder, "lines", "lines of the English set", &lines(&english, MAX_LINES / divisor))?;

    let others = find_files(&[docs, headers, &crates], |path| !is_english(path) && !is_source(path) && is_text(path));
    let mut all = chinese;
    all.extend(english);
    all.extend(read_files(&find_files(&[headers, &crates], is_source), usize::MAX)?);
    all.extend(read_files(&others, usize::MAX)?);
    write_set(
        folder,
        "pages",
        "pages of all of these and of README, Markdown and TOML files",
        &pages(&all, MAX_PAGES / divisor),
    )
}

fn cargo_home() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cargo");
    std::env::var_os("CARGO_HOME").map_or_else(home, PathBuf::from)
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn is_english(path: &Path) -> bool {
    let name = file_name(path).to_lowercase();
    name == "copyright" || name.starts_with("changelog")
}

fn is_source(path: &Path) -> bool {
    [".h", ".hpp", ".rs"].iter().any(|extension| file_name(path).ends_with(extension))
}

fn is_text(path: &Path) -> bool {
    let name = file_name(path);
    [".md", ".toml", ".txt", ".c", ".html"].iter().any(|ending| name.ends_with(ending)) || name.starts_with("README")
}

/// The wanted files in and below the folders, in an order that mixes them.
fn find_files(folders: &[&Path], wanted: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in folders {
        find_in_folder(folder, &wanted, &mut found);
    }
    found.sort_by_cached_key(|path| (xxh3_64(path.as_os_str().as_encoded_bytes()), path.clone()));
    found
}

fn find_in_folder(folder: &Path, wanted: &impl Fn(&Path) -> bool, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => find_in_folder(&path, wanted, found),
            Ok(kind) if kind.is_file() && wanted(&path) => found.push(path),
            _ => (),
        }
    }
}

/// Whether a text is small enough for the sets, and fit for PostgreSQL.
fn fits(text: &str) -> bool {
    (1..=MAX_FILE_BYTES).contains(&text.len()) && !text.contains('\0')
}

/// The documents in these files, until they have `min_bytes` bytes together. Files with the same content count once.
fn read_files(files: &[PathBuf], min_bytes: usize) -> io::Result<Vec<Document>> {
    let mut documents = Vec::new();
    let mut seen = HashSet::new();
    let mut sum = 0;
    for path in files {
        let Ok(text) = documents::read_text(path) else { continue };
        if fits(&text) && seen.insert(xxh3_64(text.as_bytes())) {
            sum += text.len();
            documents.push(Document { id: path.to_string_lossy().into_owned(), text });
        }
        if sum >= min_bytes {
            break;
        }
    }
    Ok(documents)
}

fn read_laws(data: Option<&Path>) -> io::Result<Vec<Document>> {
    let Some(data) = data.filter(|data| data.is_dir()) else { return Ok(Vec::new()) };
    let mut documents = Vec::new();
    for entry in std::fs::read_dir(data)? {
        let path = entry?.path();
        if file_name(&path).starts_with("laws") && file_name(&path).ends_with(".jsonl.gz") {
            documents.extend(documents::read(&path)?.into_iter().filter(|document| fits(&document.text)));
        }
    }
    Ok(documents)
}

/// At most `max_count` lines that are not blank.
fn lines(documents: &[Document], max_count: usize) -> Vec<Document> {
    let lines = documents.iter().flat_map(|document| document.text.lines()).filter(|line| !line.trim().is_empty());
    let document = |(i, line): (usize, &str)| Document { id: i.to_string(), text: line.to_owned() };
    lines.enumerate().map(document).take(max_count).collect()
}

/// At most `max_count` pages of the documents, in an order that mixes them. Pages end at line ends, or within a line
/// that is longer than a page.
fn pages(documents: &[Document], max_count: usize) -> Vec<Document> {
    let mut pages = Vec::new();
    for document in documents {
        let mut rest = document.text.as_str();
        while !rest.is_empty() {
            let fitting = &rest[..rest.floor_char_boundary(MAX_PAGE_BYTES)];
            let line_end = fitting.rfind('\n').map_or(fitting.len(), |newline| newline + 1);
            let (page, after) = rest.split_at(if fitting.len() == rest.len() { rest.len() } else { line_end });
            pages.push(Document { id: format!("{} {}", document.id, pages.len()), text: page.to_owned() });
            rest = after;
        }
    }
    pages.sort_by_cached_key(|page| xxh3_64(page.id.as_bytes()));
    pages.truncate(max_count);
    pages
}

fn write_set(folder: &Path, name: &str, origin: &str, documents: &[Document]) -> io::Result<()> {
    let path = folder.join(format!("{name}.jsonl"));
    if documents.is_empty() {
        println!("{name:<8} none ({origin})");
        return std::fs::remove_file(path).or(Ok(()));
    }
    let mut file = BufWriter::new(File::create(path)?);
    for document in documents {
        writeln!(file, "{}", json!({"id": document.id, "text": document.text}))?;
    }
    file.flush()?;
    let bytes: usize = documents.iter().map(|document| document.text.len()).sum();
    let ascii = documents.iter().flat_map(|document| document.text.bytes()).filter(u8::is_ascii).count();
    println!(
        "{name:<8} {:>7} documents, {:>6.1} MB, {:>5.1} % ASCII: {origin}",
        documents.len(),
        bytes as f64 / 1e6,
        ascii as f64 * 100.0 / bytes as f64
    );
    Ok(())
}
