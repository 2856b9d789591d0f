import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { namedUuid } from '../../src/named-uuid.ts'
import { derive, factsOf } from '../../src/service/derive/derive.ts'
import type { Factor, Factors } from '../../src/service/derive/factors.ts'
import { dayText } from '../../src/service/derive/local-time.ts'
import type { Log } from '../../src/service/derive/log.ts'
import type { FactorName } from '../../src/service/derive/model.ts'
import { recipes } from '../../src/service/derive/model.ts'
import { scoresFrom } from '../../src/service/derive/scores.ts'
import { anyLog, anyLogs, asOf, day, throng } from './lives.ts'
import { profileId } from './logs.ts'

vi.setConfig({ testTimeout: 120_000 })

const person = { birthDate: '1980-03-20', age: null, gender: 'Female' }
const derived = (logs: readonly Log[], at = asOf, of = person) => derive({ logs, asOf: at, person: of, profileId })
const runs = { numRuns: 12 }

test('there is something to move: lives have scores, trends and comparisons', () => {
  const counts = fc.sample(anyLogs, { numRuns: 20, seed: 1 }).map((logs) => derived(logs))
  for (const kind of ['scores', 'biomarkers', 'archetypes', 'trends', 'comparisons'] as const) {
    expect(counts.filter((one) => one[kind].length > 20).length).toBeGreaterThan(5)
  }
})

test('the order of arrival does not matter', () => {
  const inAnyOrder = (all: typeof anyLogs) =>
    all.chain((logs) => fc.tuple(fc.constant(logs), fc.shuffledSubarray(logs, { minLength: logs.length })))
  const same = ([logs, shuffled]: [Log[], Log[]]) => {
    expect(derived(shuffled)).toEqual(derived(logs))
  }
  fc.assert(fc.property(inAnyOrder(anyLogs), same), runs)
  // Mostly it matters where much happens at once, and such logs are soon derived.
  fc.assert(fc.property(inAnyOrder(throng), same), { numRuns: 60 })
})

test('uploading twice changes nothing, under the same ids or under others', () => {
  fc.assert(
    fc.property(anyLogs, (logs) => {
      const again = logs.map((log) => ({
        ...log,
        id: namedUuid('0bb7a3a0-2b5c-5d35-8a05-1f9a3e1b2c3d', ['again', log.id]),
      }))
      const once = derived(logs)
      expect(derived([...logs, ...logs])).toEqual(once)
      expect(derived([...logs, ...again])).toEqual(once)
    }),
    runs,
  )
})

const totals = ['steps', 'floors_climbed', 'active_energy_burned']

function totalsOf(logs: readonly Log[]): [name: string, value: number][] {
  return derived(logs)
    .biomarkers.filter((one) => totals.includes(String(one['type'])) && one['periodicity'] === 'daily')
    .map((one) => [`${one['type']} ${one['startDateTime']}`, Number(one['value'])])
}

/**
 * One device, an hour at most every two, at any minute of them: of overlaps within a device the finer log wins, and
 * splitting makes logs finer.
 */
const tidyLogsOf = (deviceType: string) =>
  fc
    .uniqueArray(
      anyLog.filter((log) => totals.includes(log.dataType)),
      {
        selector: (log) => `${log.dataType} ${Math.floor(log.startAt / (2 * 3_600_000))}`,
        minLength: 20,
        maxLength: 60,
      },
    )
    .map((logs) =>
      logs.map((log) => {
        const startAt = Math.floor(log.startAt / 7_200_000) * 7_200_000 + (log.startAt % 3_600_000)
        const [value, source] = [Math.ceil(log.value) * 4, `${deviceType}-app`]
        return { ...log, value, deviceType, source, startAt, endAt: startAt + 3_600_000 }
      }),
    )
const tidyLogs = tidyLogsOf('watch')

test('splitting an interval log changes no total', () => {
  fc.assert(
    fc.property(tidyLogs, tidyLogsOf('phone'), fc.integer({ min: 1, max: 59 }), (watch, others, minute) => {
      // Of one zone: which offset a day ends in goes by how many logs were written in each.
      const logs = [...watch, ...others].map((log) => ({ ...log, startOffset: 120, endOffset: 120 }))
      const split = logs.flatMap((log): Log[] => {
        const middle = log.startAt + minute * 60_000
        const first = (log.value * minute) / 60
        return [
          { ...log, endAt: middle, value: first },
          { ...log, id: namedUuid(log.id, ['rest']), startAt: middle, value: log.value - first },
        ]
      })
      const [whole, parts] = [totalsOf(logs), totalsOf(split)]
      expect(parts.map(([name]) => name)).toEqual(whole.map(([name]) => name))
      // They are served as whole numbers: half a step may fall to either side.
      for (const [place, [, value]] of whole.entries()) {
        expect(Math.abs((parts[place]?.[1] ?? 0) - value)).toBeLessThanOrEqual(1)
      }
    }),
    runs,
  )
})

test('no step is lost and none is made: days add up to what the watch counted', () => {
  fc.assert(
    fc.property(tidyLogs, (logs) => {
      const worn = logs.filter((log) => log.dataType === 'steps')
      const whole = (at: number) => Math.floor(at / 3_600_000) * 3_600_000
      const alike = worn.map((log) => {
        const [startAt, endAt] = [whole(log.startAt), whole(log.endAt)]
        return { ...log, startAt, endAt, startOffset: 60, endOffset: 60 }
      })
      const days = new Map<string, number>()
      for (const log of alike) {
        const key = dayText(Math.floor((log.startAt + 3_600_000) / day))
        days.set(key, (days.get(key) ?? 0) + log.value)
      }
      const said = derived(alike).biomarkers.filter((one) => one['type'] === 'steps' && one['periodicity'] === 'daily')
      for (const one of said) expect(Number(one['value'])).toBe(days.get(String(one['startDateTime']).slice(0, 10)))
    }),
    runs,
  )
})

test('a week later the answers are the same, a week later', () => {
  const later = (text: string) =>
    text.replace(
      /\d{4}-\d{2}-\d{2}T/g,
      (found) => `${new Date(Date.parse(`${found}00:00:00Z`) + 7 * day).toISOString().slice(0, 11)}`,
    )
  // Ids belong to a date; months do not fall on the same weekdays.
  const strip = (records: readonly Record<string, unknown>[]) =>
    records
      .filter((one) => one['periodicity'] !== 'monthly' && one['type'] !== 'date_of_birth')
      .map((one) =>
        JSON.stringify(one)
          .replace(/"id":"[^"]+"/g, '')
          .replace(/"createdAt":"[^"]+"/g, ''),
      )
  fc.assert(
    fc.property(anyLogs, (logs) => {
      const shifted = logs.map((log) => ({ ...log, startAt: log.startAt + 7 * day, endAt: log.endAt + 7 * day }))
      const now = derived(logs)
      const then = derived(shifted, asOf + 7 * day, { ...person, birthDate: '1980-03-27' })
      for (const kind of ['scores', 'biomarkers', 'archetypes', 'trends', 'comparisons'] as const) {
        expect(strip(then[kind])).toEqual(strip(now[kind]).map(later))
      }
    }),
    runs,
  )
})

test('a lower-ranked copy of a device changes nothing', () => {
  fc.assert(
    fc.property(anyLogs, (logs) => {
      const watch = logs.map((log) => ({ ...log, deviceType: 'watch', source: 'watch-app' }))
      const copy = watch.map((log) => ({
        ...log,
        id: namedUuid(log.id, ['copy']),
        deviceType: 'phone',
        source: 'phone-app',
      }))
      expect(derived([...copy, ...watch])).toEqual(derived(watch))
    }),
    runs,
  )
})

test('every score lies between 0 and 1, and so does every factor’s', () => {
  fc.assert(
    fc.property(anyLogs, (logs) => {
      for (const one of derived(logs).scores) {
        const { value, factors } = one as { value: number; factors: { score: number }[] }
        for (const share of [value, ...factors.map((factor) => factor.score)]) {
          expect(share).toBeGreaterThanOrEqual(0)
          expect(share).toBeLessThanOrEqual(1)
        }
      }
    }),
    runs,
  )
})

test('a score never falls when the score of one of its factors rises', () => {
  const names = [...new Set(Object.values(recipes).flatMap(({ weights }) => Object.keys(weights)))] as FactorName[]
  const some = fc.record(Object.fromEntries(names.map((name) => [name, fc.double({ min: 0, max: 1, noNaN: true })])), {
    requiredKeys: [],
  })
  const factors = (scores: Record<string, number | undefined>): Factors =>
    Object.fromEntries(
      Object.entries(scores).map(([name, score]) => [name, { name, score, value: 0, goal: 0, unit: '' } as Factor]),
    )
  fc.assert(
    fc.property(some, fc.constantFrom(...names), fc.double({ min: 0, max: 1, noNaN: true }), (scores, name, more) => {
      const before = scores[name]
      if (before === undefined) return
      const [low, high] = [
        scoresFrom(factors(scores)),
        scoresFrom(factors({ ...scores, [name]: Math.max(before, more) })),
      ]
      for (const type of Object.keys(low) as (keyof typeof low)[]) {
        expect((high[type]?.value ?? 0) - (low[type]?.value ?? 0)).toBeGreaterThanOrEqual(-1e-12)
      }
    }),
    { numRuns: 500 },
  )
})

test('deriving one day gives what deriving everything gives for it', () => {
  fc.assert(
    fc.property(anyLogs, (logs) => {
      const all = factsOf({ logs, person, asOf })
      for (const facts of all) {
        const near = logs.filter(
          (log) => Math.abs(Math.floor((log.startAt + log.startOffset * 60_000) / day) - facts.day) <= 2,
        )
        expect(factsOf({ logs: near, person, asOf }, [facts.day])).toEqual([facts])
      }
    }),
    { numRuns: 8 },
  )
})
