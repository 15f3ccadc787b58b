// docs/frameworks/node_orms.md: Drizzle. The page's code is in page/.
import assert from 'node:assert/strict'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { after, before, beforeEach, test } from 'node:test'
import { sql } from 'drizzle-orm'
import { migrate } from 'drizzle-orm/node-postgres/migrator'
import { bigint, pgTable } from 'drizzle-orm/pg-core'
import { createDatabase, fill, NUMBERS_FOUND } from './database.js'
import { A, rejects, testGuard } from './guard.js'

const migrations = new URL('drizzle', import.meta.url).pathname
let page, docs

const query = async (statement, parameters) => (await page.pool.query(statement, parameters)).rows

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

testGuard({
  query,
  insert: (doc) => page.insert(doc),
  insertAll: [(rows) => page.db.insert(docs).values(rows).returning()],
  ignore: (doc) => page.db.insert(docs).values(doc).onConflictDoNothing(),
  upsert: (doc) => page.upsert(doc),
  transaction: (first, near, other) => page.db.transaction(async (transaction) => {
    await transaction.insert(docs).values(first)
    await rejects(transaction.transaction((nested) => nested.insert(docs).values(near)))
    await transaction.insert(docs).values(other)
  }),
  search: (text) => page.search(text),
  searchSql(text) {
    const { sql: statement, params } = page.search(text).toSQL()
    return [statement, params]
  },
})

test('a fingerprint is a BigInt, and searches for other documents', async () => {
  const doc = await page.insert(A)
  assert.deepEqual([typeof doc.id, typeof doc.simhash], ['bigint', 'bigint'])
  assert.deepEqual(await page.similarTo(doc), [])
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
