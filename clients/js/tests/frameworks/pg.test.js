// docs/frameworks/node.md: pg. The page's code is in page/.
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import pg from 'pg'
import { createDatabase, fill, isNearDuplicateOf, NUMBERS_FOUND } from './database.js'
import { A, B, C, rejects, testGuard } from './guard.js'

let page

const query = async (statement, parameters) => (await page.pool.query(statement, parameters)).rows
const insertAll = (docs) => query(
  'INSERT INTO docs (body) SELECT unnest($1::text[]) RETURNING id, body', [docs.map((doc) => doc.body)])

before(async () => {
  await createDatabase('node_pg')
  page = await import('./page/pg.js')
})
after(() => page.pool.end())
beforeEach(async () => {
  await query('DROP TABLE IF EXISTS docs')
  await page.migrate()
})

testGuard({
  query,
  insert: (doc) => page.insert(doc.body),
  insertAll: [insertAll],
  search: (text) => page.search(text),
  searchSql: (text) => ['SELECT id FROM docs WHERE simhash_near(body, $1)', [text]],
  async transaction(first, near, other) {
    const client = await page.pool.connect()
    const insert = (doc) => client.query('INSERT INTO docs (body) VALUES ($1)', [doc.body])
    try {
      await client.query('BEGIN')
      await insert(first)
      await client.query('SAVEPOINT near')
      await rejects(insert(near))
      await rejects(insert(other), '25P02')
      await client.query('ROLLBACK TO near')
      await insert(other)
      await client.query('COMMIT')
    } finally {
      client.release()
    }
  },
})

test('a key is a BigInt, and the fields of the error', async () => {
  assert.deepEqual(await page.insert(C.body), { id: 1n })
  await assert.rejects(insertAll([A, B]), (error) => {
    assert.deepEqual([error.schema, error.table, error.constraint], ['public', 'docs', 'zzz_simhash_guard'])
    isNearDuplicateOf(2, JSON.parse(error.dataType))
    return true
  })
})

test('a Number loses fingerprints', async () => {
  await query("SELECT simhash_unguard('docs')")
  await query(fill(500))
  // How many rows a search finds by the fingerprint that a query has returned.
  const found = async (column, parse) => {
    const getTypeParser = (type, format) =>
      (parse && type === pg.types.builtins.INT8) ? parse : pg.types.getTypeParser(type, format)
    const { rows } = await page.pool.query({
      text: `SELECT id::text, ${column} AS fingerprint FROM docs`, types: { getTypeParser },
    })
    let count = 0
    for (const { id, fingerprint } of rows) {
      count += (await page.searchFingerprint(fingerprint)).some((row) => String(row.id) === id)
    }
    return count
  }
  assert.equal(await found('simhash', BigInt), 500)
  assert.equal(await found('simhash', String), 500)
  assert.equal(await found('simhash::text'), 500)
  // The figure of the page.
  assert.equal(await found('simhash', Number), NUMBERS_FOUND)
  assert.equal(await found('to_jsonb(simhash)'), NUMBERS_FOUND)
  const [{ doc }] = await query('SELECT row_to_json(docs) AS doc FROM docs LIMIT 1')
  assert.equal(typeof doc.simhash, 'number')
  assert.throws(() => JSON.stringify({ simhash: 1n }), TypeError)
})
