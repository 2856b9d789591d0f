import { type AddressInfo, createServer, type Socket } from 'node:net'
import { cannedBody, firstDay, pulledNames } from './canned.ts'

/**
 * A Profile Service that costs as little as it can: raw sockets, every answer made in advance, so that its own work does
 * not hide the pipeline's. It reads no more of a request than its path and its length.
 */
export type Control = { readonly latencyMs?: number; readonly changed?: boolean; readonly ask?: 'counts' }
export type Counts = { readonly requests: number; readonly inFlightMax: number; readonly bodyBytes: number }

const paths = {
  scores: '/api/v1/profile/score/',
  biomarkers: '/api/v1/profile/biomarker/',
  archetypes: '/api/v1/profile/archetypes/',
  trends: '/api/v1/profile/insight/trend/',
  comparisons: '/api/v1/profile/insight/comparison/',
} as const

const fromMs = firstDay(Date.now())
const bodies = [false, true].map((changed) =>
  pulledNames.map((stream) => ({ path: paths[stream], body: cannedBody(stream, { fromMs, changed }) })),
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
let requests = 0
let inFlight = 0
let inFlightMax = 0
let bodyBytes = 0
let answers = prepare()
setInterval(() => {
  answers = prepare() // the Date header moves on
}, 1000).unref()

type Prepared = { get: { path: string; bytes: Buffer }[]; post: { path: string; bytes: Buffer }[]; empty: Buffer }

function prepare(): Prepared {
  const head = `date: ${new Date().toUTCString()}\r\ncontent-type: application/json\r\nconnection: keep-alive\r\n`
  const whole = ({ path, body }: { path: string; body: string }) => ({
    path,
    bytes: Buffer.from(`HTTP/1.1 200 OK\r\n${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`),
  })
  return {
    get: (bodies[changed ? 1 : 0] ?? []).map(whole),
    post: posts.map(whole),
    empty: Buffer.from(`HTTP/1.1 204 No Content\r\n${head}\r\n`),
  }
}

function answerTo(line: string): Buffer {
  const list = line.startsWith('GET') ? answers.get : answers.post
  const at = line.indexOf(' ') + 1
  for (const { path, bytes } of list) if (line.startsWith(path, at)) return bytes
  return answers.empty
}

function reply(socket: Socket, line: string): void {
  requests += 1
  inFlight += 1
  if (inFlight > inFlightMax) inFlightMax = inFlight
  const send = () => {
    inFlight -= 1
    if (socket.writable) socket.write(answerTo(line))
  }
  if (latencyMs === 0) send()
  else setTimeout(send, latencyMs)
}

const server = createServer({ noDelay: true }, (socket) => {
  socket.on('error', () => socket.destroy())
  let left = '' // of a head that came in pieces
  let skip = 0 // bytes of a body still to come
  let line = ''
  socket.on('data', (chunk) => {
    let text = left + chunk.toString('latin1')
    left = ''
    while (text.length > 0) {
      if (skip > 0) {
        const taken = Math.min(skip, text.length)
        skip -= taken
        text = text.slice(taken)
        if (skip === 0) reply(socket, line)
        continue
      }
      const end = text.indexOf('\r\n\r\n')
      if (end < 0) {
        left = text
        return
      }
      const head = text.slice(0, end)
      line = head.slice(0, head.indexOf('\r\n'))
      text = text.slice(end + 4)
      skip = line.startsWith('GET') ? 0 : Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
      bodyBytes += skip
      if (skip === 0) reply(socket, line)
    }
  })
})

process.on('message', (control: Control) => {
  if (control.latencyMs !== undefined) latencyMs = control.latencyMs
  if (control.changed !== undefined) {
    changed = control.changed
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
