import { type AddressInfo, createServer, type Socket } from 'node:net'
import { cannedBody, firstDay, pulledNames } from './canned.ts'

/**
 * A Profile Service that costs as little as it can: raw sockets, every answer made in advance, so that its own work does
 * not hide the pipeline's. It reads no more of a request than its path and its length.
 */
export type Control = {
  readonly latencyMs?: number
  readonly changed?: boolean
  /** One person in this many is changed. */
  readonly changedEvery?: number
  /** Answers carry tags, and a read with the tag of the present answer gets a 304. */
  readonly tags?: boolean
  readonly ask?: 'counts'
}
export type Counts = { readonly requests: number; readonly inFlightMax: number; readonly bodyBytes: number }

const paths = {
  scores: '/api/v1/profile/score/',
  biomarkers: '/api/v1/profile/biomarker/',
  archetypes: '/api/v1/profile/archetypes/',
  trends: '/api/v1/profile/insight/trend/',
  comparisons: '/api/v1/profile/insight/comparison/',
} as const

/** How many records each day of a stream has: the one argument. */
const perDay = Number(process.argv[2] ?? 1)
const fromMs = firstDay(Date.now())
const bodies = [false, true].map((changed) =>
  pulledNames.map((stream) => ({ path: paths[stream], body: cannedBody(stream, { fromMs, changed, perDay }) })),
)
const token = { expiresIn: 86_400, tokenType: 'Account', accountToken: 'account-token' }
const profileToken = { profileToken: 'profile-token', refreshToken: 'refresh', expiresIn: 86_400, tokenType: 'Profile' }
const posts = [
  { path: '/api/v1/profile/data/log', body: JSON.stringify({ received: 1, accepted: 1, updated: 0, duplicates: 0 }) },
  { path: '/api/v1/oauth/account/token', body: JSON.stringify(token) },
  { path: '/api/v1/oauth/profile/token', body: JSON.stringify(profileToken) },
]

let latencyMs = 0
let changed = false
let changedEvery = 1
let tags = false
let requests = 0
let inFlight = 0
let inFlightMax = 0
let bodyBytes = 0
let answers = prepare()
setInterval(() => {
  answers = prepare() // the Date header moves on
}, 1000).unref()

type Prepared = {
  gets: { path: string; bytes: Buffer }[][]
  unchanged: Buffer[]
  post: { path: string; bytes: Buffer }[]
  empty: Buffer
}

function prepare(): Prepared {
  const head = `date: ${new Date().toUTCString()}\r\ncontent-type: application/json\r\nconnection: keep-alive\r\n`
  const whole = ({ path, body }: { path: string; body: string }, more = '') => ({
    path,
    bytes: Buffer.from(`HTTP/1.1 200 OK\r\n${head}${more}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`),
  })
  const tagLine = (variant: number) => (tags ? `etag: ${tagOf(variant)}\r\n` : '')
  return {
    gets: bodies.map((variant, index) => variant.map((answer) => whole(answer, tagLine(index)))),
    unchanged: bodies.map((_, index) => Buffer.from(`HTTP/1.1 304 Not Modified\r\n${head}${tagLine(index)}\r\n`)),
    post: posts.map((answer) => whole(answer)),
    empty: Buffer.from(`HTTP/1.1 204 No Content\r\n${head}\r\n`),
  }
}

/** The tag of an answer as it was at first, or as it is when it has changed. */
const tagOf = (variant: number) => `"v${variant}"`

function answerTo(line: string, head: string): Buffer {
  const isRead = line.startsWith('GET')
  const variant = isRead && changed && isChangedPerson(line) ? 1 : 0
  const at = line.indexOf(' ') + 1
  const list = isRead ? (answers.gets[variant] ?? []) : answers.post
  const found = list.find(({ path }) => line.startsWith(path, at))
  if (found === undefined) return answers.empty
  if (tags && isRead && head.includes(`if-none-match: ${tagOf(variant)}`))
    return answers.unchanged[variant] ?? found.bytes
  return found.bytes
}

function isChangedPerson(line: string): boolean {
  if (changedEvery === 1) return true
  return Number(/person-(\d+)/.exec(line)?.[1] ?? 0) % changedEvery === 0
}

function reply(socket: Socket, line: string, head: string): void {
  requests += 1
  inFlight += 1
  if (inFlight > inFlightMax) inFlightMax = inFlight
  const send = () => {
    inFlight -= 1
    if (socket.writable) socket.write(answerTo(line, head))
  }
  if (latencyMs === 0) send()
  else setTimeout(send, latencyMs)
}

const server = createServer({ noDelay: true }, (socket) => {
  socket.on('error', () => socket.destroy())
  let left = '' // of a head that came in pieces
  let skip = 0 // bytes of a body still to come
  let line = ''
  let head = ''
  socket.on('data', (chunk) => {
    let text = left + chunk.toString('latin1')
    left = ''
    while (text.length > 0) {
      if (skip > 0) {
        const taken = Math.min(skip, text.length)
        skip -= taken
        text = text.slice(taken)
        if (skip === 0) reply(socket, line, head)
        continue
      }
      const end = text.indexOf('\r\n\r\n')
      if (end < 0) {
        left = text
        return
      }
      head = text.slice(0, end)
      line = head.slice(0, head.indexOf('\r\n'))
      text = text.slice(end + 4)
      skip = line.startsWith('GET') ? 0 : Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
      bodyBytes += skip
      if (skip === 0) reply(socket, line, head)
    }
  })
})

process.on('message', (control: Control) => {
  if (control.latencyMs !== undefined) latencyMs = control.latencyMs
  changed = control.changed ?? changed
  changedEvery = control.changedEvery ?? changedEvery
  if (control.tags !== undefined) {
    tags = control.tags
    answers = prepare()
  }
  process.send?.({ requests, inFlightMax, bodyBytes } satisfies Counts)
  requests = 0
  inFlightMax = 0
  bodyBytes = 0
})
process.on('disconnect', () => process.exit(0))
server.listen(0, '127.0.0.1', () => {
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
})
