// Tests what each ORM page in docs/frameworks promises: the guard's error as values, and searches that use the indexes.
// A test file calls testGuard with the functions of its page, for texts: `insert` resolves to the row, or to the guard's
// error as values, `search` to the near rows, `searchSql` to its statement and parameters, and `query` to rows.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fillStatement, NEAR, TEXT } from './database.js'

export function testGuard({ query, insert, search, searchSql, hasUrl = false }) {
  test('the error of the guard has the key and the resemblance', async () => {
    assert.equal(String((await insert(TEXT)).id), '1')
    // Of 601 words, 599 are common.
    assert.deepEqual(await insert(NEAR), { key: { id: 1 }, resemblance: 0.997 })
    await assert.rejects(insert(null))
  })

  test('a search uses the indexes', async () => {
    await query("SELECT simhash_unguard('docs')")
    await query('DELETE FROM docs')
    await query(fillStatement(5000, { hasUrl }))
    await query('ANALYZE docs')
    const [{ id, body }] = await query('SELECT id, body FROM docs LIMIT 1')
    assert.deepEqual((await search(body.toUpperCase())).map((row) => String(row.id)), [String(id)])
    const [statement, parameters] = await searchSql(body)
    const plan = await query(`EXPLAIN (COSTS OFF) ${statement}`, parameters)
    assert.match(JSON.stringify(plan), /SimhashScan/)
  })
}
