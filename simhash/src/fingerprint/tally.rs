//! The vote: every feature votes on every bit, and the majority decides (Charikar 2002).
//!
//! The 64 counters are stored bit-sliced: plane `i` holds bit `i` of all 64 counters, so that one machine word adds a
//! vote to every counter at once, on any CPU and without a branch per bit (Harley and Seal's carry-save adders, in
//! Warren, Hacker's Delight, 2nd edition, section 5-2). A counter sums the weights of the features whose hash has that
//! bit set. Charikar's sum of +weight and -weight is twice the counter minus the total of all weights, so the bit is 1
//! where the counter exceeds half of the total.
//!
//! Votes are added in batches of 16, so that most additions go to the lowest planes only. An adder takes three words of
//! votes that count the same, and returns their sum's lowest bit, and a carry that counts twice as much. For example,
//! for one counter it turns the votes 1, 1 and 0 into 0 and a carry of 1, which is one vote for plane 1.
//! So eight adders reduce a batch of 16 and plane 0 to plane 0 and eight carries, four reduce these, and so on: fifteen
//! adders for sixteen features, where adding each by itself would ripple through all planes.
//!
//! All arithmetic is on integers, so the order of adding does not matter.

use crate::error::{Error, Result};

/// Bits of the largest total of weights.
const TOTAL_BITS: usize = 96;
/// Bits of each counter: one more than the total, since [`Tally::vote`] does not check the total. There are never 2^96
/// unit votes.
const PLANES: usize = TOTAL_BITS + 1;
/// Number of unit votes that are added together.
const VOTE_BATCH: usize = 16;
/// `VOTE_BATCH` = 2^`VOTE_BATCH_PLANES`.
const VOTE_BATCH_PLANES: usize = 4;

/// The votes of weighted features: 64 counters of 97 bits, and the total weight.
#[derive(Clone, Debug)]
pub struct Tally {
    planes: [u64; PLANES],
    /// A 128-bit number, the lower half first. A `u128` would need a larger alignment than PostgreSQL gives memory.
    total: [u64; 2],
    /// Unit votes that are not yet added to `planes` and `total`.
    pending: [u64; VOTE_BATCH],
    pending_len: usize,
}

impl Default for Tally {
    fn default() -> Self {
        Self { planes: [0; PLANES], total: [0; 2], pending: [0; VOTE_BATCH], pending_len: 0 }
    }
}

impl Tally {
    /// Removes all votes. Costs less than a new tally, because few planes are in use.
    pub fn clear(&mut self) {
        let used = (u128::BITS - self.total().leading_zeros()) as usize;
        self.planes[..used.min(PLANES)].fill(0);
        self.total = [0; 2];
        self.pending_len = 0;
    }

    /// Adds a feature of weight 1 if `counts` is true; otherwise does nothing. About 2 ns.
    ///
    /// `counts` is an argument because a branch on it, which real text makes unpredictable, would cost more than the
    /// vote.
    #[inline]
    pub fn vote(&mut self, hash: u64, counts: bool) {
        self.pending[self.pending_len] = hash;
        self.pending_len += usize::from(counts);
        if self.pending_len == VOTE_BATCH {
            self.flush();
        }
    }

    /// Adds features of weight 1.
    pub fn vote_all(&mut self, hashes: &[u64]) {
        let (batches, rest) = hashes.as_chunks();
        batches.iter().for_each(|batch| self.add_batch(batch, VOTE_BATCH));
        rest.iter().for_each(|hash| self.vote(*hash, true));
    }

    /// Adds a feature with a weight; a weight of 0 has no effect. Fails if the total would reach 2^96.
    pub fn add(&mut self, hash: u64, weight: u64) -> Result<()> {
        self.grow_total(u128::from(weight))?;
        let (mut weight, mut plane, mut carry) = (weight, 0, 0);
        while weight | carry != 0 {
            let votes = hash & (weight & 1).wrapping_neg();
            (self.planes[plane], carry) = add3(self.planes[plane], votes, carry);
            weight >>= 1;
            plane += 1;
        }
        Ok(())
    }

    /// Adds everything that another tally has counted. Fails if the total would reach 2^96.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        let mut other = other.clone();
        other.flush();
        self.grow_total(other.total())?;
        let mut carry = 0;
        for (plane, votes) in self.planes.iter_mut().zip(other.planes) {
            (*plane, carry) = add3(*plane, votes, carry);
        }
        Ok(())
    }

    /// The fingerprint: bit `i` is 1 if the features whose hash has bit `i` set weigh more than all others together.
    /// None if nothing with a weight was added. More features may be added afterwards.
    pub fn fingerprint(&mut self) -> Option<u64> {
        if self.total == [0; 2] && self.pending_len > 0 {
            return Some(self.fingerprint_of_pending());
        }
        self.flush();
        let planes = self.total().checked_ilog2()? as usize + 1;
        Some(exceeding(&self.planes[..planes], self.total() / 2))
    }

    /// The tally as bytes, the same on every machine: the total, then the planes up to the last one in use.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut tally = self.clone();
        tally.flush();
        let used = PLANES - tally.planes.iter().rev().take_while(|plane| **plane == 0).count();
        let planes = tally.planes[..used].iter().flat_map(|plane| plane.to_le_bytes());
        tally.total().to_le_bytes().into_iter().chain(planes).collect()
    }

    /// Reads what [`Tally::to_bytes`] has written; None if it cannot have written these bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (total, planes) = bytes.split_first_chunk()?;
        let (planes, rest) = planes.as_chunks();
        let mut tally = Self::default();
        if !rest.is_empty() || planes.len() > PLANES {
            return None;
        }
        tally.grow_total(u128::from_le_bytes(*total)).ok()?;
        for (plane, bytes) in tally.planes.iter_mut().zip(planes) {
            *plane = u64::from_le_bytes(*bytes);
        }
        let stripped = planes.last() != Some(&[0; 8]);
        (stripped && exceeding(&tally.planes, tally.total()) == 0).then_some(tally)
    }

    fn total(&self) -> u128 {
        u128::from(self.total[1]) << 64 | u128::from(self.total[0])
    }

    fn grow_total(&mut self, weight: u128) -> Result<()> {
        let total = self.total().checked_add(weight).filter(|total| total >> TOTAL_BITS == 0);
        self.set_total(total.ok_or(Error::WeightOverflow)?);
        Ok(())
    }

    fn set_total(&mut self, total: u128) {
        self.total = [total as u64, (total >> 64) as u64];
    }

    /// The fingerprint if there are pending votes alone, as for most lines: four planes count them. That takes two
    /// thirds of the instructions of adding them to `planes`.
    fn fingerprint_of_pending(&mut self) -> u64 {
        self.pending[self.pending_len..].fill(0);
        let (planes, _) = add_votes([0; VOTE_BATCH_PLANES], self.pending);
        let half = self.pending_len as u64 / 2;
        // Subtracts the counters from half of the votes: what is borrowed from the next plane says which exceed it.
        (0..VOTE_BATCH_PLANES).fold(0, |borrow, i| {
            let half_plane = (half >> i & 1).wrapping_neg();
            (planes[i] & borrow) | (!half_plane & (planes[i] | borrow))
        })
    }

    /// Adds the pending votes as a batch that is filled up with votes of no bits.
    fn flush(&mut self) {
        self.pending[self.pending_len..].fill(0);
        self.add_batch(&{ self.pending }, self.pending_len);
        self.pending_len = 0;
    }

    /// Adds votes, of which the first `len` count and the others are votes of no bits.
    fn add_batch(&mut self, votes: &[u64; VOTE_BATCH], len: usize) {
        self.set_total(self.total() + len as u128);
        if let Some(planes) = self.planes.first_chunk_mut() {
            let carry;
            (*planes, carry) = add_votes(*planes, *votes);
            self.ripple(carry);
        }
    }

    /// Adds `VOTE_BATCH` votes to each counter whose bit is set in `carry`.
    fn ripple(&mut self, mut carry: u64) {
        let mut plane = VOTE_BATCH_PLANES;
        while carry != 0 {
            (self.planes[plane], carry) = (self.planes[plane] ^ carry, self.planes[plane] & carry);
            plane += 1;
        }
    }
}

/// Adds `VOTE_BATCH` votes to the lowest planes, with 15 adders. Returns these planes and what is carried to the next
/// one.
#[inline(always)]
fn add_votes(mut planes: [u64; VOTE_BATCH_PLANES], mut votes: [u64; VOTE_BATCH]) -> ([u64; VOTE_BATCH_PLANES], u64) {
    let mut len = VOTE_BATCH;
    for plane in &mut planes {
        for i in 0..len / 2 {
            (*plane, votes[i]) = add3(*plane, votes[2 * i], votes[2 * i + 1]);
        }
        len /= 2;
    }
    (planes, votes[0])
}

/// A bit for each counter: 1 if the counter exceeds the bound. Compares from the highest plane on.
fn exceeding(planes: &[u64], bound: u128) -> u64 {
    let (mut more, mut equal) = (0, !0);
    for (i, plane) in planes.iter().enumerate().rev() {
        let bound_plane = ((bound >> i & 1) as u64).wrapping_neg();
        more |= equal & plane & !bound_plane;
        equal &= !(plane ^ bound_plane);
    }
    more
}

/// Adds three bits in each of 64 bit positions, by 64 full adders. Returns the sums and the carries.
#[inline]
fn add3(a: u64, b: u64, c: u64) -> (u64, u64) {
    let a_xor_b = a ^ b;
    (a_xor_b ^ c, (a & b) | (a_xor_b & c))
}
