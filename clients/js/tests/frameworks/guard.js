// Tests what each page of Node in docs/frameworks promises: the fields of the guard's error, and searches that use the
// indexes. A test file calls testGuard with functions of its page. Those of texts are `insert`, which resolves to the row
// or to the fields of the guard's error; `search`, to the near rows; `searchSql`, to the search's statement and parameters.
// `query` runs a statement, and resolves to rows. `hasUrl` says whether the page's table has a column of URLs.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fillStatement, NEAR, TEXT } from './database.js'

export function testGuard({ query, insert, search, searchSql, hasUrl = false }) {
  test('the error of the guard has the key and the resemblance', async () => {
    assert.equal(String((await insert(TEXT)).id), '1')
    // Both texts have 600 words, of which 599 are the same.
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

// The function `insert` of testGuard for a page whose rows have URLs.
export const insertWithUrl = (page) => (body) => page.insert({ url: body?.slice(-9), body })

// `id` is the first id of the table, in the type that the page's library returns.
export function testUpsert(page, id) {
  test('an upsert may change its own row', async () => {
    await page.insert({ url: '/a', body: TEXT })
    assert.equal((await page.upsert({ url: '/a', body: NEAR })).id, id)
  })
}
