// Pairs and clusters of fingerprints, and clusters and duplicates of texts, are those that a comparison of all rows
// finds. clients/python/tests/test_pairs.py is the same test.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { clusters, duplicateOf, hamming, near, pairs, resemblance, textClusters } from 'pg-simhash'

/** A function that returns the next random number below its argument: the same in each run (xorshift64*). */
function randomNumbers(seed) {
  let state = seed
  return (end) => {
    state ^= state >> 12n
    state = BigInt.asUintN(64, state ^ (state << 25n))
    state ^= state >> 27n
    return BigInt.asUintN(64, state * 0x2545f4914f6cdd1dn) % end
  }
}

/** Fingerprints among which there are near ones, equal ones and, if asked for, missing ones. */
function nearFingerprints(random, count, someMissing) {
  const fingerprints = []
  for (let row = 0; row < count; row++) {
    const other = row > 0 && random(10n) < 7n ? fingerprints[Number(random(BigInt(row)))] : null
    let fingerprint = other ?? random(2n ** 64n)
    for (let flips = random(5n); flips > 0n; flips--) {
      fingerprint ^= 1n << random(64n)
    }
    fingerprints.push(someMissing && random(8n) === 0n ? null : BigInt.asIntN(64, fingerprint))
  }
  return fingerprints
}

/** All near pairs, each as [position, later position, distance]. */
function pairsByDefinition(fingerprints, maxDistance) {
  const found = []
  fingerprints.forEach((later, b) => {
    fingerprints.slice(0, b).forEach((earlier, a) => {
      if (earlier !== null && later !== null && hamming(earlier, later) <= maxDistance) {
        found.push([a, b, hamming(earlier, later)])
      }
    })
  })
  return found
}

/** The first row of each row's cluster; -1 for a row without a fingerprint. */
function clustersByDefinition(fingerprints, nearPairs) {
  const firsts = fingerprints.map((_, row) => row)
  for (let changed = true; changed; ) {
    changed = false
    for (const [a, b] of nearPairs) {
      const least = Math.min(firsts[a], firsts[b])
      changed ||= firsts[a] !== least || firsts[b] !== least
      firsts[a] = firsts[b] = least
    }
  }
  return firsts.map((first, row) => (fingerprints[row] === null ? -1 : first))
}

function rowsOf({ a, b, distance }) {
  return Array.from(a, (_, pair) => [a[pair], b[pair], distance[pair]])
}

const byPositions = (one, other) => one[0] - other[0] || one[1] - other[1]

test('pairs and clusters are those of the definition', () => {
  const random = randomNumbers(1n)
  for (const [count, maxDistance] of [[0, 3], [1, 3], [200, 0], [200, 3], [200, 6], [40, 64]]) {
    for (const someMissing of [false, true]) {
      const fingerprints = nearFingerprints(random, count, someMissing)
      const expected = pairsByDefinition(fingerprints, maxDistance)
      const rows = someMissing ? fingerprints : BigInt64Array.from(fingerprints)
      assert.deepEqual(rowsOf(pairs(rows, maxDistance)).sort(byPositions), expected.sort(byPositions))
      assert.deepEqual(Array.from(clusters(rows, maxDistance)), clustersByDefinition(fingerprints, expected))
    }
  }
})

test('types of arguments and results, and the default distance', () => {
  const found = pairs([0n, 0b111n, 0b1111n])
  assert.deepEqual(rowsOf(found).sort(byPositions), [[0, 1, 3], [1, 2, 1]])
  assert.ok(found.a instanceof Uint32Array && found.b instanceof Uint32Array && found.distance instanceof Uint8Array)
  assert.deepEqual(clusters([0n, 0b111n, 0b1111111n]), Int32Array.of(0, 0, 2))
  assert.deepEqual(clusters(new Set([8n, null, 9n])), Int32Array.of(0, -1, 0))
  const all = BigInt64Array.of(1n, 2n, -1n, 3n)
  assert.deepEqual(clusters(all.subarray(1)), Int32Array.of(0, 1, 0))
})

test('clusters and duplicates of texts', () => {
  const texts = ['one two three four', null, 'One, two, three four!', 'héé', '...', '']
  assert.deepEqual(textClusters(texts), Int32Array.of(0, -1, 0, 3, -1, -1))
  assert.deepEqual(duplicateOf(new Set(texts)), Int32Array.of(-1, -1, 0, -1, -1, -1))
  assert.deepEqual(duplicateOf([]), new Int32Array())
  const [a, b] = ['one two three four five six seven eight', 'one two three four five six seven nine']
  assert.deepEqual(textClusters([a, b]), Int32Array.of(0, 1))
  assert.deepEqual(textClusters([a, b], { resemblance: 0.6, bands: 64 }), Int32Array.of(0, 0))
})

test('duplicateOf keeps the texts that the definition keeps', () => {
  // By the definition, a text stays unless it is near an earlier one that stays. It duplicates the one most like it.
  const random = randomNumbers(3n)
  const word = () => `w${random(10n ** 6n)}`
  const texts = []
  for (let group = 0; group < 30; group++) {
    const words = Array.from({ length: 40 }, word)
    for (let variant = 0; variant < 8; variant++) {
      words[Number(random(40n))] = word()
      texts.splice(Number(random(BigInt(texts.length + 1))), 0, words.join(' '))
    }
  }
  const expected = []
  texts.forEach((text, row) => {
    const staying = expected.flatMap((original, other) => (original === -1 && near(texts[other], text) ? [other] : []))
    const most = Math.max(...staying.map((other) => resemblance(texts[other], text)))
    expected[row] = staying.find((other) => resemblance(texts[other], text) === most) ?? -1
  })
  assert.deepEqual(Array.from(duplicateOf(texts)), expected)
  assert.ok(expected.filter((original) => original !== -1).length > 80)
})
