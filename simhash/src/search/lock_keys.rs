//! Lock keys: near fingerprints share a key, so that their writers find each other in a table of locks.

use xxhash_rust::xxh3::xxh3_64_with_secret;

use super::blocks::BLOCK_COUNTS;
use super::flips::Probed;
use super::nearness::Nearness;

/// The secret that keys are hashed with. The table of locks may be public. Without the secret, a row's
/// fingerprint cannot be computed from its keys. It has the length of xxh3's own secret.
pub struct Secret(pub [u8; 192]);

/// The blocks that keys are made from. Near fingerprints are within the radius in at least one of these blocks. Without
/// blocks, all fingerprints share one key.
pub struct KeyBlocks {
    blocks: Vec<Probed>,
}

impl KeyBlocks {
    /// The blocks with which it is cheapest to register a row.
    pub fn of(near: Nearness) -> Self {
        let layouts = BLOCK_COUNTS.filter_map(|blocks| near.probed_blocks(blocks)).map(Iterator::collect);
        let cost = |a: &Vec<_>, b: &Vec<_>| microseconds(a).total_cmp(&microseconds(b));
        Self { blocks: layouts.chain([Vec::new()]).min_by(cost).unwrap_or_default() }
    }
}

/// The cost of registering a row: taking the locks on its keys, a look-up of each key that a near row may have, and
/// reading all locks if another row has one of these keys by chance. The cost of reading all locks is that of a busy
/// server.
fn microseconds(blocks: &[Probed]) -> f64 {
    const LOCK_MICROSECONDS: f64 = 1.0;
    const KEY_PROBE_MICROSECONDS: f64 = 0.2;
    const READ_ALL_MICROSECONDS: f64 = 100.0;
    let of_block = |probed: &Probed| {
        let (probes, values) = (probed.probe_count() as f64, f64::from(probed.block.width()).exp2());
        LOCK_MICROSECONDS + probes * (KEY_PROBE_MICROSECONDS + READ_ALL_MICROSECONDS / values)
    };
    if blocks.is_empty() { READ_ALL_MICROSECONDS } else { blocks.iter().map(of_block).sum() }
}

/// The keys of the rows of one scope of a table.
pub struct LockKeys<'a> {
    pub secret: &'a Secret,
    /// A hash of the scope's values.
    pub scope: u64,
    pub key_blocks: &'a KeyBlocks,
    /// Which rows are near: by the votes of a row's text, or by any votes.
    pub near: Nearness,
}

impl LockKeys<'_> {
    /// The keys of a row with this fingerprint.
    pub fn of_row(&self, fingerprint: u64) -> impl Iterator<Item = u32> {
        self.keys(move |probed| [probed.block.value(fingerprint)])
    }

    /// The keys of which each row near this fingerprint has at least one.
    pub fn of_near(&self, fingerprint: u64) -> impl Iterator<Item = u32> {
        self.keys(move |probed| Probed { flippable: self.near.flippable(), ..probed }.probes(fingerprint))
    }

    fn keys<V: IntoIterator<Item = i32>>(&self, values: impl Fn(Probed) -> V) -> impl Iterator<Item = u32> {
        let of_all = self.key_blocks.blocks.is_empty().then(|| self.hash(0, 0));
        let of_block = move |(number, &probed): (u8, &Probed)| {
            values(probed).into_iter().map(move |value| self.hash(number, value.cast_unsigned()))
        };
        (0..).zip(&self.key_blocks.blocks).flat_map(of_block).chain(of_all)
    }

    /// Encrypts a fingerprint, by a Feistel network of four rounds.
    pub fn encrypt(&self, fingerprint: u64) -> u64 {
        let halves = ((fingerprint >> 32) as u32, fingerprint as u32);
        let (left, right) = Self::ROUNDS.fold(halves, |(left, right), round| (right, left ^ self.hash(round, right)));
        u64::from(left) << 32 | u64::from(right)
    }

    /// Whether a fingerprint is near an encrypted fingerprint. A fingerprint that was encrypted with another secret or
    /// scope decrypts to a random number.
    pub fn is_near(&self, encrypted: u64, fingerprint: u64) -> bool {
        self.near.contains(self.decrypt(encrypted) ^ fingerprint)
    }

    fn decrypt(&self, encrypted: u64) -> u64 {
        let halves = ((encrypted >> 32) as u32, encrypted as u32);
        let rounds = Self::ROUNDS.rev();
        let (left, right) = rounds.fold(halves, |(left, right), round| (right ^ self.hash(round, left), left));
        u64::from(left) << 32 | u64::from(right)
    }

    /// The numbers of the rounds, which differ from the numbers of all blocks.
    const ROUNDS: std::ops::Range<u8> = *BLOCK_COUNTS.end() as u8..*BLOCK_COUNTS.end() as u8 + 4;

    fn hash(&self, purpose: u8, value: u32) -> u32 {
        let mut bytes = [purpose; 13];
        bytes[..4].copy_from_slice(&value.to_le_bytes());
        bytes[4..12].copy_from_slice(&self.scope.to_le_bytes());
        xxh3_64_with_secret(&bytes, &self.secret.0) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::search::flips::BitOrder;

    fn secret() -> Secret {
        let mut random = Random(0);
        Secret(std::array::from_fn(|_| random.next() as u8))
    }

    #[test]
    fn near_fingerprints_share_key() {
        let (mut random, secret) = (Random(0), secret());
        let by_radii = [[1, 1, 1, 1], [1, -1, 0, 3], [-1; 4], [64; 4]].map(|radii| Nearness::by_radii(10, &radii));
        let votes = Nearness::by_radii(10, &[1, 1, 0, -1]).unwrap().with_flips(&[5, 3]);
        let by_radii = by_radii.into_iter().flatten().chain([votes, votes.by_any_votes()]);
        let mut by_votes = 0;
        for near in (-1..=64).map(Nearness::within).chain(by_radii) {
            let key_blocks = KeyBlocks::of(if near == votes.by_any_votes() { votes } else { near });
            let mut order: BitOrder = std::array::from_fn(|bit| bit as u8);
            order.rotate_left(random.below(64) as usize);
            let near = near.by_votes(&order);
            let keys = LockKeys { secret: &secret, scope: random.next(), key_blocks: &key_blocks, near };
            for _ in 0..3000 {
                let (a, flipped) = (random.next(), random.below(near.max_distance().max(0) as u64 + 1));
                let b = random.near(a, flipped);
                let own: Vec<_> = keys.of_row(a).collect();
                let is_found = keys.of_near(b).any(|key| own.contains(&key)) && keys.is_near(keys.encrypt(a), b);
                assert!(is_found || !near.contains(a ^ b), "{a:x} {b:x} {near:?}");
                let is_by_votes = near.contains(a ^ b) && !votes.by_radii_alone().contains(a ^ b);
                by_votes += u32::from(near == votes.by_votes(&order) && is_by_votes);
            }
        }
        assert!(by_votes > 0, "no pair is near by two flips alone");
    }

    #[test]
    fn far_fingerprints_share_few() {
        let (mut random, secret) = (Random(0), secret());
        for (max_distance, most) in [(3, 5), (6, 300), (8, 600)] {
            let near = Nearness::within(max_distance);
            let keys = LockKeys { secret: &secret, scope: 0, key_blocks: &KeyBlocks::of(near), near };
            let own: Vec<_> = keys.of_row(random.next()).collect();
            let shares_one = |fingerprint| keys.of_near(fingerprint).any(|key| own.contains(&key));
            let count = (0..10_000).filter(|_| shares_one(random.next())).count();
            assert!(count <= most, "{count} of 10,000 at distance {max_distance}");
        }
    }

    #[test]
    fn costs_are_bounded() {
        let counts = |near| {
            let keys = LockKeys { secret: &secret(), scope: 0, key_blocks: &KeyBlocks::of(near), near };
            (keys.of_row(0).count(), keys.of_near(0).count())
        };
        let of_distance = |max_distance| counts(Nearness::within(max_distance));
        assert_eq!([0, 3, 6, 8, 10, 64].map(of_distance), [(1, 1), (4, 4), (7, 7), (6, 39), (6, 60), (1, 1)]);
        assert!((0..=64).map(of_distance).all(|(own, of_near)| own <= 8 && of_near <= 300));
        let by_radii = |radii: &[i32]| counts(Nearness::by_radii(10, radii).unwrap());
        assert_eq!([&[1; 4][..], &[0; 3], &[64; 2]].map(by_radii), [(4, 68), (3, 3), (1, 1)]);
    }

    #[test]
    fn fingerprints_are_encrypted_by_secret_and_scope() {
        let (near, mut random) = (Nearness::within(3), Random(0));
        let (secret, other, key_blocks) = (secret(), Secret([7; _]), KeyBlocks::of(near));
        let keys = |secret, scope| LockKeys { secret, scope, key_blocks: &key_blocks, near };
        for _ in 0..1000 {
            let (fingerprint, scope) = (random.next(), random.next());
            let of_scope = keys(&secret, scope);
            let (own, encrypted): (Vec<_>, _) = (of_scope.of_row(fingerprint).collect(), of_scope.encrypt(fingerprint));
            assert_eq!(of_scope.decrypt(encrypted), fingerprint);
            // One bit of the fingerprint changes about half of all bits.
            let changed = (of_scope.encrypt(fingerprint ^ 1 << random.below(64)) ^ encrypted).count_ones();
            assert!((8..=56).contains(&changed), "{changed}");
            for others in [keys(&secret, scope + 1), keys(&other, scope)] {
                assert!(!others.of_row(fingerprint).any(|key| own.contains(&key)));
                assert!(others.encrypt(fingerprint) != encrypted && !others.is_near(encrypted, fingerprint));
            }
        }
    }
}
