import { expect } from 'vitest'
import { storeDataLogs } from '../../../src/service/store/data-logs.ts'
import {
  countLogsByDay,
  nextLogStartMs,
  readDaysOfStarts,
  readLogsOfDays,
} from '../../../src/service/store/logs-of-days.ts'
import { createServicePool } from '../../../src/service/store/service-pool.ts'
import { test } from '../../support/fixtures.ts'
import { inputOf, log } from '../derive/made-logs.ts'
import { createProfile, quiet } from './recompute-world.ts'

const msOf = (time: string) => Date.parse(`2026-03-${time}:00Z`)
const adaStarts = ['01T10:00', '02T10:00', '02T11:00', '04T20:00', '05T01:00', '06T10:00']
const bobStarts = ['01T12:00', '03T10:00', '04T16:00', '04T19:00']

test('the logs of a profile are found by their days and instants without those of others', async ({
  serviceUrl,
  onTestFinished,
}) => {
  const limits = { connectionsMax: 2, statementTimeoutMs: 10_000 }
  const pool = createServicePool({ databaseUrl: serviceUrl, log: quiet, ...limits })
  onTestFinished(() => pool.end())
  const profileWith = async (starts: readonly string[]) => {
    const profileId = await createProfile(pool)
    const logs = starts.map((start) => inputOf(log('steps', `2026-03-${start}:00Z`, [5, 500])))
    await storeDataLogs(pool, { profileId, logs, nowAt: new Date(msOf('10T00:00')) })
    return profileId
  }
  const profileId = await profileWith(adaStarts)
  await profileWith(bobStarts)

  const days = { firstDay: '2026-03-02', lastDay: '2026-03-04' }
  const read = await readLogsOfDays(pool, { profileId, ...days, countMax: 100 })
  expect(read.map(({ startMs }) => startMs).toSorted()).toEqual(adaStarts.slice(1, 4).map(msOf))

  const localDays = ['2026-03-02', '2026-03-03', '2026-03-04']
  expect(await countLogsByDay(pool, { profileId, localDays })).toEqual(
    new Map([
      ['2026-03-02', 2],
      ['2026-03-04', 1],
    ]),
  )

  // After the first instant, and up to the last.
  const span = { startMs: msOf('01T10:00'), endMs: msOf('04T20:00') }
  expect(await readDaysOfStarts(pool, { profileId, span })).toEqual(days)
  expect(await readDaysOfStarts(pool, { profileId, span: { ...span, startMs: span.endMs } })).toBeUndefined()

  const nextAfter = (time: string) => nextLogStartMs(pool, { profileId, nowAt: new Date(msOf(time)) })
  expect(await nextAfter('04T15:30')).toBe(msOf('04T20:00'))
  expect(await nextAfter('04T20:00')).toBe(msOf('05T01:00'))
  expect(await nextAfter('06T10:00')).toBeNull()
})
