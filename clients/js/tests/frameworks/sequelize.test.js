// docs/frameworks.md, Node: Sequelize. The page's code is in page/.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { DataTypes } from 'sequelize'
import { createDatabase, createDocs, fill, indexOnline, isNearDuplicateOf, NEAR, objects, OTHER, plan, TEXT }
  from './database.js'

let page, Undeclared

const query = async (statement) => (await page.sequelize.query(statement))[0]
const fails = (code) => (error) => error.parent.code === code

before(async () => {
  await createDatabase('node_sequelize')
  page = await import('./page/sequelize.js')
  Undeclared = page.sequelize.define('undeclared', {
    id: { type: DataTypes.BIGINT, primaryKey: true, autoIncrement: true },
    body: { type: DataTypes.TEXT, allowNull: false },
  }, { tableName: 'docs', timestamps: false })
})
after(() => page.sequelize.close())

test('online: sync({ alter: true }) changes nothing', async () => {
  await createDocs(query, 'online')
  const found = await objects(query)
  await page.Doc.sync()
  await page.Doc.sync({ alter: true })
  assert.deepEqual(await objects(query), found)
})

test('online: sync({ alter: true }) drops a column that is not declared, which can be made again', async () => {
  await createDocs(query, 'online')
  const found = await objects(query)
  await page.insert(TEXT)
  await Undeclared.sync({ alter: { drop: false } })
  assert.deepEqual(await objects(query), found)
  await Undeclared.sync({ alter: true })
  await assert.rejects(page.insert(OTHER), fails('42703'))
  await query('ALTER TABLE docs DISABLE TRIGGER zzz_simhash_guard')
  await query("SELECT simhash_attach_online('docs', 'body')")
  await query("CALL simhash_fill('docs')")
  await indexOnline(query)
  await query('ALTER TABLE docs ENABLE TRIGGER zzz_simhash_guard')
  assert.deepEqual(await objects(query), found)
  isNearDuplicateOf(1, await page.insert(NEAR))
})

test('generated columns: sync({ alter: true }) fails, and so does an upsert of a row that was read', async () => {
  for (const way of ['columns', 'expressions']) {
    await createDocs(query, way, { covering: false })
    const found = await objects(query)
    for (const model of [page.Doc, Undeclared]) {
      await model.sync()
      await assert.rejects(model.sync({ alter: true }), fails('0A000'))
    }
    assert.deepEqual(await objects(query), found)
    await page.insert(TEXT)
    const doc = await page.Doc.findOne()
    await assert.rejects(page.Doc.upsert(doc.get()), fails('428C9'))
    await Undeclared.upsert((await Undeclared.findOne()).get())
  }
})

test('covering indexes on columns: every sync() fails', async () => {
  await createDocs(query, 'columns')
  await assert.rejects(page.Doc.sync(), TypeError)
})

test('reject: the error has the key, the distance and the resemblance', async () => {
  await createDocs(query, 'online')
  const doc = await page.insert(TEXT)
  assert.equal(doc.id, '1')
  isNearDuplicateOf(1, await page.insert(NEAR))
  await assert.rejects(page.insert(null), { name: 'SequelizeValidationError' })
  await page.Doc.upsert({ ...doc.get(), body: NEAR })
})

test('a search uses the indexes', async () => {
  await createDocs(query, 'online')
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
