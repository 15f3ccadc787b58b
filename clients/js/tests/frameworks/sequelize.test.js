// docs/frameworks/node_orms.md: Sequelize. The page's code is in page/.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createDatabase, createDocs, fill, isNearDuplicateOf, NEAR, objects, plan, TEXT } from './database.js'

let page

const query = async (statement) => (await page.sequelize.query(statement))[0]

before(async () => {
  await createDatabase('node_sequelize')
  page = await import('./page/sequelize.js')
})
after(() => page.sequelize.close())

test('indexes alone: sync({ alter: true }) changes nothing, and a row that was read can be written', async () => {
  await createDocs(query, 'alone')
  const found = await objects(query)
  await page.Doc.sync()
  await page.Doc.sync({ alter: true })
  assert.deepEqual(await objects(query), found)
  await page.insert(TEXT)
  await page.Doc.upsert((await page.Doc.findOne()).get())
})

test('generated columns: every sync() fails', async () => {
  await createDocs(query, 'columns')
  await assert.rejects(page.Doc.sync(), TypeError)
})

test('reject: the error has the key, the distance and the resemblance', async () => {
  await createDocs(query, 'alone')
  const doc = await page.insert(TEXT)
  assert.equal(doc.id, '1')
  isNearDuplicateOf(1, await page.insert(NEAR))
  await assert.rejects(page.insert(null), { name: 'SequelizeValidationError' })
  await page.Doc.upsert({ ...doc.get(), body: NEAR })
})

test('a search uses the indexes', async () => {
  await createDocs(query, 'alone')
  await query("SELECT simhash_unguard('docs')")
  await query(fill(5000))
  await query('ANALYZE docs')
  const { body } = await page.Doc.findByPk(42)
  let statement
  page.sequelize.options.logging = (sql) => { statement = sql.replace('Executing (default): ', '') }
  assert.deepEqual((await page.search(body.toUpperCase())).map((doc) => doc.id), ['42'])
  page.sequelize.options.logging = false
  assert.match(await plan(query, statement), /SimhashScan/)
})
