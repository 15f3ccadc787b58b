// docs/frameworks/node.md: pg. The page's code is in page/.
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import pg from 'pg'
import { fillStatement, queryOf, recreateDatabase } from './database.js'
import { testGuard } from './guard.js'

await recreateDatabase('node_pg')
const page = await import('./page/pg.js')
const query = queryOf(page.pool)

after(() => page.pool.end())
beforeEach(async () => {
  await query('DROP TABLE IF EXISTS docs')
  await page.migrate()
})

testGuard({
  query,
  insert: page.insert,
  search: page.search,
  searchSql: (text) => ['SELECT id FROM docs WHERE simhash_near(body, $1)', [text]],
})

test('a fingerprint that is read as a Number finds few rows', async () => {
  await query("SELECT simhash_unguard('docs')")
  await query("SELECT simhash_attach('docs', 'body')")
  await query(fillStatement(500))
  // How many rows are found by their own fingerprint, as pg returns it. `parse` reads a bigint, or else pg does.
  const countFound = async (column, parse) => {
    const getTypeParser = (type, format) =>
      (parse && type === pg.types.builtins.INT8) ? parse : pg.types.getTypeParser(type, format)
    const { rows } = await page.pool.query({
      text: `SELECT id::text, ${column} AS fingerprint FROM docs`, types: { getTypeParser },
    })
    let count = 0
    for (const { id, fingerprint } of rows) {
      const found = await query('SELECT id FROM docs WHERE simhash_near(simhash, $1)', [fingerprint])
      count += found.some((row) => row.id === id)
    }
    return count
  }
  assert.equal(await countFound('simhash', BigInt), 500)
  assert.equal(await countFound('simhash', String), 500)
  assert.equal(await countFound('simhash::text'), 500)
  // docs/frameworks.md states this figure.
  assert.equal(await countFound('simhash', Number), 114)
  assert.equal(await countFound('to_jsonb(simhash)'), 114)
  // row_to_json writes a number, which JSON.parse rounds.
  const [{ doc }] = await query('SELECT row_to_json(docs) AS doc FROM docs LIMIT 1')
  assert.equal(typeof doc.simhash, 'number')
})
