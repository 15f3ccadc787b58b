// The bits of a character's class, and the characters that stand for others. build.rs, which writes the table of
// classes, and classes.rs, which reads it, both include this file.

/// Mask of the kind: how the tokenizer treats a character of normalised text.
pub const KIND: u8 = 0b11;
/// The character is part of no token; it ends the token before it.
pub const SEPARATOR: u8 = 0;
/// A letter of a script written with spaces, or a number of any script.
pub const WORD: u8 = 1;
/// A letter of a script written without spaces: a token by itself.
pub const SPACELESS: u8 = 2;
/// A mark: part of the token right before it, if any.
pub const MARK: u8 = 3;

/// Normalisation leaves the character unchanged wherever it stands, except for the order of marks; or it is a separator
/// that normalisation turns into separators.
pub const UNCHANGED: u8 = 1 << 2;
/// Normalisation of the character and of what follows it never depends on what stands before it.
pub const BOUNDARY: u8 = 1 << 3;
/// The canonical combining class is not 0: normalisation may swap the character with a mark next to it.
pub const REORDERS: u8 = 1 << 4;
/// A decimal digit of any script.
pub const DIGIT: u8 = 1 << 5;
/// Nobody sees the character (Default_Ignorable_Code_Point): it is removed before normalisation, as by NFKC_Casefold.
pub const INVISIBLE: u8 = 1 << 6;
/// Writing may leave it out, so it is removed after normalisation: Arabic and Hebrew points, and characters that only
/// stretch the connection of two letters (Joining_Type = Join_Causing).
pub const OPTIONAL: u8 = 1 << 7;

/// A hyphen that is never written for a minus sign. Before a line break it is removed.
pub const HYPHEN: char = '\u{2010}';

/// The character that represents `c`, and all that look like it, in a normal form.
pub fn look_alike(c: char) -> char {
    match c {
        // Letters that are written for an apostrophe.
        '\u{2bb}'..='\u{2bf}' | '\u{a78b}' | '\u{a78c}' => '\'',
        // Yeh and kaf of Persian, and yeh without dots.
        '\u{649}' | '\u{6cc}' => '\u{64a}',
        '\u{6a9}' => '\u{643}',
        // The commas of Romanian: older texts have cedillas instead.
        '\u{218}' => '\u{15e}',
        '\u{219}' => '\u{15f}',
        '\u{21a}' => '\u{162}',
        '\u{21b}' => '\u{163}',
        _ => c,
    }
}

/// The digit 0 to 9 with the value of `digit`, which is a decimal digit of any script. `zeros` are the digits 0 of all
/// scripts, in ascending order: the other digits of a script follow its zero.
pub fn ascii_digit(digit: char, zeros: &[char]) -> char {
    let zero = zeros[zeros.partition_point(|zero| *zero <= digit) - 1];
    char::from(b'0' + (digit as u32 - zero as u32) as u8)
}
