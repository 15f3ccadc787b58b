//! Lock keys. Near rows share a key, so one of their two writers waits for the other in a table of locks.

use xxhash_rust::xxh3::xxh3_64_with_secret;

/// The secret that keys are hashed with. The table of locks may be public. Without the secret, a row's bands or
/// fingerprint cannot be computed from its keys. It has the length of xxh3's own secret.
pub struct Secret(pub [u8; 192]);

/// The keys of the rows of one scope of a table. Keys have 32 bits, as a lock's field has: rows whose keys are equal by
/// chance only wait for each other.
pub struct LockKeys<'a> {
    pub secret: &'a Secret,
    /// A hash of the scope's values.
    pub scope: u64,
}

/// Beyond this distance, all fingerprints share one key. With 17 parts, three of four pairs would share one anyway.
const MAX_DISTANCE: i32 = 15;

impl LockKeys<'_> {
    /// The keys of a text with these bands, in ascending order. Texts that share a band share a key.
    pub fn of_bands(&self, bands: &[i32]) -> Vec<u32> {
        self.keys(bands.iter().map(|band| u64::from(band.cast_unsigned())))
    }

    /// The keys of a fingerprint, in ascending order: one for each of `max_distance` + 1 parts. Fingerprints that
    /// differ in at most `max_distance` bits have an equal part, and so share a key.
    ///
    /// Among pairs of unrelated fingerprints, one in 16,000 shares a key within the distance 3, one in 30 within 7, and
    /// one in 3 within 12.
    pub fn of_fingerprint(&self, fingerprint: u64, max_distance: i32) -> Vec<u32> {
        if max_distance > MAX_DISTANCE {
            return self.keys([0].into_iter());
        }
        let parts = max_distance.max(0).cast_unsigned() + 1;
        let bits_below = |part: u32| (1u128 << (64 * part / parts)) - 1;
        self.keys((0..parts).map(|part| fingerprint & (bits_below(part + 1) ^ bits_below(part)) as u64))
    }

    fn keys(&self, values: impl Iterator<Item = u64>) -> Vec<u32> {
        let mut keys: Vec<_> = (0..).zip(values).map(|(number, value)| self.hash(number, value)).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// The key of the part or band with this number.
    fn hash(&self, number: u8, value: u64) -> u32 {
        let mut bytes = [0; 17];
        bytes[..8].copy_from_slice(&value.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.scope.to_le_bytes());
        bytes[16] = number;
        xxh3_64_with_secret(&bytes, &self.secret.0) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn secret() -> Secret {
        let mut random = Random(0);
        Secret(std::array::from_fn(|_| random.next() as u8))
    }

    fn share_key(a: &[u32], b: &[u32]) -> bool {
        a.iter().any(|key| b.contains(key))
    }

    #[test]
    fn near_fingerprints_share_key() {
        let (mut random, secret) = (Random(0), secret());
        for max_distance in 0..=64 {
            let keys = LockKeys { secret: &secret, scope: random.next() };
            for _ in 0..1000 {
                let (a, flipped) = (random.next(), random.below(max_distance as u64 + 1));
                let b = random.near(a, flipped);
                let [a, b] = [a, b].map(|fingerprint| keys.of_fingerprint(fingerprint, max_distance));
                assert!(share_key(&a, &b), "{flipped} bits of {max_distance}");
                assert!(a.is_sorted_by(|a, b| a < b) && a.len() <= 16);
            }
        }
    }

    #[test]
    fn far_fingerprints_share_few() {
        let (mut random, secret) = (Random(0), secret());
        let keys = LockKeys { secret: &secret, scope: 0 };
        for (max_distance, most) in [(0, 0), (3, 5), (7, 400), (8, 800), (12, 4000), (16, 10_000)] {
            let own = keys.of_fingerprint(random.next(), max_distance);
            let shares = |fingerprint| share_key(&own, &keys.of_fingerprint(fingerprint, max_distance));
            let count = (0..10_000).filter(|_| shares(random.next())).count();
            assert!(count <= most && count >= most / 4, "{count} of 10,000 within {max_distance}");
        }
    }

    #[test]
    fn texts_share_keys_by_equal_bands_of_one_number() {
        let secret = secret();
        let keys = LockKeys { secret: &secret, scope: 0 };
        let own = keys.of_bands(&[1, 2, -3, 4]);
        assert_eq!(own.len(), 4);
        assert!(own.is_sorted());
        assert!(share_key(&own, &keys.of_bands(&[5, 6, -3, 7])));
        assert!(!share_key(&own, &keys.of_bands(&[2, 1, 4, -3])));
    }

    #[test]
    fn keys_depend_on_secret_and_scope() {
        let (secret, other) = (secret(), Secret([7; _]));
        let band_keys = |secret, scope| LockKeys { secret, scope }.of_bands(&[1, 2, 3, 4, 5, 6]);
        let own = band_keys(&secret, 0);
        assert!(!share_key(&own, &band_keys(&secret, 1)) && !share_key(&own, &band_keys(&other, 0)));
    }
}
