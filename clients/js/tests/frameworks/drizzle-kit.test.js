// docs/frameworks/node_orms.md: drizzle-kit push, which makes a database like a model.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import pg from 'pg'
import { createDatabase, createDocs, objects, OTHER, TEXT } from './database.js'

const id = 'bigint GENERATED ALWAYS AS IDENTITY'
await createDatabase('node_drizzle_kit')
const pool = new pg.Pool()
after(() => pool.end())

const query = async (statement, parameters) => (await pool.query(statement, parameters)).rows
const insert = (body) => query('INSERT INTO docs (body) VALUES ($1)', [body])

// What drizzle-kit prints for the model in this file.
async function push(schema) {
  const { PGDATABASE, PGHOST, PGPORT, PGUSER } = process.env
  const url = `postgresql://${PGUSER}@localhost:${PGPORT}/${PGDATABASE}?host=${PGHOST}`
  const arguments_ = ['push', '--dialect=postgresql', `--schema=${schema}`, `--url=${url}`, '--verbose']
  const { stdout, stderr } = await promisify(execFile)('node', ['node_modules/drizzle-kit/bin.cjs', ...arguments_])
  return stdout + stderr
}

test('indexes are dropped without a question, and can be made again', async () => {
  await createDocs(query, { id })
  const found = await objects(query)
  await insert(TEXT)
  await writeFile('./pushed.js', `import { bigint, pgTable, text } from 'drizzle-orm/pg-core'
    export const docs = pgTable('docs', {
      id: bigint({ mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
      body: text().notNull(),
    })`)
  assert.match(await push('./pushed.js'), /DROP INDEX "docs_simhash_band0_idx"/)
  await assert.rejects(insert(OTHER), { code: '55000' })
  await query("SELECT simhash_index('docs', 'body')")
  assert.deepEqual(await objects(query), found)
  await insert(OTHER)
})
