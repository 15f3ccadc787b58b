// Texts, single fingerprints and options: what the golden vectors do not show.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import {
  band,
  bands,
  containment,
  contains,
  coverage,
  difference,
  features,
  format,
  hamming,
  near,
  resemblance,
  simhash,
  size,
} from 'pg-simhash'

test('a text without a feature has no fingerprint', () => {
  for (const text of [null, '', '?!']) {
    assert.equal(simhash(text), null)
  }
  assert.deepEqual(features('?!'), [])
  assert.deepEqual(difference('?!', ''), [])
  for (const share of [resemblance, near, containment]) {
    assert.equal(share('?!', 'text'), null)
  }
  assert.equal(coverage('text', '?!'), null)
})

test('contains', () => {
  const content = Array.from({ length: 50 }, (_, number) => number).join(' ')
  assert.equal(contains(content, '7 8 9 10 11 12 13 14 15 16 17 18 x y'), true)
  assert.equal(contains(content, '7 8 9 10 11 12 13 14 15 16 17 18 x y', 0.9), false)
  assert.throws(() => contains(content, '7 8 9'), { name: 'RangeError', message: /^clue of 3 words is too short\. A / })
  assert.throws(() => contains(content, '7 8 9 10', NaN), { name: 'RangeError', message: /^share NaN is out of range/ })
})

test('features', () => {
  const found = features('naïve, or 数据 数据', { weight: 'tf', weights: { or: 0.5 } })
  const expected = [['naïve', 1], ['or', 0.5], ['数据数', 1], ['据数据', 1]]
  assert.deepEqual(found.map(({ feature, weight }) => [feature, weight]), expected)
  assert.equal(found[0].hash, simhash('naïve'))
})

test('near', () => {
  const [a, b] = ['one two three four five six', 'One, two, three, four, five: six!']
  assert.equal(near(a, b), true)
  assert.equal(near(a, 'something else'), false)
  assert.equal(near(a, b, { case_fold: false, resemblance: 0.9 }), false)
  assert.throws(() => near(a, b, { bands: 65 }), { message: /^invalid value for key "bands" of a criterion: 65/ })
  assert.throws(() => near(a, b, { weights: 'table' }), RangeError)
})

test('bands', () => {
  const found = bands('one two three')
  assert.deepEqual(found, bands('One, two, three!', 64).slice(0, 6))
  assert.deepEqual(found.map((_, number) => band('one two three', number)), found)
  assert.equal(size('one two three'), 5)
  assert.deepEqual([bands('...'), band('...', 63), size('...')], [null, null, null])
  for (const number of [64, -1, 0.5]) {
    const message = `there is no band ${number}. Bands are 0 to 63.`
    assert.throws(() => band('a', number), { name: 'RangeError', message })
  }
  for (const count of [65, 0, 0.5]) {
    const message = `number of bands ${count} is out of range. A text has 1 to 64.`
    assert.throws(() => bands('a', count), { name: 'RangeError', message })
  }
  assert.throws(() => band('a', '1'), { name: 'TypeError', message: 'band must be a number, not string' })
  assert.throws(() => bands('a', { ngram: 2 }), { name: 'TypeError', message: 'number of bands must be a number, not object' })
})

test('distances', () => {
  assert.equal(hamming(0n, -1n), 64)
  assert.equal(hamming(-(2n ** 63n), 2n ** 63n - 1n), 64)
  assert.equal(format(), 2)
})

test('what is no fingerprint', () => {
  for (const [value, found] of [[1, 'number'], ['1', 'string'], [null, 'null']]) {
    assert.throws(() => hamming(value, 1n), { name: 'TypeError', message: `fingerprint must be a BigInt, not ${found}` })
  }
  assert.throws(() => hamming(1n, 2n ** 63n), {
    name: 'RangeError',
    message:
      'fingerprint 9223372036854775808 is out of range for a signed 64-bit integer. ' +
      'If it is an unsigned one of 2**63 or more, use BigInt.asIntN(64, fingerprint).',
  })
})

test('what is no text', () => {
  assert.throws(() => simhash(), { name: 'TypeError', message: 'text must be a string, not undefined' })
  assert.throws(() => resemblance('a', 7), { name: 'TypeError', message: 'b must be a string, not number' })
  const message = 'text has lone surrogates. Use toWellFormed().'
  assert.throws(() => simhash('a\ud800'), { name: 'TypeError', message })
})

test('every function of a text reads options', () => {
  for (const call of [
    (options) => simhash('text', options),
    (options) => simhash(null, options),
    (options) => band('text', 0, options),
    (options) => bands('text', 6, options),
    (options) => size('text', options),
    (options) => features('text', options),
    (options) => resemblance('text', 'text', options),
    (options) => containment('text', 'text', options),
    (options) => difference('text', 'text', options),
  ]) {
    assert.throws(() => call({ ngram: 17 }), {
      name: 'RangeError',
      message: 'invalid value for simhash option "ngram": 17. It must be an integer from 1 to 16.',
    })
  }
  assert.equal(simhash('text', { ngram: undefined }), simhash('text'))
})

test('a seed is a BigInt beyond 2^53', () => {
  assert.equal(simhash('text', { seed: 7n }), simhash('text', { seed: 7 }))
  assert.notEqual(simhash('text', { seed: 2n ** 64n - 1n }), simhash('text', { seed: 2n ** 64n - 2n }))
  assert.throws(() => simhash('text', { seed: 2 ** 53 }), {
    name: 'RangeError',
    message: 'simhash option "seed" is a Number beyond 2**53, which may be rounded. Use a BigInt.',
  })
})

test('wrong options', () => {
  for (const [options, name, message] of [
    [{ n_gram: 2 }, 'TypeError', /^unknown simhash option "n_gram"\. The options are "tokens", /],
    [{ ngram: () => 2 }, 'TypeError', 'simhash option "ngram" must be a JSON value, not function'],
    [{ weights: { '\ud800': 1 } }, 'TypeError', /^simhash options cannot be read\. /],
    [null, 'TypeError', 'options must be an object, not null'],
    [['ngram', 2], 'TypeError', 'options must be an object, not an array'],
  ]) {
    assert.throws(() => simhash('text', options), { name, message })
  }
})
