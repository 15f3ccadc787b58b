//! Examples from the field's textbooks, as arithmetic.

use simhash::distance::hamming;
use simhash::fingerprint::Fingerprinter;
use simhash::fingerprint::options::Options;
use simhash::fingerprint::tally::Tally;

/// The sum of each of the lowest six bits, the most significant first.
fn sums(weighted: &[(u64, i64)]) -> [i64; 6] {
    std::array::from_fn(|bit| {
        weighted.iter().map(|&(hash, weight)| if hash >> (5 - bit) & 1 == 1 { weight } else { -weight }).sum()
    })
}

#[test]
fn weighted_hashes_give_fingerprint() {
    let weighted = [(0b100101, 4), (0b101011, 5)];
    assert_eq!(sums(&weighted), [9, -9, 1, -1, 1, 9]);
    let mut tally = Tally::default();
    for (hash, weight) in weighted {
        tally.add(hash, weight as u64).expect("small weights");
    }
    assert_eq!(tally.fingerprint(), Some(0b101011));
}

#[test]
fn signs_give_bits() {
    let expected = [-7, 1, -9, 9, 3, 9];
    // Nine features of weight 1: (9 + sum) / 2 of them have the bit set.
    let feature = |i: i64| expected.iter().fold(0, |hash, sum| hash << 1 | u64::from(i < (9 + sum) / 2));
    let weighted: Vec<(u64, i64)> = (0..9).map(|i| (feature(i), 1)).collect();
    assert_eq!(sums(&weighted), expected);
    let mut tally = Tally::default();
    weighted.iter().for_each(|&(hash, _)| tally.vote(hash, true));
    assert_eq!(tally.fingerprint(), Some(0b010111));
}

#[test]
fn ties_are_0() {
    let mut tally = Tally::default();
    assert_eq!(tally.fingerprint(), None);
    tally.vote(0b01, true);
    tally.vote(0b10, true);
    assert_eq!(tally.fingerprint(), Some(0));
}

#[test]
fn distance_counts_differing_bits() {
    assert_eq!(hamming(0b10101, 0b00110), 3);
}

#[test]
fn character_shingles_ignore_spaces() {
    let options = Options::from_json(r#"{"tokens": "chars", "ngram": 4}"#).expect("valid options");
    let features = Fingerprinter::default().features("Python is sexy", &options, &|| ()).expect("memory suffices");
    let features: Vec<String> = features.iter().map(|feature| feature.text.to_owned()).collect();
    assert_eq!(features, ["pyth", "ytho", "thon", "honi", "onis", "niss", "isse", "ssex", "sexy"]);
}
