import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'

test('the library of Redis does not slow the methods of strings down in a process that works', () => {
  const isFast = (modules: readonly string[]) =>
    execFileSync(process.execPath, ['--allow-natives-syntax', '--input-type=module'], {
      cwd: import.meta.dirname,
      input: `${modules.map((name) => `await import('${name}')`).join('\n')}\nconsole.log(%HasFastProperties(String.prototype))`,
      encoding: 'utf8',
    }).trim()

  expect(isFast([])).toBe('true')
  expect(isFast(['ioredis'])).toBe('false') // once this fails, `restoreFastStrings` has no use any more
  expect(isFast(['../../../src/pipeline/queue/engine.ts'])).toBe('true')
})
