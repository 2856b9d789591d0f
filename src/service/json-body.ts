import { badRequest } from './request-error.ts'

const depthMax = 32

const decoder = new TextDecoder('utf-8', { fatal: true })

/** Parses the body of a request; undefined when it is empty and the operation needs none. */
export function parseRequestBody(bytes: Buffer, { isRequired }: { isRequired: boolean }): unknown {
  return bytes.length === 0 && !isRequired ? undefined : parseBody(bytes)
}

/** Parses a JSON body; throws a 400 when it is not UTF-8, not JSON, or nested deeper than any shape of the interface. */
function parseBody(bytes: Buffer): unknown {
  if (bytes.length === 0) throw unreadable('must not be empty')
  if (isDeep(bytes)) throw unreadable(`must not be nested deeper than ${depthMax}`)
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

function unreadable(reason: string) {
  return badRequest('body', [{ origin: '', errors: [reason] }])
}

const [quote, backslash, openBracket, closeBracket, openBrace, closeBrace] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d]

/** Counts brackets outside of strings. For text that is not JSON the result is undefined: JSON.parse rejects it later. */
function isDeep(bytes: Buffer): boolean {
  let depth = 0
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]
    if (byte === quote) at = endOfString(bytes, at + 1)
    else if (byte === openBracket || byte === openBrace) depth += 1
    else if (byte === closeBracket || byte === closeBrace) depth -= 1
    if (depth > depthMax) return true
  }
  return false
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
