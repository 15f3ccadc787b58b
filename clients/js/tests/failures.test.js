// What happens when the module runs out of memory, or traps.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { simhash } from 'pg-simhash'

// The package does not export this module.
import { call, instance, outputOf } from './node_modules/pg-simhash/instance.js'

/** simhash('hello'), in every instance. */
const HELLO = -7685981735718036227n
/** The bytes of a page of WebAssembly's memory. */
const PAGE_BYTES = 1 << 16
/** The largest number of pages that a module can have. */
const MAX_PAGES = 1 << 16

test('a trap is an exception, and the next call gets a new instance', () => {
  const before = instance.exports.memory
  // No such input: the function panics.
  assert.throws(
    () => call('allocate_input', 3, 1),
    (error) => error.message.startsWith('allocate_input failed: ') && error.cause instanceof WebAssembly.RuntimeError,
  )
  assert.notEqual(instance.exports.memory, before)
  assert.equal(simhash('hello'), HELLO)
})

test('out of memory is an exception', () => {
  const before = instance.exports.memory
  // Reserves all that a module can have, and touches none of it.
  before.grow(MAX_PAGES - before.buffer.byteLength / PAGE_BYTES)
  assert.throws(() => simhash('a '.repeat(1 << 20)), { name: 'RangeError', message: 'out of memory' })
  assert.notEqual(instance.exports.memory, before)
  assert.equal(simhash('hello'), HELLO)
})

test('the memory of a long text is not kept', () => {
  const before = instance.exports.memory
  assert.equal(simhash('hello '.repeat(20 << 20)), HELLO)
  assert.notEqual(instance.exports.memory, before)
  // The limit is MAX_RETAINED_BYTES of instance.js.
  assert.ok(instance.exports.memory.buffer.byteLength < 64 << 20)
  // A short text leaves the instance as it is.
  const after = instance.exports.memory
  assert.equal(simhash('hello'), HELLO)
  assert.equal(instance.exports.memory, after)
})

test('bytes that are no UTF-8 are an exception', () => {
  assert.throws(() => outputOf('simhash', [Uint8Array.of(0xff), '']), {
    name: 'RangeError',
    message: 'a text is not valid UTF-8',
  })
})
