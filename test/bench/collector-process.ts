import { type AddressInfo, createServer, type Socket } from 'node:net'

/**
 * A collector of OpenTelemetry that costs as little as it can, in a process of its own: it counts bytes and says yes. With the argument
 * `silent` it reads and never answers.
 */
const isSilent = process.argv[2] === 'silent'
const yes = Buffer.from('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}')
let bytes = 0

const server = createServer((socket) => {
  socket.on('error', () => socket.destroy())
  answerEach(socket)
})

/** Answers each request when its whole body has come. */
function answerEach(socket: Socket): void {
  let head = ''
  let left = 0
  socket.on('data', (chunk) => {
    bytes += chunk.length
    let rest = chunk
    while (rest.length > 0) {
      if (left === 0) {
        const before = head.length
        head += rest.toString('latin1')
        const end = head.indexOf('\r\n\r\n')
        if (end < 0) return
        left = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
        rest = rest.subarray(end + 4 - before)
        head = ''
        if (left === 0 && !isSilent) socket.write(yes)
        continue
      }
      const taken = Math.min(left, rest.length)
      left -= taken
      rest = rest.subarray(taken)
      if (left === 0 && !isSilent) socket.write(yes)
    }
  })
}

process.on('message', () => process.send?.({ bytes }))
server.listen(0, '127.0.0.1', () => {
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
})
