// The examples of README.md and of index.d.ts have the results that stand beside them.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { inspect } from 'node:util'

import * as simhash from 'pg-simhash'

/** Checks each expression of the code that has a result, with the constants before it, and returns their number. */
function checkResults(code) {
  let setup = ''
  let expression = ''
  let results = 0
  for (const line of code.split('\n').filter((line) => line && !line.startsWith('import '))) {
    if (line.startsWith('const ')) {
      setup += `${line}\n`
      continue
    }
    const [part, result] = line.split(' // ')
    expression += part
    if (result) {
      const run = new Function(...Object.keys(simhash), `${setup}return ${expression}`)
      assert.equal(inspect(run(...Object.values(simhash)), { breakLength: Infinity }), result, expression)
      results++
      expression = ''
    }
  }
  assert.equal(expression, '', 'an expression without a result')
  return results
}

function read(name) {
  return readFileSync(new URL(`node_modules/pg-simhash/${name}`, import.meta.url), 'utf8')
}

test('README.md', () => {
  const blocks = [...read('README.md').matchAll(/^```js\n(.*?)^```/gms)]
  assert.deepEqual(blocks.map(([, block]) => checkResults(block)), [6])
})

test('index.d.ts has an example of each function', () => {
  const functions = [...read('index.d.ts').matchAll(/ @example ((\w+).*)\n \*\/\nexport function \2\(/g)]
  assert.deepEqual(functions.map(([, , name]) => name).sort(), Object.keys(simhash).sort())
  for (const [, example] of functions) {
    assert.equal(checkResults(example), 1, example)
  }
})
