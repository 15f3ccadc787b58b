/*
 * Most names are those of SQL without the prefix simhash_. A fingerprint is a BigInt of 64 bits, signed as PostgreSQL's
 * bigint. NUL, which PostgreSQL stores in no text, is a separator.
 *
 * Errors: a wrong type, an unknown option and a text with lone surrogates are a TypeError; a value out of range, a text
 * that exceeds a limit and refused memory are a RangeError.
 *
 * Memory: a module has at most 4 GB, and a row of pairs or clusters takes about 50 bytes. textClusters and duplicateOf
 * copy all texts, and take 90 to 120 bytes for each and up to 256 MB. Without enough memory, the call fails with a
 * RangeError, or with an Error if the module cannot report it.
 *
 * Browsers: bundlers that know new URL('./pg_simhash.wasm', import.meta.url) copy the module (1.0 MB, 0.3 MB
 * compressed). A content security policy must allow 'wasm-unsafe-eval'.
 */

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
  /** The markup of the text, whose tags are no words; "main" reads only what a page is about. None by default. */
  markup?: 'html' | 'main'
  /** What of a text is ignored: tokens with a digit, ids, addresses, marks on letters, hyphens at the ends of lines. */
  ignore?: ('numbers' | 'ids' | 'urls' | 'accents' | 'hyphenation')[]
  /** What texts must agree in to resemble each other: "numbers", and words. Without effect on fingerprints. */
  same?: string[]
}

/** What a near-duplicate is: the criterion of SQL for texts, with the options by which they are compared. */
export interface Criterion extends Options {
  /** The least resemblance of the texts, 0.84 by default. */
  resemblance?: number
  /**
   * Of how many bands the texts must share one, 1 to 64. By default 6 for a resemblance of 0.8 or more, 12 for 0.7 and
   * 24 for 0.6; required below 0.6.
   */
  bands?: number
}

/** A feature of a text. */
export interface Feature {
  /** The text of the feature: one word or several words, or characters. */
  feature: string
  weight: number
  hash: bigint
}

/** A feature that only one of two texts has, or that weighs more in one of them: on this side. */
export interface Difference {
  side: 'a' | 'b'
  feature: string
  /** By how much the feature weighs more on this side. */
  weight: number
}

/** Words in a row that a text and a clue have in common. Offsets are those of `slice`: in code units of UTF-16. */
export interface Match {
  contentStart: number
  contentEnd: number
  clueStart: number
  clueEnd: number
  /** The number of words that both have. */
  words: number
  /** The number of words between these that only one has, or that differ. */
  changed: number
}

/** Near pairs: the positions of both rows, from 0, and their distance. */
export interface Pairs {
  a: Uint32Array
  b: Uint32Array
  distance: Uint8Array
}

/**
 * The fingerprint of a text; null for null and for a text without a feature.
 *
 * @example simhash('The quick brown fox jumps over the lazy dog') // -9079108955735420317n
 */
export function simhash(text: string | null, options?: Options): bigint | null

/**
 * A band of a text, 0 to 63: a 32-bit integer that texts share the more probably the more they resemble each other. Null
 * for a text without a feature. By the option same, texts that do not agree share no band.
 *
 * @example band('one two three four', 0) // -2013420695
 */
export function band(text: string, band: number, options?: Options): number | null

/**
 * The first bands of a text, 6 by default; null for a text without a feature. By the option same, texts that do not
 * agree share no band.
 *
 * @example bands('one two three four', 2) // [ -2013420695, -78305049 ]
 */
export function bands(text: string, count?: number, options?: Options): number[] | null

/**
 * The size of a text: the number of its features and pairs of neighbouring features, by weight. Null for a text without
 * a feature.
 *
 * @example size('one two three four') // 7
 */
export function size(text: string, options?: Options): number | null

/**
 * The features that the fingerprint of a text is made of, in the order in which they first end in the text.
 *
 * @example features('one two, ONE').map(({ feature }) => feature) // [ 'one', 'two' ]
 */
export function features(text: string, options?: Options): Feature[]

/**
 * The number of bits in which two fingerprints differ, 0 to 64.
 *
 * @example hamming(0n, 5n) // 2
 */
export function hamming(a: bigint, b: bigint): number

/**
 * The Jaccard resemblance of two texts, 0 to 1, by their features and pairs of neighbouring features; null if one of
 * them has no feature. 0 if they do not agree in what the option same names.
 *
 * @example resemblance('one two three four', 'one two three five') // 0.5555555555555556
 */
export function resemblance(a: string, b: string, options?: Options): number | null

/**
 * Whether two texts are near-duplicates: they share a band, their fingerprints are near, and they resemble each other
 * enough. Null if one of them has no feature.
 *
 * @example near('one two three four', 'ONE two, three four') // true
 */
export function near(a: string, b: string, criterion?: Criterion): boolean | null

/**
 * The share of the features of `a`, and of its pairs of neighbouring features, that `b` has too, 0 to 1: 1 for an
 * excerpt. Null if `a` has no feature. The option same has no effect.
 *
 * @example containment('one two', 'one two three four') // 1
 */
export function containment(a: string, b: string, options?: Options): number | null

/**
 * The passages of a text, hashes of runs of words, in ascending order. Two texts that have 11 words in a row in common,
 * or 13 words and letters of a script without spaces, have a passage in common. Of the options, tokens, case_fold, ignore
 * and markup count.
 *
 * @example passages('one two three four') // [ 1439181302768712433n ]
 */
export function passages(text: string, options?: Options): bigint[]

/**
 * Whether a text has a passage in common with a clue's runs, and at least this share of its words, 0.6 by default. A clue
 * of fewer than 4 words, or 5 letters of a script without spaces, is a RangeError.
 *
 * @example contains('a b c d e f g h i j k l m n', 'A b, c d e f g h i j k.') // true
 */
export function contains(content: string, clue: string, share?: number, options?: Options): boolean

/**
 * The share of a clue's words that are in matches with a text, 0 to 1; null if the clue has no word.
 *
 * @example coverage('zero one two three', 'one two three four') // 0.75
 */
export function coverage(content: string, clue: string, options?: Options): number | null

/**
 * Where a text and a clue have at least three words in a row in common, in the order of the text.
 *
 * @example matches('zero one two three', 'one two three')[0].contentStart // 5
 */
export function matches(content: string, clue: string, options?: Options): Match[]

/**
 * The features that only one of two texts has, or that weigh more in it: first those of `a`, then those of `b`, each in
 * the order in which they first end in the text. The option same has no effect.
 *
 * @example difference('one two', 'two') // [ { side: 'a', feature: 'one', weight: 1 } ]
 */
export function difference(a: string, b: string, options?: Options): Difference[]

/**
 * Every pair of fingerprints at a distance of at most maxDistance, 3 by default, each once, a < b. The order of the
 * pairs has no meaning. A row that is null is in no pair.
 *
 * @example pairs([7n, 0n, 15n, null], 1).distance // Uint8Array(1) [ 1 ]
 */
export function pairs(fingerprints: BigInt64Array | Iterable<bigint | null>, maxDistance?: number): Pairs

/**
 * For each row, the position, from 0, of the first row of its cluster: of all rows that are connected with it by pairs
 * at a distance of at most maxDistance, 3 by default. -1 for a row that is null.
 *
 * @example clusters([7n, 0n, 15n, null], 1) // Int32Array(4) [ 0, 1, 0, -1 ]
 */
export function clusters(fingerprints: BigInt64Array | Iterable<bigint | null>, maxDistance?: number): Int32Array

/**
 * For each text, the position, from 0, of the first text of its cluster: of all texts that are connected with it by near
 * pairs (see near). -1 for null and for a text without a feature.
 *
 * @example textClusters(['one two', 'five', 'ONE, two', null]) // Int32Array(4) [ 0, 1, 0, -1 ]
 */
export function textClusters(texts: Iterable<string | null>, criterion?: Criterion): Int32Array

/**
 * For each text, the position, from 0, of the earlier text that it duplicates; -1 for a text that stays. A text goes if
 * it is near (see near) an earlier one that stays: of several, it duplicates the one that it resembles most.
 *
 * @example duplicateOf(['one two', 'five', 'ONE, two', null]) // Int32Array(4) [ -1, -1, 0, -1 ]
 */
export function duplicateOf(texts: Iterable<string | null>, criterion?: Criterion): Int32Array

/**
 * The version of the fingerprint format. Fingerprints of different versions must not be compared.
 *
 * @example format() // 2
 */
export function format(): number
