import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'

const handOverMs = 20

/** A body in pieces with a pause before each; ends early when nobody listens any more. */
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

/** Half a body, then the connection breaks. The pause lets the half reach the other side first. */
export function cutBody(body: string): Readable {
  const bytes = Buffer.from(body)
  async function* half() {
    yield bytes.subarray(0, Math.floor(bytes.length / 2))
    await wait(handOverMs, undefined, { ref: false })
    throw new Error('send body: cut off, as a fault asked for')
  }
  return Readable.from(half(), { objectMode: false })
}

/** What a crashed template or a proxy makes of a JSON body: nearly all of it, and then something else. */
export function malformedBody(body: string): string {
  return `${body.slice(0, Math.max(1, Math.floor(body.length * 0.8)))}<!-- end of buffer -->`
}
