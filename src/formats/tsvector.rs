//! What is in a tsvector, from its bytes. Any bytes will do: nothing is taken for granted, and no server is needed.

/// ts_rank's default weights of the labels D, C, B and A, in tenths.
const LABEL_WEIGHTS: [u64; 4] = [1, 2, 4, 10];
/// A lexeme without positions counts as one in a D position.
const NO_POSITION: u64 = LABEL_WEIGHTS[0];

/// The lexemes with their weights, in tenths; None for one that leads outside of the tsvector.
///
/// Its inside, after the length word (`TSVectorData` in PostgreSQL's tsearch/ts_type.h): the number of entries, the
/// entries, then the lexemes; behind each that has positions, at an even place, their number and the positions.
pub struct Lexemes<'a> {
    entries: std::slice::ChunksExact<'a, u8>,
    strings: &'a [u8],
}

impl<'a> Lexemes<'a> {
    /// None if there is not even room for the entries.
    pub fn new(inside: &'a [u8]) -> Option<Self> {
        let (count, rest) = inside.split_first_chunk()?;
        let bytes = usize::try_from(i32::from_ne_bytes(*count)).ok()?.checked_mul(4)?;
        let (entries, strings) = rest.split_at_checked(bytes)?;
        Some(Self { entries: entries.chunks_exact(4), strings })
    }

    /// Lexeme and weight of an entry.
    fn read(&self, entry: [u8; 4]) -> Option<(&'a [u8], u64)> {
        // C bit fields from the lowest bit on: 1 bit "has positions", 11 bits length, 20 bits place.
        const { assert!(cfg!(target_endian = "little"), "bit fields are laid out in the other order here") };
        let entry = u32::from_ne_bytes(entry);
        let (has_positions, length, place) = (entry & 1 == 1, entry >> 1 & 0x7ff, entry >> 12);
        let end = (place + length) as usize;
        let lexeme = self.strings.get(place as usize..end)?;
        if !has_positions {
            return Some((lexeme, NO_POSITION));
        }
        let (count, positions) = self.strings.get(end.next_multiple_of(2)..)?.split_first_chunk()?;
        let positions = positions.get(..usize::from(u16::from_ne_bytes(*count)) * 2)?;
        let (positions, _) = positions.as_chunks();
        // The label is in the two highest bits of a position: D is 0.
        let label = |position: &[u8; 2]| usize::from(u16::from_ne_bytes(*position) >> 14);
        Some((lexeme, positions.iter().map(|position| LABEL_WEIGHTS[label(position)]).sum()))
    }
}

impl<'a> Iterator for Lexemes<'a> {
    type Item = Option<(&'a [u8], u64)>;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.entries.next()?;
        Some(entry.try_into().ok().and_then(|entry| self.read(entry)))
    }
}
