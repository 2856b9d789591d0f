import cron from 'node-cron'
import { expect, test } from 'vitest'
import { MINUTE } from '../../../src/base/time/units.ts'
import { openNextSlots, openOverdueSlots } from '../../../src/pipeline/schedule/slot-watch.ts'
import type { Schedule } from '../../../src/pipeline/schedule/timetable.ts'

const nightly: Schedule = { name: 'nightly', cron: '30 2 * * *', timeZone: 'UTC', makeUpMs: 0 }

test('the next slot of each schedule is known, also after it has passed and after the clock was set back', async () => {
  const slots = openNextSlots([nightly, { ...nightly, name: 'sweep', cron: '0 0 29 2 *' }])
  const nextAt = (now: string) => slots.find(Date.parse(now)).map(({ at }) => at?.toISOString() ?? null)

  expect(nextAt('2026-03-01T02:00:00Z')).toEqual(['2026-03-01T02:30:00.000Z', null])
  expect(nextAt('2026-03-01T02:29:59Z')).toEqual(['2026-03-01T02:30:00.000Z', null])
  expect(nextAt('2026-03-01T02:30:00Z')).toEqual(['2026-03-02T02:30:00.000Z', null])
  expect(nextAt('2026-02-01T00:00:00Z')).toEqual(['2026-02-01T02:30:00.000Z', null])
  expect(nextAt('2028-02-28T12:00:00Z')).toEqual(['2028-02-29T02:30:00.000Z', '2028-02-29T00:00:00.000Z'])
  await slots.close()
})

test('a slot that was found is not looked for again until it has passed', async () => {
  const slots = openNextSlots([{ ...nightly, timeZone: 'Europe/Berlin' }])
  const nowMs = Date.parse('2026-03-01T02:00:00Z')
  slots.find(nowMs)
  const startedAtMs = performance.now()
  for (let minute = 0; minute < 1000; minute += 1) slots.find(nowMs + minute * MINUTE)

  // Computing the slots again took a tenth of a second each time.
  expect(performance.now() - startedAtMs).toBeLessThan(20_000)
  await slots.close()
})

test.for([
  ['2026-03-09T02:29:59Z', '2026-03-09T02:30:00.000Z'],
  // The clocks of a day that is 24 hours long: the slot of tomorrow is found at the time of today's.
  ['2026-03-09T02:30:00Z', '2026-03-10T02:30:00.000Z'],
] as const)('the next slot is found up to a whole day ahead: at %s it is %s', async ([now, next]) => {
  const slots = openNextSlots([nightly])
  expect(slots.find(Date.parse(now))[0]?.at?.toISOString()).toBe(next)
  await slots.close()
})

test('where a schedule has no slot within a day, it is searched again after ten minutes', async () => {
  const slots = openNextSlots([{ ...nightly, cron: '0 0 29 2 *' }])
  const nextAt = (now: string) => slots.find(Date.parse(now))[0]?.at?.toISOString() ?? null

  expect(nextAt('2028-02-27T23:58:00Z')).toBeNull()
  expect(nextAt('2028-02-28T00:07:59Z')).toBeNull()
  expect(nextAt('2028-02-28T00:08:00Z')).toBe('2028-02-29T00:00:00.000Z')
  await slots.close()
})

test('what watches the slots leaves no task with the library when it closes', async () => {
  const before = cron.getTasks().size
  const watches = [openNextSlots([nightly]), openOverdueSlots([nightly], { lastSlot: async () => undefined })]
  expect(cron.getTasks().size).toBe(before + 2)

  for (const watch of watches) await watch.close()

  expect(cron.getTasks().size).toBe(before)
})
