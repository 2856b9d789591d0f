import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'

const flushDelayMs = 20

/** A body in pieces, with a delay before each piece; ends early when the caller disconnects. */
export function slowBody(body: string, pace: { pieces: number; delayMs: number }): Readable {
  const bytes = Buffer.from(body)
  const size = Math.max(1, Math.ceil(bytes.length / Math.max(1, pace.pieces)))
  async function* pieces() {
    for (let start = 0; start < bytes.length; start += size) {
      await wait(pace.delayMs, undefined, { ref: false })
      yield bytes.subarray(start, start + size)
    }
  }
  return Readable.from(pieces(), { objectMode: false })
}

/** Half a body, then an error that breaks the connection. The delay lets the half reach the caller first. */
export function cutBody(body: string): Readable {
  const bytes = Buffer.from(body)
  async function* half() {
    yield bytes.subarray(0, Math.floor(bytes.length / 2))
    await wait(flushDelayMs, undefined, { ref: false })
    throw new Error('send body: cut by an injected fault')
  }
  return Readable.from(half(), { objectMode: false })
}

/** A JSON body as a crashed template or a proxy sends it: most of the text, and then other text. */
export function malformedBody(body: string): string {
  return `${body.slice(0, Math.max(1, Math.floor(body.length * 0.8)))}<!-- end of buffer -->`
}
