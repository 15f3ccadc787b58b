// The bits of a character's class; shared by build.rs, which writes the table, and classes.rs, which reads it.

/// Mask of the kind: how the tokenizer treats a character of normalised text.
pub const KIND: u8 = 0b11;
/// Part of no token; ends the token before it.
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
/// Nobody sees it (Default_Ignorable_Code_Point), so it is removed before normalisation, as NFKC_Casefold does.
pub const INVISIBLE: u8 = 1 << 6;
/// Writing may leave it out, so it is removed after normalisation: Arabic and Hebrew points, and characters that only
/// stretch the connection of two letters (Joining_Type = Join_Causing).
pub const OPTIONAL: u8 = 1 << 7;
