// docs/frameworks/node_orms.md: Drizzle. The page's code is in page/.
import assert from 'node:assert/strict'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { after, before, beforeEach, test } from 'node:test'
import { sql } from 'drizzle-orm'
import { migrate } from 'drizzle-orm/node-postgres/migrator'
import { bigint, pgTable } from 'drizzle-orm/pg-core'
import { createDatabase, fill, isNearDuplicateOf, NEAR, NUMBERS_FOUND, OTHER, plan, TEXT } from './database.js'

const migrations = new URL('drizzle', import.meta.url).pathname
let page, docs

const query = async (statement, parameters) => (await page.pool.query(statement, parameters)).rows
const guard = (action, more = '') => query(`SELECT simhash_guard('docs', '${action}'${more})`)

before(async () => {
  await createDatabase('node_drizzle')
  page = await import('./page/drizzle.js')
  ;({ docs } = await import('./page/schema.js'))
  // The folder that drizzle-kit keeps, with the page's migration.
  await rm(migrations, { recursive: true, force: true })
  await cp(new URL('page/drizzle', import.meta.url), migrations, { recursive: true })
  await mkdir(`${migrations}/meta`)
  await writeFile(`${migrations}/meta/_journal.json`, JSON.stringify({
    version: '7', dialect: 'postgresql',
    entries: [{ idx: 0, version: '7', when: 1, tag: '0000_docs', breakpoints: true }],
  }))
  assert.match(await readFile(`${migrations}/0000_docs.sql`, 'utf8'), /statement-breakpoint/)
})
after(() => page.pool.end())
beforeEach(async () => {
  await query('DROP TABLE IF EXISTS docs')
  await query('DROP SCHEMA IF EXISTS drizzle CASCADE')
  await migrate(page.db, { migrationsFolder: migrations })
})

test('reject: the error has the key, the distance and the resemblance', async () => {
  const doc = await page.insert({ url: '/a', body: TEXT })
  assert.equal(doc.id, 1n)
  assert.equal(typeof doc.simhash, 'bigint')
  isNearDuplicateOf(1, await page.insert({ url: '/b', body: NEAR }))
  await assert.rejects(page.insert({ url: '/a', body: OTHER }), (error) => error.cause.code === '23505')
})

test('reject: many rows are refused together', async () => {
  await assert.rejects(
    page.db.insert(docs).values([{ url: '/a', body: TEXT }, { url: '/b', body: NEAR }]),
    (error) => error.cause.code === '23P01')
  assert.deepEqual(await page.db.select().from(docs), [])
})

test('reject: ON CONFLICT DO NOTHING does not hide the error', async () => {
  await page.insert({ url: '/a', body: TEXT })
  await assert.rejects(
    page.db.insert(docs).values({ url: '/b', body: NEAR }).onConflictDoNothing(),
    (error) => error.cause.code === '23P01')
})

test('reject: an upsert may change its own row, but not into a near-duplicate of another', async () => {
  const { id } = await page.insert({ url: '/a', body: TEXT })
  const changed = await page.upsert({ url: '/a', body: NEAR })
  assert.equal(changed.id, id)
  assert.equal(changed.body, NEAR)
  await page.upsert({ url: '/b', body: OTHER })
  await assert.rejects(page.upsert({ url: '/b', body: TEXT }), (error) => error.cause.code === '23P01')
})

test('reject: a transaction goes on after a nested one', async () => {
  await page.db.transaction(async (transaction) => {
    await transaction.insert(docs).values({ url: '/a', body: TEXT })
    await assert.rejects(transaction.transaction((nested) => nested.insert(docs).values({ url: '/b', body: NEAR })))
    await transaction.insert(docs).values({ url: '/c', body: OTHER })
  })
  assert.equal((await page.db.select().from(docs)).length, 2)
})

test('skip: fewer rows are returned than were given', async () => {
  await guard('skip')
  await page.insert({ url: '/a', body: TEXT })
  assert.equal(await page.insert({ url: '/b', body: NEAR }), undefined)
  const rows = await page.db.insert(docs).values([{ url: '/c', body: NEAR }, { url: '/d', body: OTHER }]).returning()
  assert.deepEqual(rows.map((row) => row.url), ['/d'])
  // Neither inserted nor updated.
  assert.equal(await page.upsert({ url: '/d', body: NEAR }), undefined)
})

test('mark: all rows are returned', async () => {
  await query('ALTER TABLE docs ADD duplicate_of bigint')
  await guard('mark', ", mark_column => 'duplicate_of'")
  const rows = await page.db.insert(docs).values([{ url: '/a', body: TEXT }, { url: '/b', body: NEAR }])
    .returning({ id: docs.id, duplicateOf: sql`duplicate_of` })
  assert.deepEqual(rows, [{ id: 1n, duplicateOf: null }, { id: 2n, duplicateOf: '1' }])
})

test('a search uses the indexes', async () => {
  await query("SELECT simhash_unguard('docs')")
  await query(fill(5000, true))
  await query('ANALYZE docs')
  const [{ body }] = await query('SELECT body FROM docs WHERE id = 42')
  const found = await page.search(body.toUpperCase())
  assert.deepEqual(found.map((row) => row.id), [42n])
  assert.deepEqual(await page.similarTo(found[0]), [])
  const { sql: statement, params } = page.search(body).toSQL()
  assert.match(await plan(query, statement, params), /SimhashScan/)
})

test("mode: 'number' loses fingerprints", async () => {
  await query("SELECT simhash_unguard('docs')")
  await query(fill(500, true))
  const numbers = pgTable('docs', { id: bigint({ mode: 'bigint' }), simhash: bigint({ mode: 'number' }) })
  for (const [table, expected] of [[docs, 500], [numbers, NUMBERS_FOUND]]) {
    let found = 0
    for (const { id, simhash } of await page.db.select({ id: table.id, simhash: table.simhash }).from(table)) {
      const near = await page.db.select({ id: table.id }).from(table)
        .where(sql`simhash_near(${table.simhash}, ${simhash})`)
      found += near.some((row) => row.id === id)
    }
    assert.equal(found, expected)
  }
})
