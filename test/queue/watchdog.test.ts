import { expect, onTestFinished, test } from 'vitest'
import type { Problem } from '../../src/errors.ts'
import { startWatchdog } from '../../src/queue/watchdog.ts'

/** A lane of which the test says what it looks like; time passes a second per look. */
function openLane() {
  const state = { waiting: 1, restingMs: 0, begun: 0, active: 0, nowMs: 0 }
  const barked: Problem[] = []
  const watchdog = startWatchdog({
    waiting: async (lane) => {
      if (state.waiting < 0) throw new Error('the engine does not answer')
      return lane === 'manual' ? state.waiting : 0
    },
    restingMs: async () => state.restingMs,
    workers: { begun: () => state.begun, active: () => state.active },
    silenceMaxMs: 60_000,
    now: () => state.nowMs,
    onSilent: (problem) => barked.push(problem),
  })
  onTestFinished(() => watchdog.close())
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second += 1) {
      state.nowMs += 1000
      await watchdog.look()
    }
    return barked.length
  }
  return { state, barked, pass }
}

test('work that waits for a minute while none is begun ends the process', async () => {
  const { barked, pass } = openLane()

  expect(await pass(59)).toBe(0)
  expect(await pass(1)).toBe(1)
  expect(barked[0]?.message).toContain('60 s')
})

test('whoever works, begins, rests or has nothing to do is not silent', async () => {
  for (const calm of [{ active: 1 }, { restingMs: 5 }, { waiting: 0 }]) {
    const { state, pass } = openLane()
    Object.assign(state, calm)
    expect(await pass(200), JSON.stringify(calm)).toBe(0)
  }
  const { state, pass } = openLane()
  for (let minute = 0; minute < 5; minute += 1) {
    expect(await pass(50)).toBe(0)
    state.begun += 1
  }
})
