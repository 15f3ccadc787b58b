// The bits of a character's class; shared by build.rs, which writes the table, and classes.rs, which reads it.

/// Mask of the kind: what a character is to the tokenizer, once the text is normalised.
pub const KIND: u8 = 0b11;
/// Belongs to no token and ends the one before it.
pub const SEPARATOR: u8 = 0;
/// A letter of a script written with spaces, or a number of any script.
pub const WORD: u8 = 1;
/// A letter of a script written without spaces: a token by itself.
pub const SPACELESS: u8 = 2;
/// A mark: part of the token right before it, if there is one.
pub const MARK: u8 = 3;

/// NFKC and case folding leave it as it is wherever it stands, save for the order of marks; or a separator that they
/// turn into separators.
pub const PASSES: u8 = 1 << 2;
/// Normalisation of what follows it, itself included, never looks at what stands before it.
pub const BOUNDARY: u8 = 1 << 3;
/// Its canonical combining class is not 0: next to another such mark, normalisation may swap the two.
pub const REORDERS: u8 = 1 << 4;
