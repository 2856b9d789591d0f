import type { Socket } from 'node:net'

/**
 * Hands the kernel at once what one turn of the event loop writes. A write to a server on the same machine wakes the server, which costs
 * more than the bytes.
 */
export function writeTurnsTogether(socket: Socket): void {
  const write = socket.write.bind(socket) as (...written: unknown[]) => boolean // the overloads have no one type
  let isCorked = false
  socket.write = (...written: unknown[]) => {
    if (!isCorked) {
      isCorked = true
      socket.cork()
      process.nextTick(() => {
        isCorked = false
        socket.uncork()
      })
    }
    return write(...written)
  }
}
