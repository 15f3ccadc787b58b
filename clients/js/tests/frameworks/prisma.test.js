// docs/frameworks/node_orms.md: Prisma. The page's model is in page/.
//
// Prisma's schema engine compares a model with a database, as `prisma db push` and `prisma migrate dev` do. Its npm
// package runs on the driver of an application.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { PrismaPg } from '@prisma/adapter-pg'
import { ColumnTypeEnum, bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils'
import pg from 'pg'
import { createDatabase, createDocs, objects } from './database.js'

const id = 'bigint GENERATED ALWAYS AS IDENTITY'
let pool, adapted, engine, page

const query = async (statement, parameters) => (await pool.query(statement, parameters)).rows

before(async () => {
  await createDatabase('node_prisma')
  pool = new pg.Pool()
  page = await readFile('page/schema.prisma', 'utf8')

  // The package imports its WebAssembly as a module, which Node does not do by itself.
  const path = 'node_modules/@prisma/schema-engine-wasm/schema_engine_bg'
  const bindings = await import(`./${path}.js`)
  const imports = { './schema_engine_bg.js': bindings }
  const { instance } = await WebAssembly.instantiate(await readFile(`${path}.wasm`), imports)
  bindings.__wbg_set_wasm(instance.exports)
  instance.exports.__wbindgen_start()

  // The driver's adapter does not know the type "char", which the system catalogs have.
  const { CHAR, BPCHAR } = pg.types.builtins
  class Pool extends pg.Pool {
    async query(...parameters) {
      const result = await super.query(...parameters)
      result.fields.filter((field) => field.dataTypeID === CHAR).forEach((field) => { field.dataTypeID = BPCHAR })
      return result
    }
  }
  // From PostgreSQL 18 on, a table with NOT NULL columns has constraints, whose type the engine reads as a character.
  class Adapter extends PrismaPg {
    async connect() {
      const adapter = await super.connect()
      const queryRaw = adapter.queryRaw.bind(adapter)
      adapter.queryRaw = async (query) => {
        const result = await queryRaw(query)
        const type = result.columnNames.indexOf('constraint_type')
        if (type >= 0) result.columnTypes[type] = ColumnTypeEnum.Character
        return result
      }
      return adapter
    }
  }
  adapted = new Pool()
  const adapter = bindMigrationAwareSqlAdapterFactory(new Adapter(adapted))
  engine = await bindings.SchemaEngine.new({ datamodels: [['schema.prisma', page]] }, () => {}, adapter)
})
after(() => Promise.all([pool.end(), adapted.end()]))

// The SQL that would make the database like the model.
async function difference(model) {
  const files = [{ path: 'schema.prisma', content: model }]
  const { exitCode, stdout } = await engine.diff({
    from: { tag: 'schemaDatasource', files, configDir: '.' }, to: { tag: 'schemaDatamodel', files },
    script: true, exitCode: true, shadowDatabaseUrl: null, filters: { externalTables: [], externalEnums: [] },
  })
  return exitCode === 0 ? '' : stdout
}

test("indexes alone: the page's model is like the database", async () => {
  await createDocs(query, 'alone', { id })
  assert.equal(await difference(page), '')
})

test('columns: a model with them and their indexes is like the database', async () => {
  await createDocs(query, 'columns', { id })
  const lines = [0, 1, 2, 3].flatMap((block) => [
    `simhash_block${block} Int? @default(dbgenerated())`,
    `@@index([simhash_block${block}, simhash_size, simhash], map: "docs_simhash_block${block}_idx")`,
  ])
  const fingerprint = ['simhash BigInt? @default(dbgenerated())', 'simhash_size Int? @default(dbgenerated())']
  const columns = [...fingerprint, ...lines].join('\n')
  assert.equal(await difference(page.replace(/^ *body .*$/m, (line) => `${line}\n${columns}`)), '')
  assert.match(await difference(page), /DROP INDEX "docs_simhash_block0_idx"/)
})
