// docs/frameworks/node.md: knex. The page's code is in page/.
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { createDatabase } from './database.js'
import { rejects, testGuard } from './guard.js'

const directory = new URL('page/migrations', import.meta.url).pathname
let page

// knex writes a parameter as ?.
const query = async (statement, bindings = []) => (await page.knex.raw(statement.replace(/\$\d/g, '?'), bindings)).rows

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

testGuard({
  query,
  insert: (doc) => page.insert(doc),
  insertAll: [
    (docs) => page.knex('docs').insert(docs).returning(['id', 'body']),
    (docs) => page.knex.batchInsert('docs', docs, 1).returning(['id', 'body']),
  ],
  ignore: (doc) => page.knex('docs').insert(doc).onConflict().ignore(),
  upsert: (doc) => page.upsert(doc),
  transaction: (first, near, other) => page.knex.transaction(async (transaction) => {
    await transaction('docs').insert(first)
    await rejects(transaction.transaction((nested) => nested('docs').insert(near)))
    await transaction('docs').insert(other)
  }),
  search: (text) => page.search(text),
  searchSql(text) {
    const { sql, bindings } = page.search(text).toSQL()
    return [sql, bindings]
  },
})
