import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer as createWebServer } from 'node:http'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'

/** A listener that does what no right server does. */
export type WrongServer = { readonly port: number; close(): Promise<void> }

async function listenWrongly(onSocket: (socket: Socket) => void): Promise<WrongServer> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    onSocket(socket)
  })
  return opened(server, sockets)
}

async function opened(server: Server, sockets: Iterable<Socket>): Promise<WrongServer> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export const silence = () => listenWrongly(() => undefined)
export const hangUp = () => listenWrongly((socket) => socket.end())

export async function webServer(): Promise<WrongServer> {
  const server = createWebServer((_, response) => response.end('<html>'))
  const { port } = await opened(server, [])
  return { port, close: async () => void server.close().closeAllConnections() }
}

/** The queue of connections is full, and nobody takes one out of it: another attempt gets no answer at all. */
export async function fullBacklog(): Promise<WrongServer> {
  const program = `const server = require('net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    process.stdout.write(server.address().port + '\\n')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  })`
  const child: ChildProcess = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = child.stdout ? await once(child.stdout, 'data') : ['0']
  const port = Number(line)
  const waiting = Array.from({ length: 4 }, () => connect({ port, host: '127.0.0.1' }).on('error', () => undefined))
  await Promise.race(waiting.map((socket) => once(socket, 'connect')))
  return {
    port,
    async close() {
      for (const socket of waiting) socket.destroy()
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    },
  }
}

/** A certificate that nobody vouches for. Undefined where there is no openssl. */
async function selfSigned(): Promise<{ key: Buffer; cert: Buffer } | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-certificate-'))
  const [key, cert] = [join(folder, 'key'), join(folder, 'cert')]
  const words = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost']
  const made = spawnSync('openssl', [...words, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  const pair = made.status === 0 ? { key: await readFile(key), cert: await readFile(cert) } : undefined
  await rm(folder, { recursive: true })
  return pair
}

/** Speaks TLS with such a certificate: at once, or after it was asked as Postgres is asked. */
export async function untrusted(asked: 'as Postgres' | 'at once'): Promise<WrongServer | undefined> {
  const pair = await selfSigned()
  if (!pair) return undefined
  const secure = (socket: Socket) => new TLSSocket(socket, { isServer: true, ...pair }).on('error', () => undefined)
  return listenWrongly((socket) => {
    if (asked === 'at once') return void secure(socket)
    socket.once('data', () => {
      socket.pause()
      socket.write('S')
      secure(socket)
    })
  })
}

const message = (type: string, body: Buffer) => {
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}
const int16 = (value: number) => Buffer.from([value >> 8, value & 255])
const int32 = (value: number) => Buffer.from([value >>> 24, (value >> 16) & 255, (value >> 8) & 255, value & 255])
const ready = message('Z', Buffer.from('I'))

/** Answers every statement with one row: the version of a server of long ago. */
export const oldPostgres = () =>
  listenWrongly((socket) => {
    const columns = ['text', 'number'].map((name, index) =>
      Buffer.concat([
        Buffer.from(`${name}\0`),
        int32(0),
        int16(0),
        int32(index === 0 ? 25 : 23),
        int16(-1),
        int32(-1),
        int16(0),
      ]),
    )
    const cells = ['12.4', '120004'].map((text) => Buffer.concat([int32(text.length), Buffer.from(text)]))
    const rows = Buffer.concat([
      message('T', Buffer.concat([int16(2), ...columns])),
      message('D', Buffer.concat([int16(2), ...cells])),
      message('C', Buffer.from('SELECT 1\0')),
      ready,
    ])
    socket.once('data', () => {
      socket.write(Buffer.concat([message('R', int32(0)), ready]))
      socket.on('data', (chunk) => chunk[0] === 0x51 && socket.write(rows))
    })
  })

/** Answers `info` as a server of long ago, and everything else with OK. */
export const oldRedis = () =>
  listenWrongly((socket) => {
    const info = 'redis_version:5.0.1\r\nrole:master\r\n'
    socket.on('data', (chunk) => {
      const asked = chunk.toString('latin1').match(/^\*\d+\r\n/gm)?.length ?? 1
      const reply = /info/i.test(chunk.toString('latin1')) ? `$${info.length}\r\n${info}\r\n` : '+OK\r\n'
      socket.write(reply.repeat(asked))
    })
  })
