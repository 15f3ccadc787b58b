/**
 * The options of a fingerprint and of comparing texts: those of SQL. A seed beyond 2^53 is a BigInt.
 */
export interface Options {
  /** What features are made of: "words" by default. */
  tokens?: 'words' | 'chars'
  /** Number of tokens in a feature, 1 to 16. */
  ngram?: number
  /** How much a feature weighs that occurs more than once: "set" by default. */
  weight?: 'set' | 'log' | 'tf'
  /** How much single features weigh, 0 to 1. */
  weights?: Readonly<Record<string, number>>
  /** Whether letters that differ only in case are the same: true by default. */
  case_fold?: boolean
  /** The seed of the features' hashes, 0 to 2^64 - 1. */
  seed?: number | bigint
  /** The markup of the text, whose tags are no words; none by default. */
  markup?: 'html'
  /** What does not count: tokens with a digit, addresses of the web, marks on Latin, Greek and Cyrillic letters. */
  ignore?: ('numbers' | 'urls' | 'accents')[]
  /** What texts must agree in that resemble each other: "numbers", and words. Without effect on fingerprints. */
  same?: string[]
}

/** What a near-duplicate is: the criterion of SQL, with the options of the fingerprints. */
export interface Criterion extends Options {
  /** The least resemblance of the texts, 0.84 by default; null if the fingerprints decide. */
  resemblance?: number | null
  /** The largest distance of the fingerprints, 10 by default. */
  max_distance?: number
  /** In how many bits some block may differ: [1, 1, 1, 1] by default. */
  radii?: number[]
  /** Among how many bits of a block a search flips one, two, .. */
  flips?: number[]
}

/** What a fingerprint is made of. */
export interface Feature {
  feature: string
  weight: number
  hash: bigint
}

/** A feature that only one of two texts has, or that weighs more in it. */
export interface Difference {
  side: 'a' | 'b'
  feature: string
  /** By how much it weighs more. */
  weight: number
}

/** Near pairs: the positions of both rows, from 0, and their distance. */
export interface Pairs {
  a: Uint32Array
  b: Uint32Array
  distance: Uint8Array
}

/** The fingerprint of a text; null for null and for a text without a feature. */
export function simhash(text: string | null, options?: Options): bigint | null

/** The features that the fingerprint of a text is made of, in the order in which they first end in the text. */
export function features(text: string, options?: Options): Feature[]

/** The number of bits in which two fingerprints differ, 0 to 64. */
export function hamming(a: bigint, b: bigint): number

/**
 * The Jaccard resemblance of two texts, 0 to 1, by their features and pairs of neighbouring features; null if one of
 * them has no feature. 0 if they do not agree in what the option same names.
 */
export function resemblance(a: string, b: string, options?: Options): number | null

/** Whether `a` is a near-duplicate of `b`, which is searched for; null if one of them has no feature. */
export function near(a: string, b: string, criterion?: Criterion): boolean | null

/**
 * The share of the features of `a`, and of its pairs of neighbouring features, that `b` has too, 0 to 1: 1 for an
 * excerpt. Null if `a` has no feature. The option same has no effect.
 */
export function containment(a: string, b: string, options?: Options): number | null

/**
 * The passages of a text, hashes of runs of words, in ascending order. Two texts that have 11 words in a row in common,
 * or 13 words and letters of a script without spaces, have a passage in common. Of the options, case_fold, ignore and
 * markup count.
 */
export function passages(text: string, options?: Options): bigint[]

/**
 * The share of a clue's words that stand in a text as they do in the clue, in runs of three words, 0 to 1; null if the
 * clue has no word.
 */
export function coverage(clue: string, text: string, options?: Options): number | null

/**
 * The features that only one of two texts has, or that weigh more in it: first those of `a`, then those of `b`, each in
 * the order in which they first end in the text. The option same has no effect.
 */
export function difference(a: string, b: string, options?: Options): Difference[]

/**
 * Every pair of fingerprints at a distance of at most maxDistance, 3 by default, each once, a < b. The order of the
 * pairs has no meaning. A row that is null is in no pair.
 */
export function pairs(fingerprints: BigInt64Array | Iterable<bigint | null>, maxDistance?: number): Pairs

/**
 * For each row, the position, from 0, of the first row of its cluster: of all rows that are connected with it by pairs
 * at a distance of at most maxDistance, 3 by default. -1 for a row that is null.
 */
export function clusters(fingerprints: BigInt64Array | Iterable<bigint | null>, maxDistance?: number): Int32Array

/** The version of the fingerprint format. Fingerprints of different versions must not be compared. */
export function format(): number
