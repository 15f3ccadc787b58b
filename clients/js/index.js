// Near-duplicate text: bands and 64-bit SimHash fingerprints, the same bits as those of the PostgreSQL extension
// pg_simhash.
//
// The functions have the names that they have in SQL, without the prefix simhash_. A fingerprint is a BigInt of 64
// bits, signed as PostgreSQL's bigint. index.d.ts documents the functions.

import {
  checkBand,
  checkDistance,
  checkFingerprint,
  checkNumberOfBands,
  checkShare,
  checkText,
  readRows,
  readTexts,
  writeOptions,
} from './arguments.js'
import { answer, call } from './instance.js'

export function simhash(text, options) {
  const json = writeOptions(options)
  const output = answer('simhash', [text === null ? '' : checkText('text', text), json])
  return output && new BigInt64Array(output)[0]
}

export function band(text, band, options) {
  return firstBands(text, checkBand(band) + 1, options)?.at(-1) ?? null
}

export function bands(text, count = 6, options) {
  return firstBands(text, checkNumberOfBands(count), options)
}

function firstBands(text, count, options) {
  const output = answer('bands', [checkText('text', text), writeOptions(options)], count)
  return output && Array.from(new Int32Array(output))
}

export function size(text, options) {
  const output = answer('size', [checkText('text', text), writeOptions(options)])
  return output && new Int32Array(output)[0]
}

export function features(text, options) {
  const found = readFeatures(answer('features', [checkText('text', text), writeOptions(options)]))
  return found.map(([hash, weight, feature]) => ({ feature, weight, hash }))
}

export function resemblance(a, b, options) {
  return answerShare('resemblance', [checkText('a', a), checkText('b', b)], options)
}

export function near(a, b, criterion) {
  const output = answer('near', [checkText('a', a), checkText('b', b), writeOptions(criterion)])
  return output && new Uint8Array(output)[0] === 1
}

export function containment(a, b, options) {
  return answerShare('containment', [checkText('a', a), checkText('b', b)], options)
}

export function passages(text, options) {
  return Array.from(new BigInt64Array(answer('passages', [checkText('text', text), writeOptions(options)])))
}

export function contains(content, clue, share = 0.6, options) {
  const texts = [checkText('content', content), checkText('clue', clue)]
  const output = answer('contains', [...texts, writeOptions(options)], checkShare(share))
  return new Uint8Array(output)[0] === 1
}

export function coverage(content, clue, options) {
  return answerShare('coverage', [checkText('content', content), checkText('clue', clue)], options)
}

export function matches(content, clue, options) {
  const texts = [checkText('content', content), checkText('clue', clue)]
  const numbers = new Uint32Array(answer('matches', [...texts, writeOptions(options)]))
  return Array.from({ length: numbers.length / 6 }, (_, number) => {
    const [contentStart, contentEnd, clueStart, clueEnd, words, changed] = numbers.subarray(6 * number)
    return { contentStart, contentEnd, clueStart, clueEnd, words, changed }
  })
}

export function difference(a, b, options) {
  const found = readFeatures(answer('difference', [checkText('a', a), checkText('b', b), writeOptions(options)]))
  return found.map(([side, weight, feature]) => ({ side: side ? 'b' : 'a', feature, weight }))
}

function answerShare(name, texts, options) {
  const output = answer(name, [...texts, writeOptions(options)])
  return output && new Float64Array(output)[0]
}

/** The features of an output: for each, a number (its hash, or the side of a difference), its weight and its text. */
function readFeatures(output) {
  const view = new DataView(output)
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  const found = []
  for (let offset = 0; offset < output.byteLength; ) {
    const length = view.getUint32(offset + 16, true)
    const feature = decoder.decode(new Uint8Array(output, offset + 20, length))
    found.push([view.getBigInt64(offset, true), view.getFloat64(offset + 8, true), feature])
    offset += 20 + length
  }
  return found
}

export function hamming(a, b) {
  return call('hamming', checkFingerprint(a), checkFingerprint(b))
}

export function pairs(fingerprints, maxDistance = 3) {
  const rows = readRows(fingerprints)
  const numbers = new Uint32Array(answer('pairs', rows, checkDistance(maxDistance)))
  const count = numbers.length / 3
  const found = { a: new Uint32Array(count), b: new Uint32Array(count), distance: new Uint8Array(count) }
  for (let pair = 0; pair < count; pair++) {
    found.a[pair] = numbers[3 * pair]
    found.b[pair] = numbers[3 * pair + 1]
    found.distance[pair] = numbers[3 * pair + 2]
  }
  return found
}

export function clusters(fingerprints, maxDistance = 3) {
  const rows = readRows(fingerprints)
  return new Int32Array(answer('clusters', rows, checkDistance(maxDistance)))
}

export function textClusters(texts, criterion) {
  return new Int32Array(answer('text_clusters', [...readTexts(texts), writeOptions(criterion)]))
}

export function duplicateOf(texts, criterion) {
  return new Int32Array(answer('duplicate_of', [...readTexts(texts), writeOptions(criterion)]))
}

export function format() {
  return call('format')
}
