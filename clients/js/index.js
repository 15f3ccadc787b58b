// Near-duplicate text: bands and 64-bit SimHash fingerprints, the same bits as those of the PostgreSQL extension
// pg_simhash.
//
// Most functions have the names that they have in SQL, without the prefix simhash_. A fingerprint is a BigInt of 64
// bits, signed as PostgreSQL's bigint. index.d.ts documents the functions.

import {
  checkBand, checkDistance, checkFingerprint, checkNumberOfBands, checkShare, checkText, readFingerprints, readTexts,
  writeOptions,
} from './arguments.js'
import { call, outputOf } from './instance.js'

/**
 * The numbers in a match and in a pair, and the bytes before a feature's text, as src/texts.rs and src/batches.rs write
 * them.
 */
const [MATCH_NUMBERS, PAIR_NUMBERS, FEATURE_HEADER_BYTES] = [6, 3, 20]

/** Null has no fingerprint, as in SQL; nor has an empty text. The other functions of a text refuse null. */
export function simhash(text, options) {
  return numberOf(BigInt64Array, 'simhash', inputsOf({ text: text === null ? '' : text }, options))
}

export function band(text, number, options) {
  return firstBands(text, checkBand(number) + 1, options)?.at(-1) ?? null
}

export function bands(text, count = 6, options) {
  return firstBands(text, checkNumberOfBands(count), options)
}

function firstBands(text, count, options) {
  const output = outputOf('bands', inputsOf({ text }, options), count)
  return output && Array.from(new Int32Array(output))
}

export function size(text, options) {
  return numberOf(Int32Array, 'size', inputsOf({ text }, options))
}

export function features(text, options) {
  const output = outputOf('features', inputsOf({ text }, options))
  return readFeatures(output, (hash, weight, feature) => ({ feature, weight, hash }))
}

export function hamming(a, b) {
  return call('hamming', checkFingerprint(a), checkFingerprint(b))
}

export function resemblance(a, b, options) {
  return numberOf(Float64Array, 'resemblance', inputsOf({ a, b }, options))
}

export function near(a, b, criterion) {
  const output = outputOf('near', inputsOf({ a, b }, criterion))
  return output && new Uint8Array(output)[0] === 1
}

export function containment(a, b, options) {
  return numberOf(Float64Array, 'containment', inputsOf({ a, b }, options))
}

export function passages(text, options) {
  return Array.from(new BigInt64Array(outputOf('passages', inputsOf({ text }, options))))
}

export function contains(content, clue, share = 0.6, options) {
  return numberOf(Uint8Array, 'contains', inputsOf({ content, clue }, options), checkShare(share)) === 1
}

export function coverage(content, clue, options) {
  return numberOf(Float64Array, 'coverage', inputsOf({ content, clue }, options))
}

export function matches(content, clue, options) {
  const numbers = new Uint32Array(outputOf('matches', inputsOf({ content, clue }, options)))
  return Array.from({ length: numbers.length / MATCH_NUMBERS }, (_, index) => {
    const [contentStart, contentEnd, clueStart, clueEnd, words, changed] = numbers.subarray(MATCH_NUMBERS * index)
    return { contentStart, contentEnd, clueStart, clueEnd, words, changed }
  })
}

export function difference(a, b, options) {
  const output = outputOf('difference', inputsOf({ a, b }, options))
  return readFeatures(output, (side, weight, feature) => ({ side: side ? 'b' : 'a', feature, weight }))
}

export function pairs(fingerprints, maxDistance = 3) {
  const numbers = new Uint32Array(outputOf('pairs', readFingerprints(fingerprints), checkDistance(maxDistance)))
  const length = numbers.length / PAIR_NUMBERS
  const column = (Type, offset) => Type.from({ length }, (_, row) => numbers[PAIR_NUMBERS * row + offset])
  return { a: column(Uint32Array, 0), b: column(Uint32Array, 1), distance: column(Uint8Array, 2) }
}

export function clusters(fingerprints, maxDistance = 3) {
  return new Int32Array(outputOf('clusters', readFingerprints(fingerprints), checkDistance(maxDistance)))
}

export function textClusters(texts, criterion) {
  return new Int32Array(outputOf('text_clusters', [...readTexts(texts), writeOptions(criterion)]))
}

export function duplicateOf(texts, criterion) {
  return new Int32Array(outputOf('duplicate_of', [...readTexts(texts), writeOptions(criterion)]))
}

export function format() {
  return call('format')
}

/** The number that a function writes; null if it writes none. */
function numberOf(Type, name, inputs, ...numbers) {
  const output = outputOf(name, inputs, ...numbers)
  return output && new Type(output)[0]
}

/** The inputs of a function: its texts, given by argument name, and its options. */
function inputsOf(texts, options) {
  return [...Object.entries(texts).map(([name, text]) => checkText(name, text)), writeOptions(options)]
}

/** The features of an output, each made by `makeFeature`. push_feature in src/texts.rs says how they are written. */
function readFeatures(output, makeFeature) {
  const view = new DataView(output)
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  const features = []
  for (let offset = 0; offset < output.byteLength; ) {
    const length = view.getUint32(offset + 16, true)
    const text = decoder.decode(new Uint8Array(output, offset + FEATURE_HEADER_BYTES, length))
    features.push(makeFeature(view.getBigInt64(offset, true), view.getFloat64(offset + 8, true), text))
    offset += FEATURE_HEADER_BYTES + length
  }
  return features
}
