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

/** The numbers of a match in the output, and the bytes of a feature before its text, as src/texts.rs writes them. */
const [MATCH_NUMBERS, FEATURE_HEADER_BYTES] = [6, 20]

/** Null has no fingerprint, as in SQL; nor has an empty text. The other functions of a text refuse null. */
export function simhash(text, options) {
  const output = outputOf('simhash', inputsOf({ text: text === null ? '' : text }, options))
  return output && new BigInt64Array(output)[0]
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
  const output = outputOf('size', inputsOf({ text }, options))
  return output && new Int32Array(output)[0]
}

export function features(text, options) {
  const output = outputOf('features', inputsOf({ text }, options))
  return readFeatures(output, (hash, weight, feature) => ({ feature, weight, hash }))
}

export function hamming(a, b) {
  return call('hamming', checkFingerprint(a), checkFingerprint(b))
}

export function resemblance(a, b, options) {
  return shareOf('resemblance', { a, b }, options)
}

export function near(a, b, criterion) {
  const output = outputOf('near', inputsOf({ a, b }, criterion))
  return output && new Uint8Array(output)[0] === 1
}

export function containment(a, b, options) {
  return shareOf('containment', { a, b }, options)
}

export function passages(text, options) {
  return Array.from(new BigInt64Array(outputOf('passages', inputsOf({ text }, options))))
}

export function contains(content, clue, share = 0.6, options) {
  const output = outputOf('contains', inputsOf({ content, clue }, options), checkShare(share))
  return new Uint8Array(output)[0] === 1
}

export function coverage(content, clue, options) {
  return shareOf('coverage', { content, clue }, options)
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
  const column = (Type, offset) => Type.from({ length: numbers.length / 3 }, (_, row) => numbers[3 * row + offset])
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

function shareOf(name, texts, options) {
  const output = outputOf(name, inputsOf(texts, options))
  return output && new Float64Array(output)[0]
}

/** The inputs of a function: its texts, which are given by the names of its arguments, and its options. */
function inputsOf(texts, options) {
  return [...Object.entries(texts).map(([name, text]) => checkText(name, text)), writeOptions(options)]
}

/** What `makeFeature` makes of each feature of an output. push_feature in src/texts.rs says how a feature is written. */
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
