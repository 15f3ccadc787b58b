// Texts, single fingerprints and options: what the golden vectors do not show.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import {
  band, bands, containment, contains, coverage, difference, features, format, hamming, near, resemblance, simhash,
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
  const clue = '7 8 9 10 11 12 13 14 15 16 17 18 x y'
  assert.deepEqual([contains(content, clue), contains(content, clue, 0.9)], [true, false])
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
})

test('bands', () => {
  const found = bands('one two three')
  assert.deepEqual(found, bands('One, two, three!', 64).slice(0, 6))
  assert.deepEqual(found.map((_, number) => band('one two three', number)), found)
})

test('distances', () => {
  assert.equal(hamming(0n, -1n), 64)
  assert.equal(hamming(-(2n ** 63n), 2n ** 63n - 1n), 64)
  assert.equal(format(), 2)
})

test('options', () => {
  assert.equal(simhash('text', { ngram: undefined }), simhash('text'))
  assert.equal(simhash('text', { seed: 7n }), simhash('text', { seed: 7 }))
  assert.notEqual(simhash('text', { seed: 2n ** 64n - 1n }), simhash('text', { seed: 2n ** 64n - 2n }))
})
