import { expect, onTestFinished, test, vi } from 'vitest'
import type { Problem } from '../../../src/base/errors.ts'
import { startWatchdog } from '../../../src/pipeline/queue/watchdog.ts'

/** A lane whose state the test sets; each check is a second after the one before. */
function openLane() {
  const state = {
    waiting: 1,
    pausedMs: 0,
    ended: 0,
    active: 0,
    nowMs: 0,
    served: [{ lane: 'manual', part: 0 } as const],
  }
  const reported: Problem[] = []
  const watchdog = startWatchdog({
    waitingJobs: async ({ lane }) => {
      if (state.waiting < 0) throw new Error('the engine does not answer')
      return lane === 'manual' ? state.waiting : 0
    },
    pausedMs: async () => state.pausedMs,
    workers: { ended: () => state.ended, active: () => state.active, served: () => state.served },
    silenceMaxMs: 60_000,
    jobMaxMs: 600_000,
    now: () => state.nowMs,
    onSilent: (problem) => reported.push(problem),
  })
  onTestFinished(() => watchdog.close())
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second += 1) {
      state.nowMs += 1000
      await watchdog.check()
    }
    return reported.length
  }
  return { state, reported, pass, close: watchdog.close }
}

test('jobs that wait for a minute while none ends end the process', async () => {
  const { reported, pass } = openLane()

  expect(await pass(59)).toBe(0)
  expect(await pass(1)).toBe(1)
  expect(reported[0]).toMatchObject({
    message: 'watch the queue: work has been waiting for 60 s and no job ended',
    hint: 'The process ends so that its supervisor starts a new one; nothing is lost.',
  })
  // The process may take a moment to end: meanwhile the same silence is not reported at each check.
  expect(await pass(59)).toBe(1)
  expect(await pass(1)).toBe(2)
})

test('while the engine does not answer nobody is silent: the minute begins when the engine answers again', async () => {
  const { state, pass } = openLane()
  expect(await pass(50)).toBe(0)
  state.waiting = -1
  expect(await pass(300)).toBe(0)
  state.waiting = 1

  expect(await pass(59)).toBe(0)
  expect(await pass(1)).toBe(1)
})

test('one job that ends begins the minute again, and none that had ended before does', async () => {
  const { state, pass } = openLane()
  state.ended = 3
  expect(await pass(1)).toBe(0)

  expect(await pass(59)).toBe(0)
  expect(await pass(1)).toBe(1)
})

test('the limit is that of jobs that wait as soon as no job is active any more', async () => {
  const { state, pass } = openLane()
  state.active = 1
  expect(await pass(100)).toBe(0)

  state.active = 0

  expect(await pass(1)).toBe(1)
})

test('a process that works, ends jobs, has a paused lane, no waiting job or no part that has one is not silent', async () => {
  for (const calm of [{ active: 1 }, { pausedMs: 5 }, { waiting: 0 }, { served: [] }]) {
    const { state, pass } = openLane()
    Object.assign(state, calm)
    expect(await pass(200), JSON.stringify(calm)).toBe(0)
  }
  const { state, pass } = openLane()
  for (let minute = 0; minute < 5; minute += 1) {
    expect(await pass(50)).toBe(0)
    state.ended += 1
  }
})

test('jobs that are active for longer than any job may take end the process, though new jobs begin', async () => {
  const { state, reported, pass } = openLane()
  Object.assign(state, { active: 3, waiting: 0 })
  expect(await pass(599)).toBe(0)

  expect(await pass(1)).toBe(1)

  expect(reported[0]?.message).toBe('watch the queue: jobs are active for 600 s and no job ended')
})

test('it checks every ten seconds of its own accord, until it is closed', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const { state, reported, close } = openLane()
  state.nowMs = 60_000
  await vi.advanceTimersByTimeAsync(9999)
  expect(reported).toHaveLength(0)
  await vi.advanceTimersByTimeAsync(1)
  expect(reported).toHaveLength(1)

  close()

  expect(vi.getTimerCount()).toBe(0)
})

test('a watchdog keeps no process alive', () => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const before = timers()
  openLane()

  expect(timers()).toBe(before)
})
