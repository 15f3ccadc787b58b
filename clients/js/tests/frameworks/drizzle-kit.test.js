// docs/frameworks/node_orms.md: the command `drizzle-kit push`, which makes a database like a model.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import pg from 'pg'
import { OTHER, queryOf, readSchema, recreateDatabase, recreateDocs, TEXT } from './database.js'

const keyType = 'bigint GENERATED ALWAYS AS IDENTITY'
await recreateDatabase('node_drizzle_kit')
const pool = new pg.Pool()
after(() => pool.end())

const query = queryOf(pool)
const insert = (body) => query('INSERT INTO docs (body) VALUES ($1)', [body])

// Makes the database like the model in a file, and returns what drizzle-kit prints.
async function push(modelFile) {
  const { PGDATABASE, PGHOST, PGPORT, PGUSER } = process.env
  const url = `postgresql://${PGUSER}@localhost:${PGPORT}/${PGDATABASE}?host=${PGHOST}`
  const arguments_ = ['push', '--dialect=postgresql', `--schema=${modelFile}`, `--url=${url}`, '--verbose']
  const { stdout, stderr } = await promisify(execFile)('node', ['node_modules/drizzle-kit/bin.cjs', ...arguments_])
  return stdout + stderr
}

test('indexes are dropped without a question, and can be made again', async () => {
  await recreateDocs(query, { keyType })
  const before = await readSchema(query)
  await insert(TEXT)
  await writeFile('./pushed.js', `import { bigint, pgTable, text } from 'drizzle-orm/pg-core'
    export const docs = pgTable('docs', {
      id: bigint({ mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
      body: text().notNull(),
    })`)
  assert.match(await push('./pushed.js'), /DROP INDEX "docs_simhash_band0_idx"/)
  await assert.rejects(insert(OTHER), { code: '55000' })
  await query("SELECT simhash_index('docs', 'body')")
  assert.deepEqual(await readSchema(query), before)
  await insert(OTHER)
})
