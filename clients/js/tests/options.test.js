// Options have the names and values of SQL's options.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { containment, difference, features, resemblance, simhash, wide } from 'pg-simhash'

const TEXT = 'Some words of a text, SOME of them in <b hidden>capitals</b>, 12 of them déjà vu at https://words.example/some'

test('each option matters', () => {
  const others = [
    { tokens: 'chars' },
    { ngram: 2 },
    { weight: 'tf' },
    { weights: { some: 0.01 } },
    { case_fold: false },
    { top: 3 },
    { seed: 1 },
    { markup: 'html' },
    { ignore: ['numbers'] },
    { ignore: ['urls'] },
    { ignore: ['accents'] },
  ]
  for (const options of others) {
    assert.notEqual(simhash(TEXT, options), simhash(TEXT), JSON.stringify(options))
  }
  assert.equal(simhash(TEXT, { tokens: 'words', ngram: 1, weight: 'set', seed: 0 }), simhash(TEXT))
  assert.equal(simhash(TEXT, {}), simhash(TEXT))
  assert.equal(simhash(TEXT, { ngram: undefined }), simhash(TEXT))
})

test('every function of a text reads them', () => {
  for (const call of [
    (options) => simhash(TEXT, options),
    (options) => simhash(null, options),
    (options) => wide(TEXT, 2, options),
    (options) => features(TEXT, options),
    (options) => resemblance(TEXT, TEXT, options),
    (options) => containment(TEXT, TEXT, options),
    (options) => difference(TEXT, TEXT, options),
  ]) {
    assert.throws(() => call({ ngram: 17 }), {
      name: 'RangeError',
      message: 'invalid value for simhash option "ngram": 17. It must be an integer from 1 to 16.',
    })
  }
})

test('a seed is a BigInt beyond 2^53', () => {
  assert.equal(simhash(TEXT, { seed: 7n }), simhash(TEXT, { seed: 7 }))
  assert.notEqual(simhash(TEXT, { seed: 2n ** 64n - 1n }), simhash(TEXT, { seed: 2n ** 64n - 2n }))
  assert.equal(wide(TEXT, 2, { seed: 2n ** 64n - 1n })[1], simhash(TEXT))
  assert.throws(() => simhash(TEXT, { seed: 2 ** 53 }), {
    name: 'RangeError',
    message: 'simhash option "seed" is a Number beyond 2**53, which may be rounded. Use a BigInt.',
  })
  assert.throws(() => simhash(TEXT, { seed: 2n ** 64n }), {
    name: 'RangeError',
    message:
      'invalid value for simhash option "seed": 18446744073709551616. ' +
      'It must be an integer from 0 to 18446744073709551615.',
  })
})

test('wrong options', () => {
  for (const [options, name, message] of [
    [
      { ngram: '2' },
      'RangeError',
      'invalid value for simhash option "ngram": "2". It must be an integer from 1 to 16.',
    ],
    [
      { case_fold: null },
      'RangeError',
      'invalid value for simhash option "case_fold": null. It must be true or false.',
    ],
    [
      { tokens: 'lines' },
      'RangeError',
      'invalid value for simhash option "tokens": "lines". It must be one of "words", "chars", "dictionary".',
    ],
    [
      { markup: 'xml' },
      'RangeError',
      'invalid value for simhash option "markup": "xml". It must be "html".',
    ],
    [
      { weights: { a: NaN } },
      'RangeError',
      'invalid value for simhash option "weights": "a": null. ' +
        'It must be an object of features, each with a number from 0 to 1, and no feature twice.',
    ],
    [
      { n_gram: 2 },
      'TypeError',
      'unknown simhash option "n_gram". ' +
        'The options are "tokens", "ngram", "weight", "weights", "case_fold", "top", "seed", "markup", "ignore", "same".',
    ],
    [{ ngram: () => 2 }, 'TypeError', 'simhash option "ngram" must be a JSON value, not function'],
    [null, 'TypeError', 'options must be an object, not null'],
    [['ngram', 2], 'TypeError', 'options must be an object, not an array'],
    ['{}', 'TypeError', 'options must be an object, not string'],
  ]) {
    assert.throws(() => simhash(TEXT, options), { name, message })
  }
  assert.throws(() => simhash(TEXT, { weights: { '\ud800': 1 } }), /^TypeError: simhash options cannot be read\. /)
})
