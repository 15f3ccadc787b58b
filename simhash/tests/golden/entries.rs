//! Reads the entries of the golden files.

use serde_json::Value;

/// The entries of a file, which has one JSON object a line.
pub fn entries(file: &str) -> Vec<Value> {
    file.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

/// The text of an entry: literal, a repeated piece, or a piece that is repeated with the numbers from 0 in it.
pub fn text(entry: &Value) -> String {
    let piece_and_count = |key| {
        let pair: &Value = entry.get(key)?;
        Some((pair[0].as_str()?, pair[1].as_u64()?))
    };
    if let Some((piece, count)) = piece_and_count("repeat") {
        return piece.repeat(count as usize);
    }
    if let Some((piece, count)) = piece_and_count("numbered") {
        return (0..count).map(|i| piece.replace("{}", &i.to_string())).collect();
    }
    entry["text"].as_str().expect("an entry has a text").to_owned()
}
