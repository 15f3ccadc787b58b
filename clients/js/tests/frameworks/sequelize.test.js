// docs/frameworks/node_orms.md: Sequelize. The page's code is in page/.
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { readSchema, recreateDatabase, recreateDocs, TEXT } from './database.js'
import { testGuard } from './guard.js'

await recreateDatabase('node_sequelize')
const page = await import('./page/sequelize.js')

const query = async (statement) => (await page.sequelize.query(statement))[0]

after(() => page.sequelize.close())
beforeEach(() => recreateDocs(query))

test('sync({ alter: true }) changes nothing, and a row that was read can be written', async () => {
  const before = await readSchema(query)
  await page.Doc.sync()
  await page.Doc.sync({ alter: true })
  assert.deepEqual(await readSchema(query), before)
  await page.insert(TEXT)
  await page.Doc.upsert((await page.Doc.findOne()).get())
})

testGuard({
  query,
  insert: page.insert,
  search: page.search,
  async searchSql(text) {
    let statement
    page.sequelize.options.logging = (sql) => { statement = sql.replace('Executing (default): ', '') }
    await page.search(text)
    page.sequelize.options.logging = false
    return [statement]
  },
})
