import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const endProcess = fileURLToPath(new URL('../../../src/app/cli/end-process.ts', import.meta.url))

/** Runs a program whose pool of threads is busy for longer than any test. */
const endWhileBusy = (code: number) =>
  new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
    const program = `
      import { pbkdf2 } from 'node:crypto'
      import { endProcess } from ${JSON.stringify(endProcess)}
      pbkdf2('a', 'b', 2 ** 31 - 1, 64, 'sha512', () => undefined)
      process.stdout.write('done', () => endProcess(${code}))`
    const words = ['--input-type=module', '--eval', program]
    execFile(process.execPath, words, (error, stdout, stderr) => resolve({ code: error?.code ?? 0, stdout, stderr }))
  })

test('a process ends at once, with its code, whatever its threads do', { timeout: 30_000 }, async () => {
  expect(await endWhileBusy(0)).toEqual({ code: 0, stdout: 'done', stderr: '' })
  expect(await endWhileBusy(3)).toEqual({ code: 3, stdout: 'done', stderr: '' })
})
