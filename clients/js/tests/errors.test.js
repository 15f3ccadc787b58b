// Errors of arguments and of options.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import {
  band, bands, clusters, containment, contains, difference, duplicateOf, features, hamming, near, pairs, resemblance,
  simhash, size, textClusters,
} from 'pg-simhash'

// Calls of each function of many fingerprints, or of many texts, with these arguments.
const callsWithFingerprints = (...given) => [() => pairs(...given), () => clusters(...given)]
const callsWithTexts = (...given) => [() => textClusters(...given), () => duplicateOf(...given)]

/** Beginnings of messages, and the calls that throw them. */
const TYPE_ERRORS = [
  ['fingerprint must be a BigInt, not number', () => hamming(1, 1n), ...callsWithFingerprints([1])],
  ['fingerprint must be a BigInt, not string', () => hamming('1', 1n)],
  ['fingerprint must be a BigInt, not null', () => hamming(null, 1n)],
  ['fingerprints must be a BigInt64Array or an iterable of BigInt or null, not string', ...callsWithFingerprints('7')],
  ['maximum distance must be a number, not bigint', ...callsWithFingerprints([1n], 3n)],
  ['band must be a number, not string', () => band('a', '1')],
  ['number of bands must be a number, not object', () => bands('a', { ngram: 2 })],
  ['text must be a string, not undefined', () => simhash()],
  ['text has lone surrogates. Use toWellFormed().', () => simhash('a\ud800')],
  ['b must be a string, not number', () => resemblance('a', 7)],
  ['texts must be an iterable of strings or null, not string', ...callsWithTexts('ab')],
  ['texts[1] must be a string, not number', ...callsWithTexts(['a', 1])],
  ['unknown key "radius" of a criterion', ...callsWithTexts(['a'], { radius: 1 })],
  ['unknown simhash option "n_gram". The options are "tokens", ', () => simhash('text', { n_gram: 2 })],
  ['simhash option "ngram" must be a JSON value, not function', () => simhash('text', { ngram: () => 2 })],
  ['simhash options cannot be read. ', () => simhash('text', { weights: { '\ud800': 1 } })],
  ['options must be an object, not null', () => simhash('text', null)],
  ['options must be an object, not Array', () => simhash('text', ['ngram', 2])],
  ['options must be an object, not Map', () => simhash('text', new Map([['ngram', 2]]))],
  ['options must be an object, not Date', () => simhash('text', new Date())],
  ['simhash option "weights" must be a JSON value, not Map', () => simhash('text', { weights: new Map() })],
  ['simhash option "weights" must be a JSON value, not Set', () => simhash('text', { weights: new Set() })],
]

const RANGE_ERRORS = [
  ...[65, -1, 0.5].map((distance) => [
    `maximum distance ${distance} is out of range. Two fingerprints differ in 0 to 64 bits.`,
    ...callsWithFingerprints([1n], distance),
  ]),
  ...[64, -1, 0.5].map((number) => [`there is no band ${number}. Bands are 0 to 63.`, () => band('a', number)]),
  ...[65, 0, 0.5].map((count) => [
    `number of bands ${count} is out of range. A text has 1 to 64.`, () => bands('a', count),
  ]),
  [
    'fingerprint 9223372036854775808 is out of range for a signed 64-bit integer. ' +
      'If it is an unsigned one of 2**63 or more, use BigInt.asIntN(64, fingerprint).',
    () => hamming(1n, 2n ** 63n), ...callsWithFingerprints(BigUint64Array.of(2n ** 63n)),
  ],
  ['clue of 3 words is too short. A ', () => contains('7 8 9', '7 8 9')],
  ['share NaN is out of range. Give a number from 0 to 1: 0.6 for ', () => contains('7 8 9', '7 8 9 10', NaN)],
  [
    'simhash option "seed" is a Number beyond 2**53, which may be rounded. Use a BigInt.',
    () => simhash('text', { seed: 2 ** 53 }),
  ],
  ['invalid value for key "bands" of a criterion: 65', () => near('a', 'b', { bands: 65 })],
  ['invalid value for key "resemblance"', ...callsWithTexts(['a'], { resemblance: null })],
  ['There is no table here to learn weights from', () => near('a', 'b', { weights: 'table' }),
    ...callsWithTexts(['a'], { weights: 'table' })],
  // Every function of a text reads options.
  ['invalid value for simhash option "ngram": 17. It must be an integer from 1 to 16.',
    ...[[simhash, 'a'], [simhash, null], [band, 'a', 0], [bands, 'a', 6], [size, 'a'], [features, 'a'],
      [resemblance, 'a', 'b'], [containment, 'a', 'b'], [difference, 'a', 'b'],
    ].map(([call, ...given]) => () => call(...given, { ngram: 17 }))],
]

for (const [name, table] of Object.entries({ TypeError: TYPE_ERRORS, RangeError: RANGE_ERRORS })) {
  for (const [message, ...calls] of table) {
    test(`${name}: ${message}`, () => {
      for (const call of calls) {
        assert.throws(call, (error) => error.name === name && error.message.startsWith(message))
      }
    })
  }
}
