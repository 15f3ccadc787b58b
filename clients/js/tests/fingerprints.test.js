// Texts and single fingerprints.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import {
  block,
  containment,
  contains,
  coverage,
  difference,
  features,
  format,
  hamming,
  probes,
  near,
  resemblance,
  similarity,
  simhash,
  wide,
} from 'pg-simhash'

test('a text without a feature has no fingerprint', () => {
  for (const text of [null, '', '?!']) {
    assert.equal(simhash(text), null)
    assert.equal(wide(text), null)
  }
  assert.deepEqual(features('?!'), [])
  assert.equal(resemblance('?!', 'text'), null)
  assert.equal(containment('?!', 'text'), null)
  assert.equal(containment('text', '?!'), 0)
  assert.deepEqual(difference('?!', ''), [])
})

test('fingerprints are signed', () => {
  assert.equal(simhash('The quick brown fox jumps over the lazy dog'), -9079108955735420317n)
  assert.equal(BigInt.asUintN(64, simhash('hello')), 2n ** 64n - 7685981735718036227n)
})

test('features', () => {
  const found = features('To be, or not to be', { weight: 'tf', weights: { or: 0.5 } })
  assert.deepEqual(
    found.map(({ feature, weight }) => [feature, weight]),
    [
      ['to', 2],
      ['be', 2],
      ['or', 0.5],
      ['not', 1],
    ],
  )
  for (const { feature, hash } of found) {
    assert.equal(hash, simhash(feature))
  }
  assert.deepEqual(
    features('naïve 数据').map(({ feature }) => feature),
    ['naïve', '数据'],
  )
})

test('resemblance', () => {
  assert.equal(resemblance('red green blue', 'blue, green, black'), 0.25)
  assert.equal(resemblance('a b', 'A B', { case_fold: false }), 0)
  assert.equal(resemblance('4,000 tonnes', '5,000 tonnes'), 3 / 7)
  assert.equal(resemblance('4,000 tonnes', '5,000 tonnes', { same: ['numbers'] }), 0)
  assert.equal(resemblance('4,000 tonnes', '4,000: tonnes!', { same: ['numbers'] }), 1)
})

test('near', () => {
  const [a, b] = ['one two three four five six', 'One, two, three, four, five: six!']
  assert.equal(near(a, b), true)
  assert.equal(near(a, 'something else'), false)
  assert.equal(near(a, b, { case_fold: false, resemblance: 0.9 }), false)
  assert.equal(near('?!', b), null)
  assert.throws(() => near(a, b, { radii: [1] }), { message: /^invalid value for key "radii" of a criterion: \[1\]/ })
  assert.throws(() => near(a, b, { weights: 'table' }), RangeError)
})

test('contains', () => {
  const text = 'The quick brown fox jumps over the lazy dog'
  assert.ok(contains(text, 'BROWN fox jumps over'))
  assert.ok(!contains(text, 'brown fox jumps high'))
  assert.ok(contains(text, 'brown fox jumps high', 0.75))
  assert.ok(!contains(text, '!'))
  assert.equal(coverage('!', text), null)
  assert.throws(() => contains(text, null), TypeError)
})

test('containment', () => {
  assert.equal(containment('to be', 'To be, or not to be'), 1)
  assert.equal(containment('To be, or not to be', 'to be'), 3 / 8)
})

test('difference', () => {
  assert.deepEqual(difference('a a a naïve', 'a naïve naïve 数据', { weight: 'tf', weights: { a: 0.5 } }), [
    { side: 'a', feature: 'a', weight: 1 },
    { side: 'b', feature: 'naïve', weight: 1 },
    { side: 'b', feature: '数据', weight: 1 },
  ])
  assert.deepEqual(difference('same', 'SAME!'), [])
})

test('distances', () => {
  assert.equal(hamming(0n, -1n), 64)
  assert.equal(hamming(5n, 6n), 2)
  assert.equal(hamming(-(2n ** 63n), 2n ** 63n - 1n), 64)
  assert.equal(similarity(7n, 7n), 1)
  assert.equal(similarity(0n, -1n), -1)
  assert.ok(Math.abs(similarity(0n, 7n) - Math.cos((Math.PI * 3) / 64)) < 1e-15)
})

test('what is no fingerprint', () => {
  for (const call of [
    (fingerprint) => hamming(fingerprint, 1n),
    (fingerprint) => hamming(1n, fingerprint),
    (fingerprint) => similarity(fingerprint, 1n),
    (fingerprint) => block(fingerprint, 0),
    (fingerprint) => probes(fingerprint, 0, 4, 3),
  ]) {
    assert.throws(() => call(1), { name: 'TypeError', message: 'fingerprint must be a BigInt, not number' })
    assert.throws(() => call('1'), { name: 'TypeError', message: 'fingerprint must be a BigInt, not string' })
    assert.throws(() => call(null), { name: 'TypeError', message: 'fingerprint must be a BigInt, not null' })
    assert.throws(() => call(2n ** 63n), {
      name: 'RangeError',
      message:
        'fingerprint 9223372036854775808 is out of range for a signed 64-bit integer. ' +
        'If it is an unsigned one of 2**63 or more, use BigInt.asIntN(64, fingerprint).',
    })
  }
})

test('what is no text', () => {
  assert.throws(() => simhash(7), { name: 'TypeError', message: 'text must be a string, not number' })
  assert.throws(() => simhash(), { name: 'TypeError', message: 'text must be a string, not undefined' })
  assert.throws(() => features(null), { name: 'TypeError', message: 'text must be a string, not null' })
  for (const call of [resemblance, containment, difference]) {
    assert.throws(() => call('a', 7), { name: 'TypeError', message: 'b must be a string, not number' })
  }
  assert.throws(() => simhash('a\ud800'), {
    name: 'TypeError',
    message: 'text has lone surrogates. Use toWellFormed().',
  })
})

test('numbers out of range', () => {
  for (const [call, message] of [
    [() => wide('a', 0), 'number of words 0 is out of range. A wide fingerprint has 1 to 16 words of 64 bits.'],
    [() => wide('a', 17), 'number of words 17 is out of range. A wide fingerprint has 1 to 16 words of 64 bits.'],
    [() => block(1n, 0, 9), 'number of blocks 9 is out of range. A layout has 2 to 8 blocks.'],
    [() => block(1n, 4), 'block number 4 is out of range. A layout of 4 blocks has the blocks 0 to 3.'],
    [() => block(1n, -1, 2), 'block number -1 is out of range. A layout of 2 blocks has the blocks 0 to 1.'],
    [() => block(1n, 0.5), 'block number 0.5 is out of range. It must be an integer of 32 bits.'],
    [() => block(1n, 2 ** 32), 'block number 4294967296 is out of range. It must be an integer of 32 bits.'],
  ]) {
    assert.throws(call, { name: 'RangeError', message })
  }
  assert.throws(
    () => probes(1n, 0, 2, 30),
    /^RangeError: distance 30 needs \d+ probes of block 0 of 2\. At most 1048576 are possible\./,
  )
  assert.throws(() => block(1n, 0n), { name: 'TypeError', message: 'block number must be a number, not bigint' })
})

test('no probes at a negative distance, nor in a block that need not be looked at', () => {
  assert.deepEqual(probes(1n, 0, 4, -1), [])
  assert.deepEqual(probes(1n, 3, 4, 2), [])
  assert.deepEqual(probes(-1n, 1, 2, 1), [-1])
})

test('the format', () => {
  assert.equal(format(), 2)
})
