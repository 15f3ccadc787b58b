//! Lock keys: near-duplicates share one, so that their writers can exclude each other.

use xxhash_rust::xxh3::xxh3_64_with_secret;

/// The secret that keys are hashed with. PostgreSQL shows all locks to all users; without the secret, nobody can
/// compute a row's fingerprint from its keys. It has the length of xxh3's own secret.
pub struct Secret(pub [u8; 192]);

/// Largest distance at which keys tell fingerprints apart. Beyond it, all fingerprints have the same key.
const LARGEST_DISTANCE: u32 = 8;

/// Lock keys of a fingerprint, sorted and each once: any two fingerprints at a distance of at most `max_distance` share
/// a key.
///
/// Cut into `max_distance` + 2 pieces, such fingerprints agree on at least two pieces (Manku, Jain, Das Sarma, WWW
/// 2007, section 3), so each pair of pieces is a key. A key has two pieces because the fingerprints of texts made from
/// one template often share one piece, but rarely two. At distance 3 there are ten keys, of 25 or 26 bits of the
/// fingerprint each.
pub fn shared_keys(fingerprint: u64, max_distance: u32, secret: &Secret) -> Vec<u32> {
    if max_distance > LARGEST_DISTANCE {
        return vec![0];
    }
    let pieces = max_distance + 2;
    let piece = |number: u32| {
        let (start, end) = (number * 64 / pieces, (number + 1) * 64 / pieces);
        fingerprint << start >> (64 - (end - start))
    };
    let mut keys: Vec<_> = (0..pieces)
        .flat_map(|a| (a + 1..pieces).map(move |b| (a, b)))
        .map(|(a, b)| {
            let mut bytes = [0; 18];
            bytes[..8].copy_from_slice(&piece(a).to_le_bytes());
            bytes[8..16].copy_from_slice(&piece(b).to_le_bytes());
            bytes[16..].copy_from_slice(&[a as u8, b as u8]);
            xxh3_64_with_secret(&bytes, &secret.0) as u32
        })
        .collect();
    keys.sort_unstable();
    keys.dedup();
    keys
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
    fn near_fingerprints_share_a_key() {
        let (mut random, secret) = (random(), secret());
        for max_distance in 0..=12 {
            for _ in 0..2000 {
                let a = random();
                let b = (0..max_distance).fold(a, |b, _| b ^ 1 << (random() % 64));
                let [keys, others] = [a, b].map(|fingerprint| shared_keys(fingerprint, max_distance, &secret));
                assert!(keys.iter().any(|key| others.contains(key)), "{a:x} {b:x} {max_distance}");
                assert!(keys.is_sorted_by(|a, b| a < b));
            }
        }
    }

    #[test]
    fn other_fingerprints_rarely_share_one() {
        let secret = secret();
        let keys = |fingerprint: u64| shared_keys(fingerprint.wrapping_mul(0x9e37_79b9_7f4a_7c15), 3, &secret);
        assert_eq!(keys(1).len(), 10);
        let first = keys(1);
        assert!((2..10_000).all(|other| !keys(other).iter().any(|key| first.contains(key))));
        // Fingerprints that share only a 16-bit block, as texts of one template do, have different keys.
        assert_ne!(shared_keys(0x1234_0000_1111_2222, 3, &secret), shared_keys(0x1234_ffff_8888_9999, 3, &secret));
    }

    #[test]
    fn with_another_secret_keys_are_others() {
        let others = shared_keys(0, 3, &Secret([7; _]));
        assert!(!shared_keys(0, 3, &secret()).iter().any(|key| others.contains(key)));
    }
}
