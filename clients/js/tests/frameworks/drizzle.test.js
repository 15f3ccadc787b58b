// docs/frameworks/node_orms.md: Drizzle. The page's code is in page/.
import assert from 'node:assert/strict'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { after, beforeEach, test } from 'node:test'
import { migrate } from 'drizzle-orm/node-postgres/migrator'
import { queryOf, recreateDatabase, TEXT } from './database.js'
import { insertWithUrl, testGuard, testUpsert } from './guard.js'

const migrations = new URL('drizzle', import.meta.url).pathname
await recreateDatabase('node_drizzle')
const page = await import('./page/drizzle.js')

const query = queryOf(page.pool)

// Makes the folder of migrations as drizzle-kit does, with the page's migration.
await rm(migrations, { recursive: true, force: true })
await cp(new URL('page/drizzle', import.meta.url), migrations, { recursive: true })
await mkdir(`${migrations}/meta`)
await writeFile(`${migrations}/meta/_journal.json`, JSON.stringify({
  version: '7', dialect: 'postgresql',
  entries: [{ idx: 0, version: '7', when: 1, tag: '0000_docs', breakpoints: true }],
}))
// Drizzle runs a migration one statement at a time only if it has these comments.
assert.match(await readFile(`${migrations}/0000_docs.sql`, 'utf8'), /statement-breakpoint/)

after(() => page.pool.end())
beforeEach(async () => {
  await query('DROP TABLE IF EXISTS docs')
  await query('DROP SCHEMA IF EXISTS drizzle CASCADE')
  await migrate(page.db, { migrationsFolder: migrations })
})

testGuard({
  query,
  insert: insertWithUrl(page),
  search: page.search,
  searchSql(text) {
    const { sql, params } = page.search(text).toSQL()
    return [sql, params]
  },
  hasUrl: true,
})

testUpsert(page, 1n)

test('a search for documents like a stored one does not find this one', async () => {
  assert.deepEqual(await page.similarTo(await page.insert({ url: '/a', body: TEXT })), [])
})
