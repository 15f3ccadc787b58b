//! Reads an input as numbers and bytes, so that a check can build something from it.

/// What is left of an input. Bytes that are missing at its end are read as 0.
pub struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        for (byte, from) in bytes.iter_mut().zip(self.take(N)) {
            *byte = *from;
        }
        bytes
    }

    /// A byte as a number, where the character '0' is 0: digits keep cases legible, and other bytes are accepted.
    pub fn number(&mut self) -> u8 {
        let [byte] = self.bytes();
        byte.wrapping_sub(b'0')
    }

    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.bytes())
    }

    /// The next `most` bytes, or fewer at the end.
    pub fn take(&mut self, most: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(most.min(self.0.len()));
        self.0 = rest;
        taken
    }
}
