import { expect, test } from 'vitest'
import { createLog, prettyLine } from '../../../src/base/log.ts'

test('a line for eyes has the time, the level, the message and every field', () => {
  const line =
    '{"level":40,"time":"2026-03-10T03:00:01.250Z","lane":"nightly","pauseMs":2000,"at":["a","b"],"msg":"the lane pauses"}'

  expect(prettyLine(line)).toBe('03:00:01.250 WARN  the lane pauses  lane=nightly  pauseMs=2000  at=["a","b"]\n')
})

test('a line without a message, and one that would move the cursor', () => {
  expect(prettyLine('{"level":20,"time":"2026-03-10T03:00:01.250Z","ms":3}')).toBe('03:00:01.250 debug   ms=3\n')
  expect(
    prettyLine(JSON.stringify({ level: 30, time: '2026-03-10T03:00:01.250Z', err: '\u001b[2J\nx', msg: 'm' })),
  ).toBe('03:00:01.250 info  m  err=\ufffd[2J\ufffdx\n')
})

test('the log writes either form, and hides in both what may be a secret', () => {
  for (const format of ['json', 'pretty'] as const) {
    const lines: string[] = []
    const destination = { write: (line: string) => void lines.push(line) }
    createLog({ level: 'info', format, destination }).info({ token: 'canary', run: '7' }, 'enqueued')

    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatch(
      format === 'json' ? /^\{.*"run":"7","msg":"enqueued"\}\n$/ : /info {2}enqueued {2}.*run=7\n$/,
    )
    expect(lines[0]).not.toContain('canary')
  }
})
