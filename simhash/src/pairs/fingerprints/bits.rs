//! How well each bit distinguishes the fingerprints of a slice.
//!
//! A bit that is 1 in half of the fingerprints distinguishes half of the pairs. Pages made from one template agree on
//! most bits; among them, a block must be wider to be worth as much.

use crate::text::mask::LOW_BITS;

/// The size of a sample of fingerprints: the most with which the counters of one byte do not overflow.
const SAMPLE_ROWS: usize = 255;

/// The worth of each bit, its collision entropy: the binary logarithm of 1 divided by the share of pairs that agree on
/// the bit. 1 for a bit that is 1 in half of the fingerprints, 0 for a bit that is the same in all.
#[derive(Clone)]
pub struct Worths([f32; 64]);

/// The worths for uniform fingerprints.
impl Default for Worths {
    fn default() -> Self {
        Self([1.0; 64])
    }
}

impl Worths {
    /// The worths in a sample that is evenly spaced in the slice.
    pub fn from_sample(fingerprints: &[u64]) -> Self {
        let count = fingerprints.len().min(SAMPLE_ROWS);
        // Byte i of sum j counts the ones in bit 8 * i + j.
        let mut sums = [0u64; 8];
        for index in 0..count {
            let fingerprint = fingerprints[index * fingerprints.len() / count];
            for (shift, sum) in sums.iter_mut().enumerate() {
                *sum += fingerprint >> shift & LOW_BITS;
            }
        }
        let mut worths = [0.0; 64];
        for (bit, worth) in worths.iter_mut().enumerate() {
            let ones = (sums[bit % 8] >> (bit / 8 * 8) & 0xff) as f32;
            let zeros = count as f32 - ones;
            let agreeing = (ones * (ones - 1.0) + zeros * (zeros - 1.0)) / (count as f32 * (count as f32 - 1.0));
            *worth = if agreeing > 0.0 { -agreeing.log2() } else { 1.0 };
        }
        Self(worths)
    }

    /// The worth of all bits below `bit` together, rounded.
    pub fn sum_below(&self, bit: u32) -> u32 {
        self.0[..bit as usize].iter().sum::<f32>().round() as u32
    }

    /// Cuts the bits below `end` into `pieces` pieces that are each worth `worth`, from the most significant bit;
    /// returns the lowest bit and the width of each. The last piece may be worth less; if no bits are left, there are
    /// fewer pieces.
    pub fn cut(&self, end: u32, pieces: u32, worth: u32) -> impl Iterator<Item = (u32, u32)> {
        let (mut high, mut sum) = (end, 0.0);
        (1..=pieces).map_while(move |piece| {
            let target = (piece * worth) as f32;
            let mut low = high;
            while low > 0 && (low == high || sum + self.0[low as usize - 1] / 2.0 < target) {
                low -= 1;
                sum += self.0[low as usize];
            }
            let width = high - low;
            high = low;
            (width > 0).then_some((low, width))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn worths_are_measured_by_sample() {
        let mut random = Random(0);
        let mut sample = |mask| Worths::from_sample(&[(); 1000].map(|()| random.next() & mask));
        assert!((63..=65).contains(&sample(u64::MAX).sum_below(64)));
        let halved = sample(0xffff_ffff);
        assert!((31..=33).contains(&halved.sum_below(64)) && halved.sum_below(64) == halved.sum_below(32));
        assert_eq!(sample(0).sum_below(64), 0);
        // An eighth of the bits are 1, so 25 of 32 pairs agree on a bit.
        let rare = Worths::from_sample(&[(); 1000].map(|()| random.next() & random.next() & random.next()));
        assert!((rare.sum_below(64) as f32 - 64.0 * (32f32 / 25.0).log2()).abs() < 4.0);
    }

    #[test]
    fn pieces_have_equal_worths() {
        let cut = |worths: &Worths, end, pieces, worth| worths.cut(end, pieces, worth).collect::<Vec<_>>();
        assert_eq!(cut(&Worths::default(), 64, 4, 16), [(48, 16), (32, 16), (16, 16), (0, 16)]);
        assert_eq!(cut(&Worths::default(), 10, 2, 4), [(6, 4), (2, 4)]);
        let mut worths = Worths::default();
        worths.0[32..].fill(0.25);
        assert_eq!(cut(&worths, 64, 3, 4), [(48, 16), (32, 16), (28, 4)]);
        worths.0[..32].fill(0.0);
        assert_eq!(cut(&worths, 64, 3, 4), [(48, 16), (32, 16), (0, 32)]);
        assert_eq!(cut(&worths, 0, 3, 4), []);
    }
}
