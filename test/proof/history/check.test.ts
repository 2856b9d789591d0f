import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DAY } from '../../../src/base/time/units.ts'
import { check } from './check.ts'
import { createDraw, faultNames, planFaults } from './fault-plan.ts'
import type { HeldRecord } from './history.ts'
import type { Pick } from './lie.ts'
import { lies } from './lies.ts'
import { eventsOf, type Rule, rules } from './rules.ts'
import { makeTrueRun } from './true-run.ts'

const seeds = fc.integer().map(String)
const drawnRun = (seed: string) => makeTrueRun(createDraw(seed))

function pickBy(draw: () => number): Pick {
  return (from) => {
    const picked = from[Math.floor(draw() * from.length)]
    if (picked === undefined) throw new Error('tell a lie: there is nothing to lie about')
    return picked
  }
}

describe('the checker of histories', () => {
  test('finds nothing in a run that kept every promise', () => {
    fc.assert(fc.property(seeds, (seed) => void expect(check(drawnRun(seed))).toEqual([])))
  })

  test('owes no record that was derived after a window had been covered, though later answers of other windows touch it', () => {
    const { events, final } = drawnRun('1')
    const snapshot = eventsOf(events, 'snapshot').find(({ records }) => records.some(({ startMs }) => startMs > 0))
    const last = events.findLast((event) => event.kind === 'reading' && event.stream === snapshot?.stream)
    if (snapshot === undefined || last?.kind !== 'reading')
      throw new Error('the made-up run has no snapshot with a record')
    const { profile, stream } = snapshot
    const late: HeldRecord = { key: 'late', digest: 'late', startMs: DAY, endMs: 2 * DAY }
    const touching = events.map(() => ({ ...last, profile, stream, startMs: late.startMs + 1, records: [late] }))

    expect(check({ events: [...events, ...touching], final })).toEqual([])
  })

  test.for(lies.map((lie) => [lie.rule, lie.says, lie] as const))('finds “%s”: %s', ([rule, , lie]) => {
    const found = (seed: string): Rule[] => {
      const run = lie.tell(drawnRun(seed), pickBy(createDraw(`lie/${seed}`)))
      return check(run).map((violation) => violation.rule)
    }
    const property = fc.property(seeds, (seed) => void expect(found(seed)).toContain(rule))
    fc.assert(property, { numRuns: 25 })
  })

  test('has a lie for each of its rules', () => {
    expect([...new Set(lies.map(({ rule }) => rule))].toSorted()).toEqual(rules.toSorted())
  })
})

describe('the plan of faults', () => {
  const options = { seed: '7', lastsMs: 20_000, possible: faultNames }

  test('follows from its seed', () => {
    expect(planFaults(options)).toEqual(planFaults(options))
    expect(planFaults({ ...options, seed: '8' })).not.toEqual(planFaults(options))
  })

  test('has each possible fault, in the order of their times and before the end', () => {
    fc.assert(
      fc.property(seeds, fc.subarray(faultNames, { minLength: 1 }), (seed, possible) => {
        const { faults } = planFaults({ ...options, seed, possible })

        expect(new Set(faults.map(({ fault }) => fault))).toEqual(new Set(possible))
        const times = faults.map(({ atMs }) => atMs)
        expect(times).toEqual(times.toSorted((one, other) => one - other))
        expect(Math.max(...times)).toBeLessThan(options.lastsMs)
      }),
    )
  })
})
