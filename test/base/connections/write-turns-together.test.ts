import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { writeTurnsTogether } from '../../../src/base/connections/write-turns-together.ts'

test('a socket holds what one turn writes until the turn is over, and sends all of it in order', async () => {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect(Object(server.address()).port, '127.0.0.1')
  const [[accepted]] = await Promise.all([once(server, 'connection'), once(socket, 'connect')])
  writeTurnsTogether(socket)
  const held: number[] = []

  for (const piece of ['a', 'b']) socket.write(piece)
  held.push(socket.writableLength)
  await Promise.resolve().then(() => socket.write('c'))
  held.push(socket.writableLength)
  await turn()
  held.push(socket.writableCorked)
  socket.write('d')
  held.push(socket.writableLength)
  socket.end('e') // in the turn of a write that waits

  expect(await text(accepted)).toBe('abcde')
  expect(held).toEqual([2, 3, 0, 1])
  accepted.destroy()
  server.close()
})
