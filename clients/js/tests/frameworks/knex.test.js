// docs/frameworks/node.md: knex. The page's code is in page/.
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { createDatabase, fill, isNearDuplicateOf, NEAR, OTHER, plan, TEXT } from './database.js'

const directory = new URL('page/migrations', import.meta.url).pathname
let page

const query = async (statement, bindings = []) => (await page.knex.raw(statement, bindings)).rows
const guard = (action, more = '') => query(`SELECT simhash_guard('docs', '${action}'${more})`)

before(async () => {
  await createDatabase('node_knex')
  page = await import('./page/knex.js')
})
after(() => page.knex.destroy())
beforeEach(async () => {
  await page.knex.migrate.rollback({ directory }, true)
  await page.knex.migrate.latest({ directory })
})

test('the migration goes back and forth', async () => {
  await page.knex.migrate.rollback({ directory })
  assert.equal(await page.knex.schema.hasTable('docs'), false)
  await page.knex.migrate.latest({ directory })
  const [{ count }] = await query("SELECT count(*) FROM pg_index WHERE indrelid = 'docs'::regclass")
  assert.equal(count, '6') // the primary key, the URL and four blocks
})

test("alter() sets the type of the text's column, which fails unless told not to", async () => {
  const alter = (options) => page.knex.schema.alterTable('docs', (table) => table.text('body').nullable().alter(options))
  await assert.rejects(alter(), { code: '0A000' })
  await alter({ alterType: false })
  await page.knex.raw("SELECT simhash_unguard('docs'), simhash_detach('docs')")
  await page.knex.raw("SELECT simhash_attach('docs', 'body', columns => false)")
  await alter()
})

test('reject: the error has the key, the distance and the resemblance', async () => {
  assert.deepEqual(await page.insert({ url: '/a', body: TEXT }), { id: '1' })
  isNearDuplicateOf(1, await page.insert({ url: '/b', body: NEAR }))
  await assert.rejects(page.insert({ url: '/a', body: OTHER }), { code: '23505' })
})

test('reject: many rows are refused together', async () => {
  const docs = [{ url: '/a', body: TEXT }, { url: '/b', body: NEAR }]
  await assert.rejects(page.knex('docs').insert(docs), { code: '23P01' })
  await assert.rejects(page.knex.batchInsert('docs', docs, 1), { code: '23P01' })
  assert.deepEqual(await page.knex('docs'), [])
})

test('reject: ON CONFLICT DO NOTHING does not hide the error', async () => {
  await page.insert({ url: '/a', body: TEXT })
  await assert.rejects(page.knex('docs').insert({ url: '/b', body: NEAR }).onConflict().ignore(), { code: '23P01' })
})

test('reject: an upsert may change its own row, but not into a near-duplicate of another', async () => {
  await page.insert({ url: '/a', body: TEXT })
  assert.deepEqual(await page.upsert({ url: '/a', body: NEAR }), { id: '1' })
  await page.upsert({ url: '/b', body: OTHER })
  await assert.rejects(page.upsert({ url: '/b', body: TEXT }), { code: '23P01' })
})

test('reject: a transaction goes on after a nested one', async () => {
  await page.knex.transaction(async (transaction) => {
    await transaction('docs').insert({ url: '/a', body: TEXT })
    await assert.rejects(
      transaction.transaction((nested) => nested('docs').insert({ url: '/b', body: NEAR })), { code: '23P01' })
    await transaction('docs').insert({ url: '/c', body: OTHER })
  })
  assert.deepEqual(await page.knex('docs').pluck('url').orderBy('id'), ['/a', '/c'])
})

test('skip: fewer rows are returned than were given', async () => {
  await guard('skip')
  await page.insert({ url: '/a', body: TEXT })
  assert.equal(await page.insert({ url: '/b', body: NEAR }), undefined)
  const docs = [{ url: '/c', body: NEAR }, { url: '/d', body: OTHER }]
  assert.deepEqual(await page.knex('docs').insert(docs).returning('url'), [{ url: '/d' }])
  await page.knex('docs').where({ url: '/d' }).delete()
  assert.deepEqual(await page.knex.batchInsert('docs', docs, 1).returning('url'), [{ url: '/d' }])
  // Neither inserted nor updated.
  assert.equal(await page.upsert({ url: '/d', body: NEAR }), undefined)
  assert.deepEqual(await page.knex('docs').pluck('body').orderBy('id'), [TEXT, OTHER])
})

test('mark: all rows are returned', async () => {
  await query('ALTER TABLE docs ADD duplicate_of bigint')
  await guard('mark', ", mark_column => 'duplicate_of'")
  const docs = [{ url: '/a', body: TEXT }, { url: '/b', body: NEAR }]
  assert.deepEqual(
    await page.knex('docs').insert(docs).returning(['id', 'duplicate_of']),
    [{ id: '1', duplicate_of: null }, { id: '2', duplicate_of: '1' }])
})

test('a search uses the indexes', async () => {
  await query("SELECT simhash_unguard('docs')")
  await query(fill(5000, true))
  await query('ANALYZE docs')
  const [{ body }] = await query('SELECT body FROM docs WHERE id = 42')
  assert.deepEqual(await page.search(body.toUpperCase()), [{ id: '42', body, distance: 0 }])
  const { sql, bindings } = page.search(body).toSQL()
  assert.match(await plan(query, sql, bindings), /SimhashScan/)
})
