// Checks the arguments of the package's functions, and converts them for the module. No number is rounded or truncated.

export function checkText(name, text) {
  if (typeof text !== 'string') {
    throw new TypeError(`${name} must be a string, not ${typeName(text)}`)
  }
  // UTF-8 has no form for lone surrogates, and TextEncoder would replace them.
  if (!text.isWellFormed()) {
    throw new TypeError(`${name} has lone surrogates. Use toWellFormed().`)
  }
  return text
}

export function checkFingerprint(fingerprint) {
  if (typeof fingerprint !== 'bigint') {
    throw new TypeError(`fingerprint must be a BigInt, not ${typeName(fingerprint)}`)
  }
  if (BigInt.asIntN(64, fingerprint) !== fingerprint) {
    throw new RangeError(
      `fingerprint ${fingerprint} is out of range for a signed 64-bit integer. ` +
        'If it is an unsigned one of 2**63 or more, use BigInt.asIntN(64, fingerprint).',
    )
  }
  return fingerprint
}

export function checkDistance(distance) {
  const makeMessage = () => `maximum distance ${distance} is out of range. Two fingerprints differ in 0 to 64 bits.`
  return checkInteger('maximum distance', distance, 0, 64, makeMessage)
}

export function checkBand(band) {
  return checkInteger('band', band, 0, 63, () => `there is no band ${band}. Bands are 0 to 63.`)
}

export function checkNumberOfBands(count) {
  const makeMessage = () => `number of bands ${count} is out of range. A text has 1 to 64.`
  return checkInteger('number of bands', count, 1, 64, makeMessage)
}

export function checkShare(share) {
  const hint = 'Give a number from 0 to 1: 0.6 for three words in five of the clue.'
  return checkNumber('share', share, 0, 1, () => `share ${share} is out of range. ${hint}`)
}

/** Fingerprints as 64-bit integers, and a byte for each, 1 for null; no bytes for a BigInt64Array. */
export function readFingerprints(fingerprints) {
  if (fingerprints instanceof BigInt64Array) {
    return [fingerprints, new Uint8Array()]
  }
  checkIterable('fingerprints', 'a BigInt64Array or an iterable of BigInt or null', fingerprints)
  const values = Array.from(fingerprints, (value) => (value === null ? null : checkFingerprint(value)))
  return [BigInt64Array.from(values, (value) => value ?? 0n), Uint8Array.from(values, (value) => value === null)]
}

/** Texts as UTF-8, one after another, and the length of each in bytes, -1 for null. */
export function readTexts(texts) {
  checkIterable('texts', 'an iterable of strings or null', texts)
  const encoder = new TextEncoder()
  const encoded = Array.from(texts, (text, row) =>
    text === null ? null : encoder.encode(checkText(`texts[${row}]`, text)),
  )
  const joined = new Uint8Array(encoded.reduce((bytes, text) => bytes + (text?.length ?? 0), 0))
  let offset = 0
  for (const text of encoded.filter((text) => text !== null)) {
    joined.set(text, offset)
    offset += text.length
  }
  return [joined, Int32Array.from(encoded, (text) => text?.length ?? -1)]
}

/** The options as JSON. A member that is undefined is left out, as JSON.stringify does. */
export function writeOptions(options) {
  if (options === undefined) {
    return ''
  }
  if (!isPlain(options)) {
    throw new TypeError(`options must be an object, not ${typeName(options)}`)
  }
  const members = Object.entries(options).filter(([, value]) => value !== undefined)
  return `{${members.map(([key, value]) => `${JSON.stringify(key)}:${writeValue(key, value)}`).join()}}`
}

function writeValue(key, value) {
  if (typeof value === 'bigint') {
    return value.toString()
  }
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw new RangeError(`simhash option "${key}" is a Number beyond 2**53, which may be rounded. Use a BigInt.`)
  }
  const json = JSON.stringify(value)
  // JSON.stringify writes a Map and a Set as {}, and typed arrays as objects.
  const isMapOrSet = ['[object Map]', '[object Set]'].includes(Object.prototype.toString.call(value))
  if (json === undefined || isMapOrSet || ArrayBuffer.isView(value)) {
    throw new TypeError(`simhash option "${key}" must be a JSON value, not ${typeName(value)}`)
  }
  return json
}

function checkInteger(name, value, min, max, makeMessage) {
  if (!Number.isInteger(checkNumber(name, value, min, max, makeMessage))) {
    throw new RangeError(makeMessage())
  }
  return value
}

// Makes the message only after the type is checked: a Symbol in its template would raise an error of its own.
function checkNumber(name, value, min, max, makeMessage) {
  if (typeof value !== 'number') {
    throw new TypeError(`${name} must be a number, not ${typeName(value)}`)
  }
  if (!(value >= min && value <= max)) {
    throw new RangeError(makeMessage())
  }
  return value
}

function checkIterable(name, expected, value) {
  if (!isIterable(value) || typeof value === 'string') {
    throw new TypeError(`${name} must be ${expected}, not ${typeName(value)}`)
  }
}

function isIterable(value) {
  return typeof value?.[Symbol.iterator] === 'function'
}

/** Whether a value is an object of members, not a Date, for example. */
function isPlain(value) {
  return Object.prototype.toString.call(value) === '[object Object]' && !isIterable(value)
}

function typeName(value) {
  if (value === null) {
    return 'null'
  }
  // An iterable or a Date is named by its class: "not Map" says more than "not object".
  return (typeof value === 'object' && !isPlain(value) && value.constructor?.name) || typeof value
}
