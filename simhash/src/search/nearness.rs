//! When two fingerprints are near.

use super::blocks::{BLOCK_COUNTS, Block, radius};
use super::flips::{BitOrder, Flippable, Probed};

/// When two fingerprints are near: they differ in at most `max_distance` bits, and, if there are radii, some block of
/// the layout differs in at most as many bits as its radius.
///
/// Without radii, the distance alone decides. With radii, a search looks up fewer values than an exact search within
/// the same distance, and some pairs within the distance are not near. Both forms are symmetric.
///
/// With [flips](super::flips) as well, a block with a radius of 1 or more must differ in no other bits than a search
/// flips. This form is one of a search, and of the votes of its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nearness {
    max_distance: i32,
    /// Number of blocks; 0 without radii.
    blocks: u8,
    /// The radius of each block, at most 64; -1 for a block that is not compared, and after the last block.
    radii: [i8; *BLOCK_COUNTS.end() as usize],
    flippable: Flippable,
}

impl Nearness {
    /// All fingerprints within a distance. No fingerprints are near if the distance is negative.
    pub const fn within(max_distance: i32) -> Self {
        Self { max_distance, blocks: 0, radii: [-1; _], flippable: Flippable::ALL }
    }

    /// Fingerprints within a distance, of which at least one block is within its radius. The layout has as many blocks
    /// as there are radii; a block with radius -1 is not compared. [`Nearness::within`] if there are no radii.
    ///
    /// None if there is no layout of so many blocks, or if a radius is less than -1.
    pub fn by_radii(max_distance: i32, radii: &[i32]) -> Option<Self> {
        let mut near = Self::within(max_distance);
        if radii.is_empty() {
            return Some(near);
        }
        let blocks = i32::try_from(radii.len()).ok().filter(|blocks| BLOCK_COUNTS.contains(blocks))?;
        near.blocks = blocks as u8;
        for (of_block, &radius) in near.radii.iter_mut().zip(radii) {
            if radius < -1 {
                return None;
            }
            *of_block = radius.min(64) as i8;
        }
        Some(near)
    }

    /// The same, but only with these flips ([`Flippable::first_of`]). Which bits they are is known with
    /// [`Nearness::by_votes`].
    pub fn with_flips(self, counts: &[u32]) -> Self {
        self.flipping(Flippable::first_of(&std::array::from_fn(|bit| bit as u8), self.blocks.into(), counts))
    }

    /// The same, for a search for a text with this order of bits.
    pub fn by_votes(self, order: &BitOrder) -> Self {
        let counts: Vec<_> = self.flips().collect();
        self.flipping(Flippable::first_of(order, self.blocks.into(), &counts))
    }

    pub fn flippable(self) -> Flippable {
        self.flippable
    }

    pub fn flipping(self, flippable: Flippable) -> Self {
        Self { flippable, ..self }
    }

    /// The number of bits of each block among which one is flipped, two are flipped together, and so on; empty for all.
    pub fn flips(self) -> impl Iterator<Item = u32> {
        let first = Block::new(0, self.blocks.into());
        self.flippable.masks().filter_map(move |mask| Some(first?.ones(mask)))
    }

    /// Without flips: what is near by the radii alone.
    pub fn by_radii_alone(self) -> Self {
        self.flipping(Flippable::ALL)
    }

    /// Everything that may be near, by any votes.
    pub fn by_any_votes(self) -> Self {
        let most = self.flippable.masks().count() as i8;
        let radii = self.radii.map(|radius| if radius > 0 && most > 0 { most } else { radius });
        Self { radii, ..self.by_radii_alone() }
    }

    pub fn max_distance(self) -> i32 {
        self.max_distance
    }

    /// The number of blocks of the radii; None if the distance alone decides.
    pub fn blocks(self) -> Option<i32> {
        (self.blocks > 0).then_some(self.blocks.into())
    }

    /// The radius of each block; -1 for a block that is not compared. Empty if the distance alone decides.
    pub fn radii(self) -> impl Iterator<Item = i32> + Clone {
        self.radii.into_iter().take(self.blocks.into()).map(i32::from)
    }

    /// The blocks of a layout that a search must look up. None if there is no layout of so many blocks, or if the radii
    /// belong to another layout.
    ///
    /// If the distance alone decides, every layout serves, with the smallest radii that miss nothing.
    pub fn probed_blocks(self, blocks: i32) -> Option<impl Iterator<Item = Probed>> {
        if !BLOCK_COUNTS.contains(&blocks) || self.blocks().is_some_and(|own| own != blocks) {
            return None;
        }
        let radius = move |number: i32| match self.blocks() {
            Some(_) => u32::try_from(self.radii[number as usize]).ok(),
            None => radius(number, blocks, self.max_distance),
        };
        let most = self.flippable.masks().count() as u32;
        Some((0..blocks).filter_map(move |number| {
            let (block, radius) = (Block::new(number, blocks)?, radius(number)?);
            let is_whole = most == 0 || radius == 0;
            let by_votes = Probed { block, radius: most, flippable: self.flippable };
            Some(if is_whole { Probed::whole(block, radius) } else { by_votes })
        }))
    }

    /// Whether two fingerprints that differ in these bits are near.
    #[inline]
    pub fn contains(self, difference: u64) -> bool {
        difference.count_ones().cast_signed() <= self.max_distance
            && (self.blocks == 0 || self.has_block_within_radius(difference))
    }

    fn has_block_within_radius(self, difference: u64) -> bool {
        self.probed_blocks(self.blocks.into()).is_some_and(|mut probed| probed.any(|probed| probed.finds(difference)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// The definition, on strings of bits.
    fn oracle(difference: u64, max_distance: i32, radii: &[i32]) -> bool {
        let bits = format!("{difference:064b}");
        let ones = |bits: &str| bits.matches('1').count() as i32;
        let mut rest = &*bits;
        let within_radius = |(block, &radius): (usize, &i32)| {
            let (bits, after) = rest.split_at(rest.len().div_ceil(radii.len() - block));
            rest = after;
            ones(bits) <= radius
        };
        ones(&bits) <= max_distance && (radii.is_empty() || radii.iter().enumerate().any(within_radius))
    }

    #[test]
    fn nearness_matches_oracle() {
        let mut random = Random(0);
        let (mut near, mut exact) = (0, 0);
        for _ in 0..100_000 {
            let max_distance = random.below(24) as i32 - 1;
            let blocks = *random.one_of(&[0, 2, 3, 4, 5, 6, 7, 8]);
            let radii: Vec<_> = (0..blocks).map(|_| random.below(5) as i32 - 1).collect();
            let flipped = random.below(24);
            let difference = random.near(0, flipped);
            let by_radii = Nearness::by_radii(max_distance, &radii).unwrap();
            let expected = oracle(difference, max_distance, &radii);
            assert_eq!(by_radii.contains(difference), expected, "{difference:x} {max_distance} {radii:?}");
            near += u32::from(expected);
            // Radii may be so large that all pairs within the distance are near: in a pair that is not near, each block
            // differs in at least its radius plus 1 bits, and the sum of these exceeds the distance.
            if blocks == 0 || by_radii.radii().map(|radius| radius + 1).sum::<i32>() > max_distance {
                exact += 1;
                assert_eq!(expected, Nearness::within(max_distance).contains(difference));
            }
        }
        assert!(near > 10_000 && exact > 10_000, "{near} {exact}");
    }

    #[test]
    fn invalid_radii_are_refused() {
        for radii in [&[1][..], &[0; 9], &[1, -2], &[0, i32::MIN]] {
            assert_eq!(Nearness::by_radii(3, radii), None, "{radii:?}");
        }
        let all = Nearness::by_radii(64, &[i32::MAX, -1]).unwrap();
        assert!(all.contains(u64::MAX));
        assert_eq!(all.radii().collect::<Vec<_>>(), [64, -1]);
        assert!(!Nearness::by_radii(64, &[-1, -1]).unwrap().contains(0));
        assert_eq!(Nearness::by_radii(3, &[]), Some(Nearness::within(3)));
        assert!(!Nearness::within(-1).contains(0));
        assert!(all.probed_blocks(3).is_none());
    }
}
