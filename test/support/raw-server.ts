import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'

/** One request, and the socket on which the test writes any answer. */
export type RawRequest = { head: string; body: string; socket: Socket; number: number }

export type RawServer = { url: string; requests: RawRequest[]; close(): Promise<void> }

/** A server that parses requests and answers nothing itself: the test writes the answers. */
export async function startRawServer(answer: (request: RawRequest) => void): Promise<RawServer> {
  const sockets = new Set<Socket>()
  const requests: RawRequest[] = []
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      for (;;) {
        const end = text.indexOf('\r\n\r\n')
        if (end < 0) return
        const head = text.slice(0, end)
        const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
        if (text.length < end + 4 + length) return
        const request = { head, body: text.slice(end + 4, end + 4 + length), socket, number: requests.length + 1 }
        text = text.slice(end + 4 + length)
        requests.push(request)
        answer(request)
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** A complete, valid answer. */
export function http(status: number, body = '', headers: readonly string[] = []): string {
  const lines = [`HTTP/1.1 ${status} x`, `content-length: ${Buffer.byteLength(body)}`, ...headers, '', body]
  return lines.join('\r\n')
}
