// docs/frameworks/node.md: pg. The page's code is in page/.
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import pg from 'pg'
import { createDatabase, fill, isNearDuplicateOf, NEAR, NUMBERS_FOUND, OTHER, plan, TEXT } from './database.js'

let page

const query = async (statement, parameters) => (await page.pool.query(statement, parameters)).rows
const guard = (action, more = '') => query(`SELECT simhash_guard('docs', '${action}'${more})`)

before(async () => {
  await createDatabase('node_pg')
  page = await import('./page/pg.js')
})
after(() => page.pool.end())
beforeEach(async () => {
  await query('DROP TABLE IF EXISTS docs')
  await page.migrate()
})

test('reject: the error has the key, the distance and the resemblance', async () => {
  assert.deepEqual(await page.insert(TEXT), { id: 1n })
  isNearDuplicateOf(1, await page.insert(NEAR))
  assert.equal(typeof (await page.insert(OTHER)).id, 'bigint')
  await assert.rejects(page.insert(null), { code: '23502' })
})

test('reject: many rows are refused together', async () => {
  await assert.rejects(query('INSERT INTO docs (body) VALUES ($1), ($2), ($3)', [OTHER, TEXT, NEAR]), (error) => {
    assert.equal(error.code, '23P01')
    assert.equal(error.schema, 'public')
    assert.equal(error.table, 'docs')
    assert.equal(error.constraint, 'zzz_simhash_guard')
    isNearDuplicateOf(2, JSON.parse(error.dataType))
    return true
  })
  assert.deepEqual(await query('SELECT id FROM docs'), [])
})

test('reject: a transaction goes on after a savepoint', async () => {
  const client = await page.pool.connect()
  try {
    await client.query('BEGIN')
    await client.query('INSERT INTO docs (body) VALUES ($1)', [TEXT])
    await client.query('SAVEPOINT near')
    await assert.rejects(client.query('INSERT INTO docs (body) VALUES ($1)', [NEAR]), { code: '23P01' })
    await assert.rejects(client.query('SELECT 1'), { code: '25P02' })
    await client.query('ROLLBACK TO near')
    await client.query('INSERT INTO docs (body) VALUES ($1)', [OTHER])
    await client.query('COMMIT')
  } finally {
    client.release()
  }
  assert.equal((await query('SELECT id FROM docs')).length, 2)
})

test('skip: fewer rows are returned than were given', async () => {
  await guard('skip')
  await page.insert(TEXT)
  assert.equal(await page.insert(NEAR), undefined)
  const result = await page.pool.query('INSERT INTO docs (body) VALUES ($1), ($2) RETURNING body', [NEAR, OTHER])
  assert.equal(result.rowCount, 1)
  assert.deepEqual(result.rows, [{ body: OTHER }])
})

test('mark: all rows are returned', async () => {
  await query('ALTER TABLE docs ADD duplicate_of bigint')
  await guard('mark', ", mark_column => 'duplicate_of'")
  assert.deepEqual(
    await query('INSERT INTO docs (body) VALUES ($1), ($2) RETURNING id, duplicate_of', [TEXT, NEAR]),
    [{ id: 1n, duplicate_of: null }, { id: 2n, duplicate_of: 1n }])
})

test('a search by text uses the indexes', async () => {
  await query("SELECT simhash_unguard('docs')")
  await query(fill(5000))
  await query('ANALYZE docs')
  const [{ body }] = await query('SELECT body FROM docs WHERE id = 42')
  assert.deepEqual(await page.search(body.toUpperCase()), [{ id: 42n, body, distance: 0 }])
  assert.match(
    await plan(query, 'SELECT id FROM docs WHERE simhash_near(body, $1)', [body]),
    /SimhashScan/)
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
