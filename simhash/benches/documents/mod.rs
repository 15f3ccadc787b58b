//! The arguments of a benchmark, and the documents that it measures on.
#![allow(dead_code, reason = "no benchmark uses all of this")]

use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

pub struct Document {
    /// The name of the document in its set.
    pub id: String,
    pub text: String,
}

/// The arguments, without the `--bench` that Cargo adds.
pub fn arguments() -> Vec<String> {
    std::env::args().skip(1).filter(|argument| argument != "--bench").collect()
}

/// The name and the texts of each set of documents that the arguments name. Those without text are skipped.
pub fn sets() -> impl Iterator<Item = (String, Vec<String>)> {
    arguments().into_iter().filter_map(|path| {
        let documents = read(Path::new(&path)).unwrap_or_default();
        let texts: Vec<String> = documents.into_iter().map(|document| document.text).collect();
        if texts.iter().all(String::is_empty) {
            println!("{path}: skipped, no documents there");
            return None;
        }
        let name = path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(&path).to_owned();
        Some((name, texts))
    })
}

/// The documents of a `.jsonl` or `.jsonl.gz` file, which has one JSON object with "id" and "text" a line; for a
/// folder, the UTF-8 files in and below it.
pub fn read(path: &Path) -> io::Result<Vec<Document>> {
    if path.is_dir() {
        let mut documents = Vec::new();
        read_folder(path, &mut documents)?;
        return Ok(documents);
    }
    let lines = read_text(path)?;
    let document = |line: &str| {
        let fields: Value = serde_json::from_str(line)?;
        let field = |name: &str| {
            fields[name].as_str().map(str::to_owned).ok_or_else(|| io::Error::other(format!("a line lacks \"{name}\"")))
        };
        Ok(Document { id: field("id")?, text: field("text")? })
    };
    lines.lines().map(document).collect()
}

/// The content of a text file, unpacked if its name ends in `.gz`.
pub fn read_text(path: &Path) -> io::Result<String> {
    if path.extension().is_none_or(|extension| extension != "gz") {
        return std::fs::read_to_string(path);
    }
    let mut gzip = Command::new("gzip").arg("-dc").arg(path).stdout(Stdio::piped()).spawn()?;
    let mut text = String::new();
    if let Some(output) = &mut gzip.stdout {
        output.read_to_string(&mut text)?;
    }
    if !gzip.wait()?.success() {
        return Err(io::Error::other("gzip failed"));
    }
    Ok(text)
}

fn read_folder(folder: &Path, documents: &mut Vec<Document>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            read_folder(&path, documents)?;
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            documents.push(Document { id: path.to_string_lossy().into_owned(), text });
        }
    }
    Ok(())
}
