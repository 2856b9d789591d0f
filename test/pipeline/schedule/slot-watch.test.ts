import { expect, test } from 'vitest'
import { MINUTE } from '../../../src/base/time/units.ts'
import { openNextSlots } from '../../../src/pipeline/schedule/slot-watch.ts'

test('the next slot of each schedule is known, also after it has passed and after the clock was set back', async () => {
  const slots = openNextSlots([
    { name: 'nightly', cron: '30 2 * * *', timeZone: 'UTC', makeUpMs: 0 },
    { name: 'sweep', cron: '0 0 29 2 *', timeZone: 'UTC', makeUpMs: 0 },
  ])
  const nextAt = (now: string) => slots.find(Date.parse(now)).map(({ at }) => at?.toISOString() ?? null)

  expect(nextAt('2026-03-01T02:00:00Z')).toEqual(['2026-03-01T02:30:00.000Z', null])
  expect(nextAt('2026-03-01T02:29:59Z')).toEqual(['2026-03-01T02:30:00.000Z', null])
  expect(nextAt('2026-03-01T02:30:00Z')).toEqual(['2026-03-02T02:30:00.000Z', null])
  expect(nextAt('2026-02-01T00:00:00Z')).toEqual(['2026-02-01T02:30:00.000Z', null])
  expect(nextAt('2028-02-28T12:00:00Z')).toEqual(['2028-02-29T02:30:00.000Z', '2028-02-29T00:00:00.000Z'])
  await slots.close()
})

test('a slot that was found is not looked for again until it has passed', async () => {
  const slots = openNextSlots([{ name: 'nightly', cron: '30 2 * * *', timeZone: 'Europe/Berlin', makeUpMs: 0 }])
  const nowMs = Date.parse('2026-03-01T02:00:00Z')
  slots.find(nowMs)
  const startedAtMs = performance.now()
  for (let minute = 0; minute < 1000; minute += 1) slots.find(nowMs + minute * MINUTE)

  // Computing the slots again took a tenth of a second each time.
  expect(performance.now() - startedAtMs).toBeLessThan(20_000)
  await slots.close()
})
