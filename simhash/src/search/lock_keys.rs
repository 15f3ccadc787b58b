//! Lock keys: near fingerprints share one, so that their writers find each other in a table of locks.

use xxhash_rust::xxh3::xxh3_64_with_secret;

use super::blocks::{Block, LAYOUTS, radius};

/// The secret that keys are hashed with. PostgreSQL shows all locks to all users; without the secret, nobody can
/// compute a row's fingerprint from its locks. It has the length of xxh3's own secret.
pub struct Secret(pub [u8; 192]);

/// Blocks with radii: near fingerprints differ in at most the radius of a block, in some of these blocks. Without
/// blocks, any two fingerprints may be near.
pub struct Radii(Vec<(Block, u32)>);

impl Radii {
    /// The cheapest blocks for fingerprints at a distance of at most `max_distance`.
    pub fn of_distance(max_distance: i32) -> Self {
        let blocks = |blocks| {
            let block = |number| Block::new(number, blocks).zip(radius(number, blocks, max_distance));
            Self((0..blocks).filter_map(block).collect())
        };
        let layouts = LAYOUTS.map(blocks).chain([Self(Vec::new())]);
        layouts.min_by(|a, b| a.microseconds().total_cmp(&b.microseconds())).unwrap_or(Self(Vec::new()))
    }

    /// What a row costs: locks on its keys, look-ups of the keys that a near row may have, and, if a row that is not
    /// near has one of these by chance, the reading of all locks. The last figure is for a busy server.
    fn microseconds(&self) -> f64 {
        const LOCK: f64 = 1.0;
        const LOOK_UP: f64 = 0.2;
        const READ_ALL: f64 = 100.0;
        let of_block = |&(block, radius): &(Block, u32)| {
            let probes = block.probe_count(Some(radius)) as f64;
            LOCK + probes * (LOOK_UP + READ_ALL / f64::from(block.width()).exp2())
        };
        if self.0.is_empty() { READ_ALL } else { self.0.iter().map(of_block).sum() }
    }
}

/// The keys of the rows of one scope of a table.
pub struct LockKeys<'a> {
    /// The table's secret.
    pub secret: &'a Secret,
    /// A hash of the scope's values.
    pub scope: u64,
    /// The blocks by which near rows are found.
    pub radii: &'a Radii,
}

impl LockKeys<'_> {
    /// The keys of a row with this fingerprint.
    pub fn own(&self, fingerprint: u64) -> impl Iterator<Item = u32> {
        let keys =
            self.radii.0.iter().zip(0..).map(move |(&(block, _), number)| self.key(number, block.value(fingerprint)));
        keys.chain(self.of_all())
    }

    /// The keys of which each row near this fingerprint has at least one.
    pub fn of_near(&self, fingerprint: u64) -> impl Iterator<Item = u32> {
        let keys = self.radii.0.iter().zip(0..).flat_map(move |(&(block, radius), number)| {
            block.probes(fingerprint, Some(radius)).map(move |value| self.key(number, value))
        });
        keys.chain(self.of_all())
    }

    /// The key that all rows have if there are no blocks.
    fn of_all(&self) -> Option<u32> {
        self.radii.0.is_empty().then(|| self.key(0, 0))
    }

    fn key(&self, block: u8, value: i32) -> u32 {
        self.hash(block, value.cast_unsigned())
    }

    /// Encrypts a fingerprint, by a Feistel network of four rounds.
    pub fn encrypt(&self, fingerprint: u64) -> u64 {
        let halves = ((fingerprint >> 32) as u32, fingerprint as u32);
        let (left, right) = Self::ROUNDS.fold(halves, |(left, right), round| (right, left ^ self.hash(round, right)));
        u64::from(left) << 32 | u64::from(right)
    }

    /// Decrypts what [`LockKeys::encrypt`] has made. What was made with another secret or scope becomes a random number.
    pub fn decrypt(&self, encrypted: u64) -> u64 {
        let halves = ((encrypted >> 32) as u32, encrypted as u32);
        let mut rounds = Self::ROUNDS.rev();
        let (left, right) = rounds.by_ref().fold(halves, |(left, right), round| (right ^ self.hash(round, left), left));
        u64::from(left) << 32 | u64::from(right)
    }

    /// The numbers of the rounds, which are no numbers of blocks.
    const ROUNDS: std::ops::Range<u8> = 8..12;

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
    use crate::random::random;

    fn secret() -> Secret {
        let mut random = random();
        Secret(std::array::from_fn(|_| random() as u8))
    }

    #[test]
    fn near_fingerprints_find_a_key_of_each_other() {
        let (mut random, secret) = (random(), secret());
        for max_distance in 0..=64 {
            let radii = Radii::of_distance(max_distance);
            let keys = LockKeys { secret: &secret, scope: random(), radii: &radii };
            for _ in 0..200 {
                let a = random();
                let b = (0..max_distance).fold(a, |b, _| b ^ 1 << (random() % 64));
                let own: Vec<_> = keys.own(a).collect();
                assert!(keys.of_near(b).any(|key| own.contains(&key)), "{a:x} {b:x} {max_distance}");
            }
        }
    }

    #[test]
    fn other_fingerprints_rarely_do() {
        let (mut random, secret) = (random(), secret());
        for (max_distance, most) in [(3, 5), (6, 300), (8, 600)] {
            let radii = Radii::of_distance(max_distance);
            let keys = LockKeys { secret: &secret, scope: 0, radii: &radii };
            let own: Vec<_> = keys.own(random()).collect();
            let shares_one = |fingerprint| keys.of_near(fingerprint).any(|key| own.contains(&key));
            let count = (0..10_000).filter(|_| shares_one(random())).count();
            assert!(count <= most, "{count} of 10,000 at distance {max_distance}");
        }
    }

    #[test]
    fn costs_are_bounded() {
        let counts = |max_distance| {
            let (secret, radii) = (secret(), Radii::of_distance(max_distance));
            let keys = LockKeys { secret: &secret, scope: 0, radii: &radii };
            (keys.own(0).count(), keys.of_near(0).count())
        };
        assert_eq!([0, 3, 6, 8, 10].map(counts), [(1, 1), (4, 4), (7, 7), (6, 39), (6, 60)]);
        assert!((0..=64).map(counts).all(|(own, of_near)| own <= 8 && of_near <= 300));
        assert_eq!(counts(64), (1, 1));
    }

    #[test]
    fn scopes_and_secrets_have_other_keys() {
        let radii = Radii::of_distance(3);
        let (secret, other) = (secret(), Secret([7; _]));
        let keys = |secret, scope| LockKeys { secret, scope, radii: &radii };
        let own: Vec<_> = keys(&secret, 1).own(0).collect();
        for others in [keys(&secret, 2), keys(&other, 1)] {
            assert!(!others.own(0).any(|key| own.contains(&key)));
            assert_ne!(others.encrypt(0), keys(&secret, 1).encrypt(0));
            assert!(others.decrypt(keys(&secret, 1).encrypt(0)).count_ones() > 8);
        }
    }

    #[test]
    fn fingerprints_are_decrypted() {
        let (mut random, secret, radii) = (random(), secret(), Radii::of_distance(3));
        for _ in 0..1000 {
            let (fingerprint, keys) = (random(), LockKeys { secret: &secret, scope: random(), radii: &radii });
            let encrypted = keys.encrypt(fingerprint);
            assert_eq!(keys.decrypt(encrypted), fingerprint);
            // One bit of the fingerprint changes about half of all bits.
            let changed = (keys.encrypt(fingerprint ^ 1 << (random() % 64)) ^ encrypted).count_ones();
            assert!((8..=56).contains(&changed), "{changed}");
        }
    }
}
