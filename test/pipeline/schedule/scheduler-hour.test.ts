import cron from 'node-cron'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createLog } from '../../../src/base/log.ts'
import { HOUR, MINUTE, SECOND } from '../../../src/base/time/units.ts'
import { startScheduler } from '../../../src/pipeline/schedule/scheduler.ts'
import type { Schedule } from '../../../src/pipeline/schedule/timetable.ts'
import type { Run } from '../../../src/pipeline/warehouse/runs/stored-runs.ts'

const nightly: Schedule = { name: 'nightly', cron: '30 2 * * *', timeZone: 'UTC', makeUpMs: 25 * HOUR }
const sweep: Schedule = { name: 'sweep', cron: '*/10 * * * *', timeZone: 'UTC', makeUpMs: 0 }

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['Date', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'],
    now: Date.parse('2026-03-10T02:24:00Z'),
  })
})
afterEach(() => {
  vi.useRealTimers()
})

type LogLine = { readonly level: number; readonly msg: string; readonly err?: string }

/** A scheduler of both schedules at 02:24. `failsAt`: a claim at this time finds no database. */
async function start({ failsAt }: { failsAt?: string } = {}) {
  const last = new Map([
    ['nightly', new Date('2026-03-09T02:30:00Z')],
    ['sweep', new Date('2026-03-10T02:20:00Z')],
  ])
  const time = () => new Date().toISOString().slice(11, 19)
  const written: LogLine[] = []
  const log = createLog({ level: 'debug', destination: { write: (line) => void written.push(JSON.parse(line)) } })
  const lines = (level?: 'error' | 'debug') =>
    written.filter((line) => level === undefined || line.level === log.levels.values[level])
  const asked: string[] = []
  const claimed: string[] = []
  const produced: string[] = []
  const recovered: string[] = []
  const signals: AbortSignal[] = []
  const scheduler = await startScheduler({
    schedules: [nightly, sweep],
    runs: {
      async lastSlot(schedule) {
        asked.push(`${time()} ${schedule}`)
        return last.get(schedule)
      },
      async claimSlot(schedule, slotAt) {
        if (time() === failsAt) throw new Error('no connection')
        last.set(schedule, slotAt)
        claimed.push(`${time()} ${schedule} of ${slotAt.toISOString().slice(11, 16)}`)
        return { id: claimed.length.toString(), kind: schedule } as Run
      },
    },
    now: () => Date.now(),
    produce: async (run) => void produced.push(run.kind),
    async recoverRuns(idleMs, signal) {
      recovered.push(`${time()} idle for ${idleMs / SECOND} s`)
      signals.push(signal)
    },
    log,
  })
  return { scheduler, asked, claimed, produced, recovered, signals, lines }
}

test('each slot is claimed and produced once, in its minute, by the schedule that it belongs to', async () => {
  const { scheduler, asked, claimed, produced, lines } = await start()

  await vi.advanceTimersByTimeAsync(17 * MINUTE)
  await scheduler.close()

  const slots = claimed.map((line) => line.slice(9))
  expect(slots.toSorted()).toEqual(['nightly of 02:30', 'sweep of 02:30', 'sweep of 02:40'])
  expect(produced.toSorted()).toEqual(['nightly', 'sweep', 'sweep'])
  // Between two slots nobody asks the warehouse.
  expect(new Set(asked.map((line) => line.slice(0, 5)))).toEqual(new Set(['02:24', '02:30', '02:40']))
  expect(lines()).toEqual([])
})

test('a slot whose claim failed at its time is claimed a minute later, of every schedule', async () => {
  const { scheduler, claimed, lines } = await start({ failsAt: '02:30:00' })

  await vi.advanceTimersByTimeAsync(7 * MINUTE)
  await scheduler.close()

  expect(claimed.toSorted()).toEqual(['02:31:00 nightly of 02:30', '02:31:00 sweep of 02:30'])
  const failed = { err: 'no connection', msg: 'a tick failed; the next one plans the same work again' }
  expect(lines('error')).toMatchObject(lines('error').map(() => failed))
  expect(lines('error').length).toBeGreaterThanOrEqual(2)
})

test('the errors of the cron library are errors of the log, and its warnings lines of the level debug', async () => {
  const { scheduler, lines } = await start()
  const tasks = [
    cron.createTask('* * * * *', () => Promise.reject(new Error('no tick'))),
    cron.createTask('* * * * *', () => new Promise(() => undefined), { noOverlap: true }),
  ]
  for (const task of tasks) await task.start()

  await vi.advanceTimersByTimeAsync(2 * MINUTE)
  for (const task of tasks) await task.destroy()
  await scheduler.close()

  expect(lines('error').map(({ msg }) => msg)).toContain('Error: no tick')
  expect(lines('debug').map(({ msg }) => msg)).toContainEqual(expect.stringContaining('overlap'))
})

test('runs without a sign of life for two minutes are recovered at the start and each two minutes, until the close', async () => {
  const { scheduler, recovered, signals } = await start()

  await vi.advanceTimersByTimeAsync(5 * MINUTE)
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, false, false])
  await scheduler.close()

  expect(recovered).toEqual(['02:24:00', '02:26:00', '02:28:00'].map((time) => `${time} idle for 120 s`))
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, true])
})

test('a scheduler that has closed leaves no timer, and no task with the library', async () => {
  const tasksBefore = cron.getTasks().size
  const { scheduler } = await start()
  expect(vi.getTimerCount()).toBeGreaterThan(0)
  expect(cron.getTasks().size).toBeGreaterThan(tasksBefore)

  await scheduler.close()

  expect(vi.getTimerCount()).toBe(0)
  expect(cron.getTasks().size).toBe(tasksBefore)
})
