// docs/frameworks/node.md: knex. The page's code is in page/.
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { createDatabase, NEAR, TEXT } from './database.js'
import { testGuard } from './guard.js'

const directory = new URL('page/migrations', import.meta.url).pathname
await createDatabase('node_knex')
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

test('an upsert may change its own row', async () => {
  await page.insert({ url: '/a', body: TEXT })
  assert.equal((await page.upsert({ url: '/a', body: NEAR })).id, '1')
})

testGuard({
  query,
  insert: (body) => page.insert({ url: body?.slice(-9), body }),
  search: (text) => page.search(text),
  searchSql(text) {
    const { sql, bindings } = page.search(text).toSQL()
    return [sql, bindings]
  },
  hasUrl: true,
})
