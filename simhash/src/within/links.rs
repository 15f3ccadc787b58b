//! Links between the places of a text, of which [`tiles`](super::tiles) make chains.

use crate::error::Result;
use crate::memory::repeated;

/// For each place, the number of another place. Texts of fewer than 2^24 places are usual, for which three bytes are
/// enough: a quarter less memory. Others need four.
pub struct Links {
    bytes: Vec<u8>,
    width: usize,
    /// A link to nothing: all bits of a link, so also the mask of a link's bits.
    pub none: u32,
}

impl Links {
    /// `len` places that link to nothing.
    pub fn new(len: usize, tick: &dyn Fn()) -> Result<Self> {
        let width = if len < 1 << 24 { 3 } else { 4 };
        // A link of three bytes is read and written as four, of which the last belongs to the next link.
        let bytes = repeated(len * width + 1, u8::MAX, tick)?;
        Ok(Self { bytes, width, none: u32::MAX >> (32 - 8 * width) })
    }

    /// Lets all places from here on link to nothing.
    pub fn clear(&mut self, start: usize) {
        self.bytes[start * self.width..].fill(u8::MAX);
    }

    #[inline]
    pub fn get(&self, place: usize) -> u32 {
        self.four_bytes(place) & self.none
    }

    #[inline]
    pub fn set(&mut self, place: usize, target: u32) {
        let four_bytes = self.four_bytes(place) & !self.none | target;
        let at = place * self.width;
        self.bytes[at..at + 4].copy_from_slice(&four_bytes.to_le_bytes());
    }

    #[inline]
    fn four_bytes(&self, place: usize) -> u32 {
        let at = place * self.width;
        u32::from_le_bytes(*self.bytes[at..].first_chunk().expect("four bytes begin at each link"))
    }
}

#[cfg(test)]
mod tests {
    use super::Links;

    #[test]
    fn links_are_apart() {
        for len in [3, (1 << 24) - 1, 1 << 24] {
            let mut links = Links::new(len, &|| ()).expect("memory suffices");
            let last = len as u32 - 1;
            for number in [0, last - 1, last] {
                links.set(len - 1, links.none);
                links.set(len - 2, number);
                assert_eq!([len - 3, len - 2, len - 1].map(|place| links.get(place)), [links.none, number, links.none]);
            }
            assert!(links.none > last);
        }
    }
}
