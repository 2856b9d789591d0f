import { type AddressInfo, createServer } from 'node:net'

/**
 * A process of its own that answers every request with the same bytes, as fast as a socket allows: what is measured
 * against it is the client alone. Prints its address when it listens; ends with its standard input.
 */
const records = Number(process.argv[2] ?? 10)

const score = (index: number) =>
  `{"id":"0b6f9f0e-5c1e-4d0c-9a55-${String(index).padStart(12, '0')}","type":"sleep","value":0.7${index},"state":"medium",` +
  `"createdAt":"2026-03-04T01:02:03Z","factors":[{"id":"1b6f9f0e-5c1e-4d0c-9a55-000000000001","name":"sleep_duration",` +
  `"value":431.5,"goal":480,"score":0.9,"state":"high","unit":"minute"}],"scoreDateTime":"2026-03-0${(index % 9) + 1}T00:00:00+12:00",` +
  `"dataSources":["sleep","age"],"version":1}`

const body = `[${Array.from({ length: records }, (_, index) => score(index)).join(',')}]`
const date = 'date: Tue, 03 Mar 2026 12:00:00 GMT'
const answer = (text: string) =>
  Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json; charset=utf-8\r\n${date}\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  )
const scores = answer(body)
const token = answer('{"accountToken":"canned","expiresIn":86400,"tokenType":"Account"}')
const end = Buffer.from('\r\n\r\n')

const server = createServer((socket) => {
  socket.setNoDelay(true)
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk) => {
    // Requests here are small and come one at a time on a connection: a piece that does not end one is not the last.
    if (chunk.includes('/oauth/account/token')) socket.write(token)
    else if (chunk.subarray(-4).equals(end)) socket.write(scores)
  })
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
process.stdin.on('end', () => process.exit(0)).resume()
