// docs/frameworks/node.md: knex. The page's code is in page/.
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { recreateDatabase } from './database.js'
import { insertWithUrl, testGuard, testUpsert } from './guard.js'

const directory = new URL('page/migrations', import.meta.url).pathname
await recreateDatabase('node_knex')
const page = await import('./page/knex.js')

// knex writes a parameter as ?.
const query = async (statement, bindings = []) => (await page.knex.raw(statement.replace(/\$\d/g, '?'), bindings)).rows

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
  assert.equal(count, '8') // the primary key, the URL and six bands
})

testUpsert(page, '1')

testGuard({
  query,
  insert: insertWithUrl(page),
  search: page.search,
  searchSql(text) {
    const { sql, bindings } = page.search(text).toSQL()
    return [sql, bindings]
  },
  hasUrl: true,
})
