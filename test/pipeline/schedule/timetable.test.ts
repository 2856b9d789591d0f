import fc from 'fast-check'
import { expect, test } from 'vitest'
import { UsageProblem } from '../../../src/base/errors.ts'
import { createTimetable } from '../../../src/pipeline/schedule/timetable.ts'

test('any five fields are a timetable, or are refused with the line and a hint', async () => {
  const field = fc.oneof(
    fc.constantFrom(
      '*',
      '*/5',
      '0',
      '3',
      '59',
      '60',
      '1-5',
      '5-1',
      '1,2',
      'L',
      '?',
      '#',
      'MON',
      '*/0',
      '31',
      '2',
      '-1',
    ),
    fc.string({ minLength: 1, maxLength: 4 }).filter((text) => !/\s/.test(text)),
  )
  await fc.assert(
    fc.asyncProperty(fc.tuple(field, field, field, field, field), async (fields) => {
      const line = fields.join(' ')
      const refusal = await createAndClose(line)
      if (refusal === undefined) return
      expect(refusal).toBeInstanceOf(UsageProblem)
      expect(refusal).toMatchObject({
        message: expect.stringContaining(line),
        hint: expect.stringContaining('NIGHTLY_CRON'),
      })
    }),
    { seed: 20261124, numRuns: 500 },
  )
})

async function createAndClose(line: string): Promise<unknown> {
  try {
    const { timetable, matcher } = createTimetable({ name: 'nightly', cron: line, timeZone: 'UTC', makeUpMs: 0 })
    timetable.matches(new Date('2026-03-29T02:30:00Z'))
    await matcher.destroy()
    return undefined
  } catch (error) {
    return error
  }
}

test.for(['99 3 * * *', '0 24 * * *', '0 3 31 2 *', '0 3 * * 8', 'a b c d e'])(
  'the line %s is refused',
  async (line) => {
    expect(await createAndClose(line)).toBeInstanceOf(UsageProblem)
  },
)

test.for(['0 3 * * *', '*/10 * * * *', '0 3 29 2 *', '30 2 * * MON', '0 3 L * *'])(
  'the line %s is taken',
  async (line) => {
    expect(await createAndClose(line)).toBeUndefined()
  },
)
