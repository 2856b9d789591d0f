import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { runProgram, stopProcess } from '../../../src/base/engines/bounded-process.ts'

/** Against a broken bound, which would let the programs of these tests run for ever. */
const timeout = 60_000

test('a program gives its code and all that it wrote', { timeout }, async () => {
  const words = ['-c', 'echo one; echo two >&2; exit 3']

  const ended = await runProgram('/bin/sh', words, { timeoutMs: timeout })

  expect(ended).toEqual({ code: 3, output: expect.stringContaining('one\n') })
  expect(ended.output).toContain('two\n')
})

test('a program that does not end is killed, though a child of it keeps its output open', { timeout }, async () => {
  const words = ['-c', 'echo $$; (sleep 600 & echo $!); kill -STOP $$']

  const { code, output } = await runProgram('/bin/sh', words, { timeoutMs: 500 })

  const [ended = 0, left = 0] = output.trim().split('\n').map(Number)
  process.kill(left, 'SIGKILL')
  expect(code).toBeNull()
  expect(() => process.kill(ended, 0)).toThrow('ESRCH')
})

test('a process that is frozen is ended by the last signal', { timeout }, async () => {
  const child = spawn('/bin/sh', ['-c', 'trap "" INT QUIT; echo on; kill -STOP $$'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  await once(child.stdout, 'data')

  await stopProcess(child, [
    ['SIGINT', 20],
    ['SIGQUIT', 20],
    ['SIGKILL', timeout],
  ])

  expect(child.signalCode).toBe('SIGKILL')
})

test('a process that ends by the first signal gets no other', { timeout }, async () => {
  const child = spawn('/bin/sh', ['-c', 'trap "exit 4" INT; echo on; read line'], { stdio: ['pipe', 'pipe', 'ignore'] })
  await once(child.stdout, 'data')

  await stopProcess(child, [
    ['SIGINT', timeout],
    ['SIGKILL', timeout],
  ])

  expect(child.exitCode).toBe(4)
})
