import { expect, test } from 'vitest'
import { files, linesOf } from './sources.ts'

/** The next lines after an opening must hold a listener: an emitter without a listener for `error` ends the process. */
const openings = /new pg\.Client\(|new (Redis|Cluster)\(|new pg\.Pool\(|new Worker\(/
const LINES_AFTER = 40

test('whatever emits errors has a listener, or is handed to its opener that gives it one', () => {
  const listened = /\.on\('error'|return new |onServerError|createWorker/
  const without = files
    .filter((file) => /^src\/.*\.ts$/.test(file))
    .flatMap((file) => {
      const lines = linesOf(file).map(({ text }) => text)
      return lines.flatMap((text, at) => {
        if (!openings.test(text) || /^\s*return new /.test(text)) return []
        return listened.test(lines.slice(at, at + LINES_AFTER).join('\n')) ? [] : [`${file}:${at + 1}`]
      })
    })

  expect(without).toEqual([])
})
