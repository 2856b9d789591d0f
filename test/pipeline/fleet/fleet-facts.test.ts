import { expect, test } from 'vitest'
import { lagBoundsSeconds, quickFactsSchema, slowFactsSchema } from '../../../src/pipeline/fleet/fleet-facts.ts'

const laneFacts = { lane: 'manual', waiting: 1, active: 2, delayed: 3, oldestSeconds: 4 }
const trouble = {
  lane: 'backfill',
  reason: 'refused',
  sinceAt: '2026-03-10T00:00:00.000Z',
  untilAt: 'soon',
  attempts: 1,
}
const quick = {
  due: 1,
  dueOldestSeconds: 2,
  progress: { mark: '1.1', sinceMs: 3 },
  halted: 'refused',
  tokenGeneration: 4,
  lastNightlyMs: 5,
  runs: [{ kind: 'nightly', ageSeconds: 6, left: 7 }],
  outbox: [{ stream: 'data-logs', items: 8, oldestSeconds: 9 }],
  workers: 10,
  troubles: [trouble],
  queue: [laneFacts],
  slots: [{ schedule: 'nightly', missed: 11, overdueSeconds: 12 }],
}
const slow = {
  profiles: [{ state: 'active', count: 1 }],
  lags: [{ stream: 'scores', profiles: 2, coveredWithin: [3], readWithin: [4] }],
  refusals: [{ stream: 'scores', count: 5 }],
  failures: [{ job: 'pull', count: 6 }],
  silent: [{ kind: 'all_stopped', count: 14 }],
  quarantine: [{ direction: 'in', stream: 'scores', count: 7 }],
  drift: [{ stream: 'scores', count: 15 }],
  verified: { windows: 8, differing: 9, rateFrom: 10, rate: 11 },
  tables: [{ table: 'scores', bytes: 12 }],
  databaseBytes: 13,
}

/** Every fact at any depth, with a function that gives all facts with this one changed. */
function* factsIn<T>(facts: T, path = ''): Generator<{ path: string; value: unknown; changed: (to: unknown) => T }> {
  if (typeof facts !== 'object' || facts === null) return
  for (const [key, value] of Object.entries(facts)) {
    const place = `${path}.${key}`
    const withChange = (to: unknown): T =>
      Array.isArray(facts)
        ? (facts.map((fact, index) => (index === Number(key) ? to : fact)) as T)
        : ({ ...facts, [key]: to } as T)
    yield { path: place, value, changed: withChange }
    for (const inner of factsIn(value, place)) yield { ...inner, changed: (to) => withChange(inner.changed(to)) }
  }
}

for (const [name, schema, facts] of [
  ['quick', quickFactsSchema, quick],
  ['slow', slowFactsSchema, slow],
] as const) {
  test(`the ${name} facts of another process are read whole`, () => {
    expect(schema.parse(JSON.parse(JSON.stringify(facts)))).toEqual(facts)
  })

  for (const { path, value, changed } of factsIn<unknown>(facts)) {
    test(`${name} facts with another kind of value at ${path} are not taken`, () => {
      for (const other of [undefined, typeof value === 'string' ? 1 : 'text', [], {}]) {
        if (typeof other === typeof value && Array.isArray(other) === Array.isArray(value)) continue
        expect(schema.safeParse(changed(other)).success, JSON.stringify(other)).toBe(false)
      }
    })
  }
}

test.for(['halted', 'tokenGeneration', 'lastNightlyMs', 'queue'])('facts of the fleet may lack %s', (fact) => {
  expect(quickFactsSchema.safeParse({ ...quick, [fact]: null }).success).toBe(true)
})

test('the jobs of a lane in trouble may wait one by one', () => {
  expect(quickFactsSchema.safeParse({ ...quick, troubles: [{ ...trouble, untilAt: null }] }).success).toBe(true)
})

test('a count is never negative, and a lane is one of those that there are', () => {
  for (const fact of ['due', 'workers'])
    expect(quickFactsSchema.safeParse({ ...quick, [fact]: -1 }).success).toBe(false)
  expect(quickFactsSchema.safeParse({ ...quick, queue: [{ ...laneFacts, lane: 'weekly' }] }).success).toBe(false)
  // A clock that was set back makes an age negative for a moment.
  expect(quickFactsSchema.safeParse({ ...quick, dueOldestSeconds: -1 }).success).toBe(true)
})

test('lags are counted up to six hours, a day, 26 hours, two to four days, one and two weeks, and 30 days', () => {
  expect(lagBoundsSeconds).toEqual([21_600, 86_400, 93_600, 172_800, 259_200, 345_600, 604_800, 1_209_600, 2_592_000])
})
