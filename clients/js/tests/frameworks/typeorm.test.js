// docs/frameworks/node_orms.md: TypeORM. The page's code is in page/.
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { readSchema, recreateDatabase, recreateDocs } from './database.js'
import { testGuard } from './guard.js'

await recreateDatabase('node_typeorm')
const page = await import('./page/typeorm.js')
await page.source.initialize()

const query = (statement, parameters) => page.source.query(statement, parameters)

after(() => page.source.destroy())
beforeEach(() => recreateDocs(query))

test('synchronize changes nothing', async () => {
  const before = await readSchema(query)
  await page.source.synchronize()
  assert.deepEqual(await readSchema(query), before)
})

testGuard({
  query,
  insert: page.insert,
  search: (text) => page.search(text).getMany(),
  searchSql: (text) => page.search(text).getQueryAndParameters(),
})
