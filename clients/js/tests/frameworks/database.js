// A database for each file of tests, on the server of psql's environment (PGHOST and so on), and texts.
import assert from 'node:assert/strict'
import pg from 'pg'

const words = Array.from({ length: 600 }, (_, number) => `word${number}`)
export const TEXT = words.join(' ')
export const NEAR = [...words.slice(0, -1), 'another'].join(' ')
export const OTHER = words.map((word) => word + word).join(' ')

// What a guard says of NEAR if the row with this id has TEXT. Of 601 words, 599 are common.
export function isNearDuplicateOf(id, found) {
  assert.deepEqual(Object.keys(found), ['key', 'distance', 'resemblance'])
  assert.deepEqual(found.key, { id })
  assert.ok(Number.isInteger(found.distance) && found.distance <= 10)
  assert.equal(found.resemblance, 0.997)
}

// How many rows of fill(500) are found by their own fingerprint as a Number: a figure of docs/frameworks.md.
export const NUMBERS_FOUND = 114

// Makes the database and lets later connections use it.
export async function createDatabase(name) {
  const client = new pg.Client({ database: 'postgres' })
  await client.connect()
  await client.query(`DROP DATABASE IF EXISTS ${name}`)
  await client.query(`CREATE DATABASE ${name}`)
  await client.end()
  process.env.PGDATABASE = name
}

// The plan of a statement, as one string. `query` runs SQL and resolves to rows.
export async function plan(query, statement, parameters) {
  const rows = await query(`EXPLAIN (COSTS OFF) ${statement}`, parameters)
  return rows.map((row) => row['QUERY PLAN']).join('\n')
}

// A statement that stores texts of 200 random words in the table docs, also with a URL.
export function fill(rows, url = false) {
  return `INSERT INTO docs (${url ? 'url, ' : ''}body)
    SELECT ${url ? "'/' || doc," : ''} string_agg(substr(md5(doc || ' ' || word), 1, 8), ' ' ORDER BY word)
    FROM generate_series(1, ${rows}) AS doc, generate_series(1, 200) AS word GROUP BY doc ORDER BY doc`
}
