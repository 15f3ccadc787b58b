// docs/frameworks/node_orms.md: Drizzle. The page's code is in page/.
import assert from 'node:assert/strict'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { after, beforeEach, test } from 'node:test'
import { migrate } from 'drizzle-orm/node-postgres/migrator'
import { createDatabase, NEAR, TEXT } from './database.js'
import { testGuard } from './guard.js'

const migrations = new URL('drizzle', import.meta.url).pathname
await createDatabase('node_drizzle')
const page = await import('./page/drizzle.js')
after(() => page.pool.end())

const query = async (statement, parameters) => (await page.pool.query(statement, parameters)).rows

// The folder that drizzle-kit keeps, with the page's migration.
await rm(migrations, { recursive: true, force: true })
await cp(new URL('page/drizzle', import.meta.url), migrations, { recursive: true })
await mkdir(`${migrations}/meta`)
await writeFile(`${migrations}/meta/_journal.json`, JSON.stringify({
  version: '7', dialect: 'postgresql',
  entries: [{ idx: 0, version: '7', when: 1, tag: '0000_docs', breakpoints: true }],
}))
assert.match(await readFile(`${migrations}/0000_docs.sql`, 'utf8'), /statement-breakpoint/)

beforeEach(async () => {
  await query('DROP TABLE IF EXISTS docs')
  await query('DROP SCHEMA IF EXISTS drizzle CASCADE')
  await migrate(page.db, { migrationsFolder: migrations })
})

testGuard({
  query,
  insert: (body) => page.insert({ url: body?.slice(-9), body }),
  search: (text) => page.search(text),
  searchSql(text) {
    const { sql, params } = page.search(text).toSQL()
    return [sql, params]
  },
  hasUrl: true,
})

test('a search for other documents, and an upsert of its own row', async () => {
  const doc = await page.insert({ url: '/a', body: TEXT })
  assert.deepEqual(await page.similarTo(doc), [])
  assert.equal((await page.upsert({ url: '/a', body: NEAR })).id, 1n)
})
