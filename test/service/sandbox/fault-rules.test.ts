import { describe, expect, test } from 'vitest'
import { UsageProblem } from '../../../src/base/errors.ts'
import { DAY, HOUR } from '../../../src/base/time/units.ts'
import { faultCatalogue, faultNames } from '../../../src/service/sandbox/faults/fault-catalogue.ts'
import {
  type FaultRule,
  faultRuleSchema,
  faultSetting,
  parseFaultRule,
  plainRules,
} from '../../../src/service/sandbox/faults/fault-rules.ts'
import { createFaultSelector, EXPLAIN } from '../../../src/service/sandbox/faults/fault-selector.ts'
import {
  applySpellingFaults,
  applyTimedFaults,
  excludeEnd,
  withOldNames,
} from '../../../src/service/sandbox/faults/faulty-records.ts'
import { createMovableClock } from '../../../src/service/sandbox/faults/movable-clock.ts'

const scoresOfAda = { operation: 'scoresOf', profile: 'ada' } as const

describe('random draws', () => {
  const fates = (seed: string, rule: FaultRule, asks: number) => {
    const world = createFaultSelector({ seed, rules: [rule] })
    return Array.from({ length: asks }, () => world.selectRules(scoresOfAda).length)
  }

  test('repeat with the seed, and only with it', () => {
    const rule: FaultRule = { name: 'throttle', rate: 0.3 }
    expect(fates('a', rule, 200)).toEqual(fates('a', rule, 200))
    expect(fates('a', rule, 200)).not.toEqual(fates('b', rule, 200))
  })

  test('strike a share of requests that equals the rate', () => {
    const struck = fates('a', { name: 'error-500', rate: 0.2 }, 4000).filter((count) => count > 0).length
    expect(struck).toBeGreaterThan(680)
    expect(struck).toBeLessThan(920)
    expect(fates('a', { name: 'reset', rate: 0 }, 500).every((count) => count === 0)).toBe(true)
    expect(fates('a', { name: 'reset', rate: 1 }, 500).every((count) => count === 1)).toBe(true)
  })

  test('gives a profile the same faults whatever requests of other profiles come in between', () => {
    const rules: FaultRule[] = [{ name: 'error-503', rate: 0.5 }]
    const alone = createFaultSelector({ seed: 'a', rules })
    const crowded = createFaultSelector({ seed: 'a', rules })
    for (let n = 0; n < 100; n += 1) {
      crowded.selectRules({ operation: 'scoresOf', profile: 'bob' })
      crowded.selectRules({ operation: 'trendsOf', profile: 'ada' })
      expect(crowded.selectRules(scoresOfAda).length).toBe(alone.selectRules(scoresOfAda).length)
    }
  })

  test('strikes about as many records as the rate says, and always the same ones', () => {
    const rule: FaultRule = { name: 'late', rate: 0.1 }
    const world = createFaultSelector({ seed: 'a', rules: [rule] })
    const ids = Array.from({ length: 3000 }, (_, n) => `record-${n}`)
    const struck = ids.filter((id) => world.hitsRecord(rule, id))
    expect(struck.length).toBeGreaterThan(230)
    expect(struck.length).toBeLessThan(370)
    expect(ids.filter((id) => world.hitsRecord(rule, id))).toEqual(struck)
  })
})

describe('a rule', () => {
  test('applies only to its operations and profiles', () => {
    const rule: FaultRule = { name: 'throttle', rate: 1, operations: ['scoresOf', 'uploadLogs'], profiles: ['ada'] }
    const world = createFaultSelector({ seed: 'a', rules: [rule] })
    expect(world.selectRules(scoresOfAda)).toEqual([rule])
    expect(world.selectRules({ operation: 'scoresOf', profile: 'bob' })).toEqual([])
    expect(world.selectRules({ operation: 'scoresOf', profile: undefined })).toEqual([])
    expect(world.selectRules({ operation: 'trendsOf', profile: 'ada' })).toEqual([])
  })

  test('stops after timesMax strikes, and reports how often it struck', () => {
    const world = createFaultSelector({ seed: 'a', rules: [{ name: 'reset', rate: 1, timesMax: 2 }] })
    const met = [1, 2, 3, 4].map(() => world.selectRules(scoresOfAda).length)
    expect(met).toEqual([1, 1, 0, 0])
    expect(world.list()).toMatchObject([{ name: 'reset', met: 2 }])
  })

  test('can be added, replaced and removed', () => {
    const world = createFaultSelector({ seed: 'a', rules: [] })
    world.add({ name: 'reset', rate: 1 })
    world.add({ name: 'latency', rate: 1 })
    expect(world.selectRules(scoresOfAda).map((rule) => rule.name)).toEqual(['reset', 'latency'])
    world.remove('reset')
    expect(world.selectRules(scoresOfAda).map((rule) => rule.name)).toEqual(['latency'])
    world.set([{ name: 'late', rate: 1 }])
    expect(world.selectRules(scoresOfAda)).toEqual([])
    expect(world.recordRules(scoresOfAda).map((rule) => rule.name)).toEqual(['late'])
  })

  test('has the settings of its fault and no others', () => {
    expect(faultSetting({ name: 'throttle', rate: 1 }, 'retryAfterSeconds')).toBe(2)
    expect(faultSetting({ name: 'throttle', rate: 1, settings: { retryAfterSeconds: 9 } }, 'retryAfterSeconds')).toBe(9)
    const wrong = faultRuleSchema.safeParse({ name: 'reset', settings: { delayMs: 5 } })
    expect(wrong.error?.issues.map((issue) => issue.message)).toEqual(['reset has no settings'])
    expect(() => faultSetting({ name: 'reset', rate: 1 }, 'delayMs')).toThrow('reset')
  })
})

describe('a fault on the command line', () => {
  test('is a name, a rate and more after commas', () => {
    const text = 'throttle=0.2,retryAfterSeconds=5,operations=scoresOf+uploadLogs,profiles=ada+bob,timesMax=3'
    expect(parseFaultRule(text)).toEqual({
      name: 'throttle',
      rate: 0.2,
      settings: { retryAfterSeconds: 5 },
      operations: ['scoresOf', 'uploadLogs'],
      profiles: ['ada', 'bob'],
      timesMax: 3,
    })
    expect(parseFaultRule('reset')).toEqual({ name: 'reset', rate: 1 })
    for (const name of faultNames) expect(parseFaultRule(`${name}=0.5`)).toEqual({ name, rate: 0.5 })
  })

  test.each(['trottle=1', 'throttle=2', 'throttle=x', 'reset=1,delayMs=4', 'reset=1,operations=scores+nothing', ''])(
    'is refused when it reads %j, with a hint',
    (text) => {
      const problem = (() => {
        try {
          return parseFaultRule(text)
        } catch (error) {
          return error
        }
      })()
      expect(problem).toBeInstanceOf(UsageProblem)
      expect(problem).toMatchObject({ hint: expect.stringMatching(/^(The faults are|Write name=rate)/) })
    },
  )
})

describe('records', () => {
  const at = Date.parse('2026-03-03T00:00:00+01:00')
  const score = (n: number) => ({
    id: `score-${n}`,
    type: 'sleep',
    value: 0.8,
    createdAt: '2026-03-04T06:00:00Z',
    scoreDateTime: '2026-03-03T00:00:00+01:00',
  })
  const biomarker = {
    id: 'b',
    type: 'steps',
    value: '9000',
    startDateTime: '2026-03-03T00:00:00+01:00',
    endDateTime: '2026-03-03T23:59:59+01:00',
  }
  const told = (records: Array<Record<string, unknown>>, rule: FaultRule, nowMs: number) =>
    applyTimedFaults(records, { rules: [rule], faults: createFaultSelector({ seed: 'a', rules: [rule] }), nowMs })

  test('that are late appear the set number of hours after the end of their day', () => {
    const rule: FaultRule = { name: 'late', rate: 1, settings: { hours: 6 } }
    expect(told([score(1)], rule, at + DAY + 6 * HOUR - 1)).toEqual([])
    expect(told([score(1)], rule, at + DAY + 6 * HOUR)).toEqual([score(1)])
    expect(told([biomarker], rule, at + DAY - 1000 + 6 * HOUR)).toEqual([biomarker])
  })

  test('that are revised have another value before, and the right one after', () => {
    const rule: FaultRule = { name: 'revised', rate: 1, settings: { hours: 6 } }
    const trend = { id: 't', trendEndDateTime: '2026-03-04T00:00:00Z', data: [{ value: 100 }, { value: 50 }] }
    const before = at + DAY + 6 * HOUR - 2000
    expect(told([score(1)], rule, before)).toEqual([{ ...score(1), value: 0.72 }])
    expect(told([biomarker], rule, before)).toEqual([{ ...biomarker, value: '8100' }])
    expect(told([trend], rule, before)).toEqual([{ ...trend, data: [{ value: 90 }, { value: 45 }] }])
    expect(told([score(1), biomarker], rule, before + 2000)).toEqual([score(1), biomarker])
  })

  test('that vanish are served before the hour and not after it', () => {
    const rule: FaultRule = { name: 'vanished', rate: 1, settings: { hours: 6 } }
    expect(told([score(1)], rule, at + DAY + 6 * HOUR - 1)).toEqual([score(1)])
    expect(told([score(1)], rule, at + DAY + 6 * HOUR)).toEqual([])
  })

  test('are struck one by one', () => {
    const rule: FaultRule = { name: 'vanished', rate: 0.5 }
    const many = Array.from({ length: 100 }, (_, n) => score(n))
    const left = told(many, rule, at + 9 * DAY)
    expect(left.length).toBeGreaterThan(25)
    expect(left.length).toBeLessThan(75)
  })

  test('are written twice, or without a readable date', () => {
    const spelled = (name: 'duplicates' | 'odd-records') => {
      const rule: FaultRule = { name, rate: 1 }
      return applySpellingFaults([score(1), biomarker], {
        rules: [rule],
        faults: createFaultSelector({ seed: 'a', rules: [rule] }),
      })
    }
    expect(spelled('duplicates')).toEqual([score(1), score(1), biomarker, biomarker])
    expect(spelled('odd-records')).toEqual([
      { ...score(1), scoreDateTime: 'not a date' },
      { ...biomarker, startDateTime: 'not a date' },
    ])
  })

  test('that start at an exclusive end are left out, and records that start a millisecond before are not', () => {
    expect(excludeEnd([score(1)], '2026-03-02T23:00:00Z')).toEqual([])
    expect(excludeEnd([score(1)], '2026-03-02T23:00:00.001Z')).toEqual([score(1)])
    expect(excludeEnd([score(1)], undefined)).toEqual([score(1)])
  })

  test('of scores can have the old field names', () => {
    const { value, createdAt, ...rest } = score(1)
    expect(withOldNames(score(1))).toEqual({ ...rest, score: value, createdAtUtc: createdAt })
    expect(withOldNames(biomarker)).toEqual(biomarker)
  })
})

test('every fault has a description', () => {
  for (const name of faultNames) expect(faultCatalogue[name].what).toMatch(/\.$/)
})

test('the clock runs on from the time to which it was moved', () => {
  let machine = 1000
  const clock = createMovableClock(() => machine)
  clock.advance(DAY)
  machine += 5
  expect([clock.nowMs(), clock.aheadMs()]).toEqual([1005 + DAY, DAY])
  clock.moveTo(50)
  machine += 5
  expect(clock.nowMs()).toBe(55)
  clock.reset()
  expect(clock.nowMs()).toBe(1010)
})

test('without-explanations strikes the route that explains alone, and no other fault strikes that route', () => {
  const faults = createFaultSelector({ seed: 'any', rules: plainRules })
  faults.frameRules({ operation: 'scoresOf', profile: 'ada' })
  const metBefore = faults.list().map(({ name, met }) => [name, met])
  const struck = faults.frameRules({ operation: EXPLAIN, profile: 'ada' }).map(({ name }) => name)

  expect(metBefore).toContainEqual(['without-explanations', 0])
  expect(metBefore).toContainEqual(['without-date', 1])
  expect(struck).toEqual(['without-explanations'])
})

test('a failed derivation takes every record of its days, by the offset of the record, and none of other days', () => {
  const rule = parseFaultRule('failed-derivation=1,days=2026-07-11')
  const records = [
    '2026-07-10T23:00:00Z',
    '2026-07-11T00:00:00+12:00',
    '2026-07-11T23:59:59-05:00',
    '2026-07-12T00:00:00Z',
  ]
  const faults = createFaultSelector({ seed: 'any', rules: [rule] })
  const rules = faults.recordRules(scoresOfAda)

  expect(
    applyTimedFaults(
      records.map((scoreDateTime) => ({ scoreDateTime })),
      { rules, faults, nowMs: 0 },
    ),
  ).toEqual([{ scoreDateTime: records[0] }, { scoreDateTime: records[3] }])
  expect(() => parseFaultRule('failed-derivation=1,days=soon')).toThrow(UsageProblem)
  expect(() => parseFaultRule('error-500=1,days=2026-07-11')).toThrow(/days: error-500 has none: only late, /)
})
