// What the page of a library promises about its table docs under a guard, and about searches. A test file calls this with
// its own functions: `insert` and `search` of the page; `insertAll`, which returns the stored rows; and, if the library
// has them, `ignore` (ON CONFLICT DO NOTHING), `upsert` (by the URL) and `transaction` with a nested one.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fill, isNearDuplicateOf, NEAR, OTHER, plan, TEXT } from './database.js'

export const A = { url: '/a', body: TEXT }
export const B = { url: '/b', body: NEAR }
export const C = { url: '/c', body: OTHER }

export const rejects = (promise, code = '23P01') => assert.rejects(promise, (error) => (error.cause ?? error).code === code)

export function testGuard({ query, insert, insertAll, ignore, upsert, transaction, search, searchSql }) {
  const guard = (action, more = '') => query(`SELECT simhash_guard('docs', '${action}'${more})`)
  const bodies = async () => (await query('SELECT body FROM docs ORDER BY id')).map((row) => row.body)

  test('reject: the error has the key, the distance and the resemblance', async () => {
    assert.equal(String((await insert(A)).id), '1')
    isNearDuplicateOf(1, await insert(B))
    await rejects(insert({ url: '/c', body: null }), '23502')
  })

  test('reject: many rows are refused together', async () => {
    for (const all of insertAll) await rejects(all([C, A, B]))
    assert.deepEqual(await bodies(), [])
  })

  test('reject: ON CONFLICT DO NOTHING does not hide the error', { skip: !ignore }, async () => {
    await insert(A)
    await rejects(ignore(B))
  })

  test('reject: an upsert may change its own row, but not into a near-duplicate of another', { skip: !upsert }, async () => {
    await insert(A)
    assert.equal(String((await upsert({ ...A, body: NEAR })).id), '1')
    await upsert(C)
    await rejects(upsert({ ...C, body: TEXT }))
    assert.deepEqual(await bodies(), [NEAR, OTHER])
  })

  test('reject: a transaction goes on after a nested one', async () => {
    await transaction(A, B, C)
    assert.deepEqual(await bodies(), [TEXT, OTHER])
  })

  test('skip: fewer rows are returned than were given', async () => {
    await guard('skip')
    await insert(A)
    assert.equal(await insert(B), undefined)
    for (const all of insertAll) {
      assert.deepEqual((await all([B, C])).map((row) => row.body), [OTHER])
      await query("DELETE FROM docs WHERE body = $1", [OTHER])
    }
    // Neither inserted nor updated.
    await insert(C)
    if (upsert) assert.equal(await upsert({ ...C, body: NEAR }), undefined)
    assert.deepEqual(await bodies(), [TEXT, OTHER])
  })

  test('mark: all rows are returned', async () => {
    await query('ALTER TABLE docs ADD duplicate_of bigint')
    await guard('mark', ", mark_column => 'duplicate_of'")
    assert.equal((await insertAll[0]([A, B])).length, 2)
    const marks = await query('SELECT duplicate_of::text FROM docs ORDER BY id')
    assert.deepEqual(marks, [{ duplicate_of: null }, { duplicate_of: '1' }])
  })

  test('a search uses the indexes', async () => {
    await query("SELECT simhash_unguard('docs')")
    await query(fill(5000, Boolean(upsert)))
    await query('ANALYZE docs')
    const [{ body }] = await query('SELECT body FROM docs WHERE id = 42')
    assert.deepEqual((await search(body.toUpperCase())).map((row) => String(row.id)), ['42'])
    assert.match(await plan(query, ...searchSql(body)), /SimhashScan/)
  })
}
