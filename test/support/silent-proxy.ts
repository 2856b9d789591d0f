import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export type Direction = 'to-server' | 'to-client'

/** A network between a program and a server, which can swallow bytes without closing a connection. */
export type SilentProxy = {
  /** The address of the server, by way of the proxy. */
  readonly url: string
  /** Swallows the bytes of these directions, of open connections and of later ones. */
  silence(...directions: Direction[]): void
  /** Ends every connection that sends this text, until `restore`. */
  cut(text: string): void
  /** New connections work again. The connections there were stay silent, as after the loss of a firewall's state. */
  restore(): void
  /**
   * Freezes the first connection that sends these texts to the server, in this order, right after the last one. Resolves when
   * it has happened.
   */
  freezeAfter(...texts: readonly string[]): Promise<void>
  /** Sends further connections to another server. */
  redirect(serverUrl: string): void
  /** Ends every connection, and returns how many there were. */
  dropAll(): number
  /** Whether the connection that reaches the server from this port swallows what the server sends. */
  isSilentTo(port: number | undefined): boolean
  /** How many bytes were swallowed so far. */
  swallowedBytes(): number
  close(): Promise<void>
}

export async function startSilentProxy(serverUrl: string): Promise<SilentProxy> {
  let target = new URL(serverUrl)
  let swallowed: readonly Direction[] = []
  let swallowedBytes = 0
  const links = new Set<{ swallowed: readonly Direction[]; sockets: readonly [client: Socket, upstream: Socket] }>()
  let cutText: string | undefined
  let trap: { texts: readonly string[]; sprung: () => void } | undefined
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    const link = { swallowed, sockets: [client, upstream] as const }
    let seen = 0
    links.add(link)
    const forward = (from: Socket, to: Socket, direction: Direction) => {
      from.on('data', (chunk) => {
        if (link.swallowed.includes(direction)) {
          swallowedBytes += chunk.length
          return
        }
        if (direction === 'to-server' && cutText !== undefined && chunk.includes(cutText)) return void from.destroy()
        const nextText = () => (direction === 'to-server' ? trap?.texts[seen] : undefined)
        let end = 0
        for (let text = nextText(); text !== undefined; text = nextText()) {
          const at = chunk.indexOf(text, end)
          if (at < 0) break
          end = at + text.length
          seen += 1
        }
        if (!trap || direction === 'to-client' || seen < trap.texts.length) return void to.write(chunk)
        to.write(chunk.subarray(0, end))
        link.swallowed = ['to-server', 'to-client']
        trap.sprung()
        trap = undefined
      })
      from.on('error', () => undefined) // 'close' follows
      from.on('close', () => {
        // A silent network does not report that a connection was closed.
        if (link.swallowed.includes(direction)) return
        links.delete(link)
        to.destroy()
      })
    }
    forward(client, upstream, 'to-server')
    forward(upstream, client, 'to-client')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(serverUrl)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  const dropAll = () => {
    const dropped = links.size
    for (const { sockets } of links) for (const socket of sockets) socket.destroy()
    return dropped
  }
  return {
    url: url.href,
    silence(...directions) {
      swallowed = directions
      for (const link of links) link.swallowed = directions
    },
    cut(text) {
      cutText = text
    },
    restore() {
      swallowed = []
      cutText = undefined
    },
    freezeAfter: (...texts) =>
      new Promise((resolve) => {
        trap = { texts, sprung: resolve }
      }),
    redirect(serverUrl) {
      target = new URL(serverUrl)
    },
    dropAll,
    isSilentTo: (port) =>
      [...links].some(({ swallowed, sockets }) => sockets[1].localPort === port && swallowed.includes('to-client')),
    swallowedBytes: () => swallowedBytes,
    async close() {
      server.close()
      dropAll()
    },
  }
}
