// The instance of the WebAssembly module, and calls of its functions.

if (new Uint8Array(Uint16Array.of(1).buffer)[0] !== 1) {
  throw new Error('pg_simhash needs a little-endian processor, as WebAssembly is one')
}

const compiled = await WebAssembly.compile(await load(new URL('./pg_simhash.wasm', import.meta.url)))

/** An instance with more memory is replaced after a call: the memory of WebAssembly never shrinks. */
const MAX_RETAINED_BYTES = 64 << 20

/** The statuses of a function with an output, as src/output.rs defines them. */
const [VALUE, NULL, TYPE_ERROR, RANGE_ERROR] = [0, 1, 2, 3]

const encoder = new TextEncoder()
const decoder = new TextDecoder()

export let instance = new WebAssembly.Instance(compiled)

async function load(url) {
  if (url.protocol === 'file:') {
    const { readFile } = await import('node:fs/promises')
    return readFile(url)
  }
  const response = await fetch(url)
  if (!response.ok) {
    throw new Error(`cannot load ${url}: ${response.status} ${response.statusText}`)
  }
  return response.arrayBuffer()
}

/**
 * Calls a function of the module that returns a number.
 *
 * If it traps, for example after a panic, the memory of the instance is in an unknown state. Then an Error is thrown,
 * whose cause is the trap, and the next call gets a new instance.
 */
export function call(name, ...numbers) {
  try {
    return instance.exports[name](...numbers)
  } catch (trap) {
    instance = new WebAssembly.Instance(compiled)
    throw new Error(`${name} failed: ${trap.message}`, { cause: trap })
  }
}

/**
 * Calls a function of the module that has inputs and an output. An input is a string or a typed array. Returns a copy
 * of the output, as an ArrayBuffer; or null.
 */
export function outputOf(name, inputs, ...numbers) {
  try {
    inputs.forEach(writeInput)
    const status = call(name, ...numbers)
    if (status === NULL) {
      return null
    }
    const { memory } = instance.exports
    const begin = call('output') >>> 0
    const output = memory.buffer.slice(begin, begin + (call('output_length') >>> 0))
    if (status === VALUE) {
      return output
    }
    const ErrorClass = { [TYPE_ERROR]: TypeError, [RANGE_ERROR]: RangeError }[status]
    throw new ErrorClass(decoder.decode(output))
  } finally {
    if (instance.exports.memory.buffer.byteLength > MAX_RETAINED_BYTES) {
      instance = new WebAssembly.Instance(compiled)
    }
  }
}

function writeInput(input, index) {
  const bytes =
    typeof input === 'string'
      ? encoder.encode(input)
      : new Uint8Array(input.buffer, input.byteOffset, input.byteLength)
  const begin = call('allocate_input', index, bytes.length) >>> 0
  if (begin === 0) {
    throw new RangeError('out of memory')
  }
  new Uint8Array(instance.exports.memory.buffer, begin, bytes.length).set(bytes)
}
