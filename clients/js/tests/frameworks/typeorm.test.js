// docs/frameworks/node_orms.md: TypeORM. The page's code is in page/.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { DataSource, EntitySchema } from 'typeorm'
import { createDatabase, createDocs, fill, isNearDuplicateOf, NEAR, objects, OTHER, plan, TEXT } from './database.js'

let page

const query = (statement, parameters) => page.source.query(statement, parameters)

before(async () => {
  await createDatabase('node_typeorm')
  page = await import('./page/typeorm.js')
  await page.source.initialize()
})
after(() => page.source.destroy())

// Makes the table docs like a model with this column, and without indexes.
async function synchronize(columns) {
  const model = new EntitySchema({
    name: 'Other', tableName: 'docs',
    columns: { id: { type: 'bigint', primary: true, generated: 'increment' }, body: { type: 'text' }, ...columns },
  })
  const source = new DataSource({ ...page.source.options, entities: [model] })
  await source.initialize()
  try {
    await source.synchronize()
  } finally {
    await source.destroy()
  }
}

test('indexes alone: synchronize changes nothing', async () => {
  await createDocs(query, 'alone')
  const found = await objects(query)
  await page.source.synchronize()
  assert.deepEqual(await objects(query), found)
})

test('generated columns: synchronize fails, or makes a declared one again and drops the indexes', async () => {
  await createDocs(query, 'columns')
  const found = await objects(query)
  await assert.rejects(page.source.synchronize(), { code: '42P01' })
  await assert.rejects(synchronize({}), { code: '42P01' })
  assert.deepEqual(await objects(query), found)
  await synchronize({
    simhash: { type: 'bigint', nullable: true, generatedType: 'STORED', asExpression: 'simhash(body)' },
  })
  await assert.rejects(page.insert(TEXT), { code: '55000' })
  await query('DROP TABLE typeorm_metadata')
})

test('reject: the error has the key, the distance and the resemblance', async () => {
  await createDocs(query, 'alone')
  assert.equal((await page.insert(TEXT)).id, '1')
  isNearDuplicateOf(1, await page.insert(NEAR))
  await page.insert(OTHER)
  await assert.rejects(page.insert(null), { code: '23502' })
})

test('a search uses the indexes', async () => {
  await createDocs(query, 'alone')
  await query("SELECT simhash_unguard('docs')")
  await query(fill(5000))
  await query('ANALYZE docs')
  const [{ body }] = await query('SELECT body FROM docs WHERE id = 42')
  assert.deepEqual((await page.search(body.toUpperCase()).getMany()).map((doc) => doc.id), ['42'])
  const [statement, parameters] = page.search(body).getQueryAndParameters()
  assert.match(await plan(query, statement, parameters), /SimhashScan/)
})
