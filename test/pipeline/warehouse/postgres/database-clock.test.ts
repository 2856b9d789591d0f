import { setTimeout as wait } from 'node:timers/promises'
import { expect, onTestFinished, vi } from 'vitest'
import { createLog } from '../../../../src/base/log.ts'
import { HOUR, SECOND } from '../../../../src/base/time/units.ts'
import { setLibraryClock, startDatabaseClock } from '../../../../src/pipeline/warehouse/postgres/database-clock.ts'
import { test } from '../../../support/test-warehouse.ts'

const log = createLog({ level: 'silent' })

test.for([2 * HOUR, -2 * HOUR])(
  'a machine whose clock is set by %i ms goes on by the database’s',
  async (stepMs, { warehouse }) => {
    const skewed: Error[] = []
    const clock = await startDatabaseClock(warehouse.pool, { log, onSkewed: (error) => skewed.push(error) })
    onTestFinished(clock.close)
    const beforeMs = clock.now()
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + stepMs })
    onTestFinished(() => void vi.useRealTimers())

    const afterMs = clock.now()

    expect(afterMs).toBeGreaterThanOrEqual(beforeMs)
    expect(afterMs).toBeLessThan(beforeMs + 10 * SECOND)
  },
)

test('a machine whose clock is an hour off is refused', async ({ warehouse }) => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + HOUR })
  onTestFinished(() => void vi.useRealTimers())

  await expect(startDatabaseClock(warehouse.pool, { log, onSkewed: () => undefined })).rejects.toThrow('compare clocks')
})

test('a first connection that is slow does not put the clock ahead', async ({ warehouse: { pool } }) => {
  let delayMs = 2 * SECOND
  const slow = Object.create(pool, {
    query: {
      async value(text: string) {
        await wait(delayMs)
        delayMs = 0
        return pool.query(text)
      },
    },
  })
  const clock = await startDatabaseClock(slow, { log, onSkewed: () => undefined })
  onTestFinished(clock.close)
  const { rows } = await pool.query<{ ms: number }>('select extract(epoch from clock_timestamp())::float8 * 1000 as ms')

  expect(clock.now()).toBeLessThan((rows[0]?.ms ?? 0) + SECOND / 2)
})

test('the clock that libraries go by is not taken for the machine’s', async ({ warehouse }) => {
  onTestFinished(setLibraryClock(() => 0))
  const clock = await startDatabaseClock(warehouse.pool, { log, onSkewed: () => undefined })
  onTestFinished(clock.close)

  expect(Math.abs(clock.skewMs())).toBeLessThan(SECOND)
})

test('the answer of the database is as old as half of its way', async ({ warehouse: { pool } }) => {
  vi.useFakeTimers({ toFake: ['Date', 'performance', 'setInterval', 'clearInterval'], now: 0 })
  onTestFinished(() => void vi.useRealTimers())
  const query = async () => {
    vi.advanceTimersByTime(100)
    const rows = [{ ms: Date.now() }]
    vi.advanceTimersByTime(100)
    return { rows }
  }
  const clock = await startDatabaseClock(Object.assign(Object.create(pool), { query }), {
    log,
    onSkewed: () => undefined,
  })
  onTestFinished(clock.close)

  expect([clock.now(), clock.skewMs()]).toEqual([Date.now(), 0])
})

test('of several library clocks the last holds, whichever ends first', () => {
  const [endFirst, endSecond] = [setLibraryClock(() => 1), setLibraryClock(() => 2)]
  expect(Date.now()).toBe(2)
  endFirst()
  expect(Date.now()).toBe(2)
  endSecond()
  expect(Date.now()).toBeGreaterThan(2)
})
