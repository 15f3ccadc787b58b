// Fingerprints and bands are those of the golden vectors, which fix the stored formats.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

import {
  band, bands, containment, contains, coverage, difference, features, matches, passages, resemblance, simhash, size,
} from 'pg-simhash'

/** The lines of a file. What may be beyond 2^53 is read as BigInt: fingerprint, passages, and the option seed. */
function readEntries(name) {
  const lines = readFileSync(new URL(`golden/${name}`, import.meta.url), 'utf8').trimEnd().split('\n')
  return lines.map((line) => {
    const entry = JSON.parse(line)
    for (const key of ['fingerprint', 'passages']) {
      const written = line.match(`"${key}": (-?\\d+|\\[[^\\]]*\\])`)
      if (written) {
        const numbers = (written[1].match(/-?\d+/g) ?? []).map(BigInt)
        entry[key] = Array.isArray(entry[key]) ? numbers : numbers[0]
      }
    }
    const seed = line.match(/"seed": (\d+)/)
    if (seed) {
      entry.options.seed = BigInt(seed[1])
    }
    return entry
  })
}

/** The text of an entry: literal, a repeated piece, or a piece that is repeated with the numbers from 0 in it. */
function textOf(entry) {
  if (entry.repeat) {
    const [piece, count] = entry.repeat
    return piece.repeat(count)
  }
  if (entry.numbered) {
    const [piece, count] = entry.numbered
    return Array.from({ length: count }, (_, number) => piece.replaceAll('{}', number)).join('')
  }
  return entry.text
}

test('fingerprints, features, passages, and two texts', () => {
  const golden = readEntries('golden.jsonl')
  for (const [key, least] of [['fingerprint', 300], ['with', 10], ['passages', 60]]) {
    assert.ok(golden.filter((entry) => key in entry).length >= least, key)
  }
  for (const { name, options = undefined, ...expected } of golden) {
    const content = textOf(expected)
    assert.equal(simhash(content, options), expected.fingerprint, name)
    assert.equal(features(content, options).length, expected.features, name)
    if ('passages' in expected) {
      assert.deepEqual(passages(content, options), expected.passages, name)
    }
    if ('with' in expected) {
      const both = [content, expected.with, options]
      assert.equal(resemblance(...both), expected.resemblance, name)
      assert.equal(containment(...both), expected.containment, name)
      const found = difference(...both).map(({ side, feature, weight }) => [side, feature, weight])
      assert.deepEqual(found, expected.difference, name)
    }
  }
})

test('matches', () => {
  const entries = readEntries('matches.jsonl')
  assert.ok(entries.length >= 25)
  /** An offset in code points as one in code units. */
  const toUnits = (text, offset) => Array.from(text).slice(0, offset).join('').length
  for (const { name, content, clue, options, ...expected } of entries) {
    assert.equal(coverage(content, clue, options), expected.coverage, name)
    const inUnits = expected.matches.map(([start, end, clueStart, clueEnd, words, changed]) => ({
      contentStart: toUnits(content, start),
      contentEnd: toUnits(content, end),
      clueStart: toUnits(clue, clueStart),
      clueEnd: toUnits(clue, clueEnd),
      words,
      changed,
    }))
    assert.deepEqual(matches(content, clue, options), inUnits, name)
    if ('contains' in expected) assert.equal(contains(content, clue, 0.6, options), expected.contains, name)
  }
})

test('bands and sizes', () => {
  const entries = readEntries('bands.jsonl')
  assert.ok(entries.length >= 60)
  for (const entry of entries) {
    const [content, count] = [textOf(entry), entry.bands?.length ?? 6]
    assert.deepEqual(bands(content, count, entry.options), entry.bands, entry.name)
    assert.equal(band(content, count - 1, entry.options), entry.bands?.at(-1) ?? null, entry.name)
    assert.equal(size(content, entry.options), entry.size, entry.name)
  }
})
