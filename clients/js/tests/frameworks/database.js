// A database for each file of tests, on the server of psql's environment (PGHOST and so on), and three texts: NEAR
// differs from TEXT in the last word, and OTHER has none of its words.
import pg from 'pg'

const words = Array.from({ length: 600 }, (_, number) => `word${number}`)
export const TEXT = words.join(' ')
export const NEAR = [...words.slice(0, -1), 'another'].join(' ')
export const OTHER = words.map((word) => word + word).join(' ')

// Makes the database anew. Later connections are to this database.
export async function recreateDatabase(name) {
  const client = new pg.Client({ database: 'postgres' })
  await client.connect()
  await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
  await client.query(`CREATE DATABASE ${name}`)
  await client.end()
  process.env.PGDATABASE = name
}

// A function that runs a statement on a pool of pg, and resolves to the rows.
export const queryOf = (pool) => async (statement, parameters) => (await pool.query(statement, parameters)).rows

// A statement that fills the table docs with texts of 200 random words, and with URLs if the table has them.
export function fillStatement(rows, { hasUrl = false } = {}) {
  return `INSERT INTO docs (${hasUrl ? 'url, ' : ''}body)
    SELECT ${hasUrl ? "'/' || doc," : ''} string_agg(substr(md5(doc || ' ' || word), 1, 8), ' ' ORDER BY word)
    FROM generate_series(1, ${rows}) AS doc, generate_series(1, 200) AS word GROUP BY doc ORDER BY doc`
}

// Makes the table docs anew, with indexes and a guard.
export async function recreateDocs(query, { keyType = 'bigserial' } = {}) {
  await query('CREATE EXTENSION IF NOT EXISTS pg_simhash')
  await query('DROP TABLE IF EXISTS docs')
  await query(`CREATE TABLE docs (id ${keyType} PRIMARY KEY, body text NOT NULL)`)
  await query("SELECT simhash_index('docs', 'body')")
  await query("SELECT simhash_guard('docs')")
}

// The parts of the table docs that a tool may change to make them like a model: columns, indexes, triggers, comments.
export async function readSchema(query) {
  const rows = await query(`
    SELECT concat_ws(' ', attname, format_type(atttypid, atttypmod), nullif(attnotnull, false),
        pg_get_expr(adbin, adrelid), col_description(attrelid, attnum)) AS object
    FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE attrelid = 'docs'::regclass AND attnum > 0 AND NOT attisdropped
    UNION ALL
    SELECT concat_ws(' ', pg_get_indexdef(indexrelid), obj_description(indexrelid, 'pg_class'))
    FROM pg_index WHERE indrelid = 'docs'::regclass
    UNION ALL
    SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'docs'::regclass
    ORDER BY 1`)
  return rows.map((row) => row.object)
}
