//! Checks the reader of tsvectors: it reads back a tsvector that is built here, and reads any bytes as the definition
//! does, which goes byte by byte.
//!
//! An input begins with a digit: an even one for the bytes of a tsvector, an odd one for lexemes to build one from.

use formats::Lexemes;

use super::input::Input;

type Lexeme = (Vec<u8>, u64);

pub fn check(input: &[u8]) {
    let mut input = Input(input);
    if input.number().is_multiple_of(2) {
        assert_eq!(read(input.0), read_by_definition(input.0), "{:02x?}", input.0);
    } else {
        let (bytes, expected) = build(input);
        assert_eq!(read(&bytes), Some(expected.clone().into_iter().map(Some).collect()), "{bytes:02x?}");
        assert_eq!(read_by_definition(&bytes), Some(expected.into_iter().map(Some).collect()), "{bytes:02x?}");
    }
}

fn read(bytes: &[u8]) -> Option<Vec<Option<Lexeme>>> {
    let lexemes = Lexemes::new(bytes)?;
    Some(lexemes.map(|lexeme| lexeme.map(|(lexeme, weight)| (lexeme.to_vec(), weight))).collect())
}

/// The lexemes of a tsvector, read byte by byte; None for one that is not wholly inside.
fn read_by_definition(bytes: &[u8]) -> Option<Vec<Option<Lexeme>>> {
    let byte = |at: u64| bytes.get(at as usize).map(|byte| u64::from(*byte));
    let number = |at: u64, length: u64| -> Option<u64> { (0..length).map(|i| Some(byte(at + i)? << (8 * i))).sum() };
    let count = number(0, 4)?;
    let strings = 4 + 4 * count;
    if count >= 1 << 31 || strings > bytes.len() as u64 {
        return None;
    }
    let lexeme = |entry: u64| -> Option<Lexeme> {
        let entry = number(4 + 4 * entry, 4)?;
        let (offset, length) = (entry / (1 << 12), entry / 2 % (1 << 11));
        let lexeme = (0..length).map(|i| Some(byte(strings + offset + i)? as u8)).collect::<Option<Vec<u8>>>()?;
        // An empty lexeme must have its offset inside as well.
        if offset > bytes.len() as u64 - strings {
            return None;
        }
        if entry % 2 == 0 {
            return Some((lexeme, 1));
        }
        let positions = strings + (offset + length).div_ceil(2) * 2;
        let weights =
            (1..=number(positions, 2)?).map(|i| Some([1, 2, 4, 10][(number(positions + 2 * i, 2)? >> 14) as usize]));
        Some((lexeme, weights.sum::<Option<u64>>()?))
    };
    Some((0..count).map(lexeme).collect())
}

/// Builds a tsvector as PostgreSQL lays it out: one lexeme after the other, each followed by its positions at an even
/// offset.
fn build(mut input: Input) -> (Vec<u8>, Vec<Lexeme>) {
    let (mut entries, mut strings, mut lexemes) = (Vec::new(), Vec::new(), Vec::new());
    while !input.is_empty() {
        let (length, positions) = (input.number(), input.number());
        let lexeme = input.take(length.into());
        let entry = (strings.len() as u32) << 12 | (lexeme.len() as u32) << 1 | u32::from(positions > 0);
        entries.extend(entry.to_ne_bytes());
        strings.extend(lexeme);
        let mut weight = 1;
        if positions > 0 {
            weight = 0;
            strings.resize(strings.len().next_multiple_of(2), 0);
            strings.extend(u16::from(positions).to_ne_bytes());
            for _ in 0..positions {
                let position = input.u16();
                strings.extend(position.to_ne_bytes());
                weight += [1, 2, 4, 10][usize::from(position >> 14)];
            }
        }
        lexemes.push((lexeme.to_vec(), weight));
    }
    let count = (lexemes.len() as i32).to_ne_bytes();
    ([&count[..], &entries, &strings].concat(), lexemes)
}
