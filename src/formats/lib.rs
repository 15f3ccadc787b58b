//! Reads the lexemes of a tsvector from its bytes. Any bytes are accepted, and no server is needed.

#![forbid(unsafe_code)]

/// ts_rank's default weights of the labels D, C, B and A, in tenths.
const LABEL_WEIGHTS: [u64; 4] = [1, 2, 4, 10];

/// The lexemes of a tsvector with their weights in tenths; None for a lexeme that is not wholly inside the tsvector.
///
/// After its length word, a tsvector (`TSVectorData` in PostgreSQL's tsearch/ts_type.h) is the number of entries, the
/// entries, and the lexemes. A lexeme with positions is followed, at an even offset, by their number and the positions.
pub struct Lexemes<'a> {
    entries: std::slice::Iter<'a, [u8; 4]>,
    /// The lexemes, with their positions.
    strings: &'a [u8],
}

impl<'a> Lexemes<'a> {
    /// The lexemes in the bytes after the length word; None if the entries are not wholly inside.
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let (count, rest) = bytes.split_first_chunk()?;
        let entry_bytes = usize::try_from(i32::from_ne_bytes(*count)).ok()?.checked_mul(size_of::<[u8; 4]>())?;
        let (entries, strings) = rest.split_at_checked(entry_bytes)?;
        Some(Self { entries: entries.as_chunks().0.iter(), strings })
    }

    /// The lexeme of an entry, and its weight: the sum of the weights of its positions.
    fn read(&self, entry: [u8; 4]) -> Option<(&'a [u8], u64)> {
        // C bit fields, from the lowest bit on: whether it has positions (1 bit), its length (11), its offset (20).
        const { assert!(cfg!(target_endian = "little"), "bit fields are laid out in the other order here") };
        let bits = u32::from_ne_bytes(entry);
        let (has_positions, length, offset) = (bits & 1 == 1, bits >> 1 & 0x7ff, bits >> 12);
        let end = (offset + length) as usize;
        let lexeme = self.strings.get(offset as usize..end)?;
        if !has_positions {
            // It weighs as much as one position with label D.
            return Some((lexeme, LABEL_WEIGHTS[0]));
        }
        let (count, rest) = self.strings.get(end.next_multiple_of(2)..)?.split_first_chunk()?;
        let (positions, _) = rest.get(..usize::from(u16::from_ne_bytes(*count)) * 2)?.as_chunks();
        // The label is in the two highest bits of a position; D is 0.
        let label = |position: &[u8; 2]| usize::from(u16::from_ne_bytes(*position) >> 14);
        Some((lexeme, positions.iter().map(|position| LABEL_WEIGHTS[label(position)]).sum()))
    }
}

impl<'a> Iterator for Lexemes<'a> {
    type Item = Option<(&'a [u8], u64)>;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = *self.entries.next()?;
        Some(self.read(entry))
    }
}
