import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'

const log = new URL('../../src/base/log.ts', import.meta.url).href

test.each(['json', 'pretty'])('a log that cannot be written stops no process (%s)', (format) => {
  const program = `
    import { createLog } from '${log}'
    const log = createLog({ level: 'info', format: '${format}' })
    for (let line = 0; line < 2_000; line += 1) log.info('x'.repeat(200_000))
    console.log(process.memoryUsage().rss)`
  // A shell, for /dev/full is a file that any process may open for writing and none can fill.
  const words = ['-c', 'exec "$@" 2> /dev/full', 'sh', process.execPath, '--input-type=module', '--eval', program]

  expect(Number(execFileSync('/bin/sh', words))).toBeLessThan(300_000_000)
})
