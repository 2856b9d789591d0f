import { badRequest, RequestError } from './request-error.ts'

const depthMax = 32
/** Values in one body: a thousand logs with fifty properties each have 70,000. Each costs far more memory than its text. */
const valuesMax = 100_000

const decoder = new TextDecoder('utf-8', { fatal: true })

/** Parses the body of a request; undefined when it is empty and the operation needs none. */
export function parseRequestBody(bytes: Buffer, { isRequired }: { isRequired: boolean }): unknown {
  return bytes.length === 0 && !isRequired ? undefined : parseBody(bytes)
}

/** Parses a JSON body; throws a 400 when it is not UTF-8, not JSON, or nested deeper than any shape of the interface. */
function parseBody(bytes: Buffer): unknown {
  if (bytes.length === 0) throw unreadable('must not be empty')
  checkStructure(bytes)
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch {
    throw unreadable('must be UTF-8')
  }
  try {
    return JSON.parse(text)
  } catch {
    throw unreadable('must be JSON')
  }
}

function tooLarge(reason: string) {
  return new RequestError({ status: 413, location: 'body', errors: [{ origin: '', errors: [reason] }] })
}

function unreadable(reason: string) {
  return badRequest('body', [{ origin: '', errors: [reason] }])
}

const [quote, backslash, openBracket, closeBracket, openBrace, closeBrace] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d]
const comma = 0x2c

/** Counts brackets and commas outside of strings. Text that is not JSON passes: JSON.parse rejects it later. */
function checkStructure(bytes: Buffer): void {
  let [depth, values] = [0, 1]
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]
    if (byte === quote) at = endOfString(bytes, at + 1)
    else if (byte === openBracket || byte === openBrace) [depth, values] = [depth + 1, values + 1]
    else if (byte === closeBracket || byte === closeBrace) depth -= 1
    else if (byte === comma) values += 1
    if (depth > depthMax) throw unreadable(`must not be nested deeper than ${depthMax}`)
    if (values > valuesMax) throw tooLarge(`must not have more than ${valuesMax} values`)
  }
}

/** The end of the string that began before `from`: the first quote with an even number of backslashes before it. */
function endOfString(bytes: Buffer, from: number): number {
  let end = bytes.indexOf(quote, from)
  while (end !== -1) {
    let slashes = 0
    while (end - 1 - slashes >= from && bytes[end - 1 - slashes] === backslash) slashes += 1
    if (slashes % 2 === 0) return end
    end = bytes.indexOf(quote, end + 1)
  }
  return bytes.length
}
