//! Stars reduce the comparisons. A star consists of a candidate, its middle, and of later candidates near the middle,
//! its rays. If two middles differ so much that their rays cannot be near each other, no ray of one is compared with a
//! ray of the other.

use super::candidates::{BucketFinder, Buckets, Candidates, NO_BUCKET, item_of, pack, sort_key_of, sort_packed};
use crate::error::Result;
use crate::fingerprint::sketch::MostDifferent;
use crate::memory::{numbers_below, push, repeated};
use crate::pairs::forest::Forest;

/// Most stars of a bucket that another one is compared with, if most are small. If there are more, the rows are
/// compared by their prefixes.
const MAX_STARS: usize = 128;
/// More than the rounding errors of resemblances.
const ROUNDING: f64 = 1e-9;

/// The stars of all candidates. The middle of a star was compared with all later candidates.
pub struct Stars {
    /// A tree for the candidates that are connected by the near pairs that were found so far.
    pub forest: Forest,
    /// The middle of each candidate's star: an earlier candidate that it is near, or itself.
    pub middles: Vec<u32>,
    /// For each middle, the least resemblance to a ray of its star.
    pub least_resemblances: Vec<f64>,
    /// Whether a candidate has the same features as its middle: then it is near what the middle is near.
    pub equals_middle: Vec<bool>,
}

impl Stars {
    /// At first, each candidate is the middle of its own star.
    pub fn new(candidates: usize, tick: &dyn Fn()) -> Result<Self> {
        Ok(Self {
            forest: Forest::new(candidates, tick)?,
            middles: numbers_below(candidates, tick)?,
            least_resemblances: repeated(candidates, 1.0, tick)?,
            equals_middle: repeated(candidates, false, tick)?,
        })
    }

    /// Whether the near pairs that were found so far do not connect two candidates.
    pub fn are_apart(&mut self, candidate: u32, other: u32) -> bool {
        self.forest.root(candidate) != self.forest.root(other)
    }
}

impl Candidates {
    /// Leaves in the buckets only the candidates of two stars that are apart and may be near each other.
    pub fn narrow(&mut self, stars: &mut Stars, tick: &dyn Fn()) -> Result<()> {
        let mut finder = BucketFinder::new(&self.sketches, self.comparison, self.criterion.resemblance, tick);
        for band in &mut self.buckets {
            let keys = std::mem::take(&mut band.numbers);
            let has_key = |candidate: usize| keys[candidate] != NO_BUCKET;
            *band = finder
                .find(&keys, has_key, |finder, candidates, buckets| finder.fill_by_stars(candidates, buckets, stars))?;
        }
        Ok(())
    }
}

impl BucketFinder<'_> {
    /// Fills the next bucket from candidates with the same key, by their stars.
    fn fill_by_stars(&mut self, candidates: &mut [u64], buckets: &mut Buckets, stars: &mut Stars) -> Result<()> {
        let mut count = 0;
        for index in 0..candidates.len() {
            let candidate = item_of(candidates[index]);
            if !stars.equals_middle[candidate as usize] {
                candidates[count] = pack(stars.middles[candidate as usize], candidate);
                count += 1;
            }
        }
        self.count_steps(candidates.len());
        let candidates = &mut candidates[..count];
        if !candidates.iter().any(is_ray) {
            return Ok(());
        }
        sort_packed(candidates, self.tick);
        // The middles of two stars without rays are compared already.
        let (mut with_rays, mut without_rays) = (Vec::new(), Vec::new());
        let (mut start, mut pairs_within) = (0, 0);
        for star in candidates.chunk_by(|a, b| sort_key_of(*a) == sort_key_of(*b)) {
            let list = if star.iter().any(is_ray) { &mut with_rays } else { &mut without_rays };
            push(list, start..start + star.len())?;
            start += star.len();
            pairs_within += (star.len() as u64).pow(2);
        }
        if with_rays.len() > MAX_STARS && pairs_within < (with_rays.len() * MAX_STARS) as u64 {
            return self.fill_with_all(candidates, buckets);
        }
        let mut is_filled = false;
        for (number, star) in with_rays.iter().enumerate() {
            for other in with_rays[..number].iter().chain(&without_rays) {
                self.count_steps(1);
                let [a, b] = [star, other].map(|star| sort_key_of(candidates[star.start]));
                if stars.are_apart(a, b) && self.stars_may_resemble(a, b, stars) {
                    is_filled |= self.add_pairs(&candidates[star.clone()], &candidates[other.clone()], buckets);
                }
            }
        }
        buckets.count += u32::from(is_filled);
        Ok(())
    }

    /// Whether candidates of the stars with these middles may be near each other.
    #[inline]
    fn stars_may_resemble(&mut self, a: u32, b: u32, stars: &Stars) -> bool {
        // Distances, 1 - resemblance, satisfy the triangle inequality (Levandowsky, Winter, Nature 1971).
        let [radius, radius_of_other] = [a, b].map(|middle| 1.0 - stars.least_resemblances[middle as usize]);
        let least = self.least_resemblance - radius - radius_of_other - ROUNDING;
        self.may_resemble(a, b, MostDifferent::with_resemblance(least))
    }

    /// Puts into the bucket the candidates of two stars that may be near each other, unless the earlier one of a pair
    /// is a middle, which was compared with the later one. Returns whether there are any.
    fn add_pairs(&mut self, star: &[u64], other: &[u64], buckets: &mut Buckets) -> bool {
        let mut is_filled = false;
        for a in star {
            for b in other {
                let earlier = if item_of(*a) < item_of(*b) { a } else { b };
                let [a, b] = [a, b].map(|packed| item_of(*packed));
                let are_in = [a, b].iter().all(|candidate| buckets.numbers[*candidate as usize] == buckets.count);
                self.count_steps(1);
                if is_ray(earlier) && !are_in && self.may_resemble(a, b, self.most_different) {
                    is_filled = true;
                    (buckets.numbers[a as usize], buckets.numbers[b as usize]) = (buckets.count, buckets.count);
                }
            }
        }
        is_filled
    }
}

/// Whether a candidate is not the middle of its star, which is its sort key.
fn is_ray(packed: &u64) -> bool {
    sort_key_of(*packed) != item_of(*packed)
}
