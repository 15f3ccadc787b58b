// The examples of README.md have the results that stand behind them.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { inspect } from 'node:util'

import * as simhash from 'pg-simhash'

test('README.md', () => {
  const page = readFileSync(new URL('node_modules/pg-simhash/README.md', import.meta.url), 'utf8')
  let results = 0
  for (const [, block] of page.matchAll(/^```js\n(.*?)^```/gms)) {
    let [setup, expression] = ['', '']
    for (const line of block.split('\n').filter((line) => line && !line.startsWith('import '))) {
      if (line.startsWith('const ')) {
        setup += `${line}\n`
        continue
      }
      const [code, result] = line.split(' // ')
      expression += code
      if (result) {
        const run = new Function(...Object.keys(simhash), `${setup}return ${expression}`)
        assert.equal(inspect(run(...Object.values(simhash)), { breakLength: Infinity }), result, expression)
        results++
        expression = ''
      }
    }
  }
  assert.ok(results > 8)
})
