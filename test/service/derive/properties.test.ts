import fc from 'fast-check'
import { expect, test } from 'vitest'
import { namedUuid } from '../../../src/base/text/digest.ts'
import { dayText } from '../../../src/base/time/local-time.ts'
import { DAY } from '../../../src/base/time/units.ts'
import { factsOfDays } from '../../../src/service/derive/day/facts-of-days.ts'
import type { DataLog } from '../../../src/service/derive/day/parsed-log.ts'
import type { Factor, Factors } from '../../../src/service/derive/days/factors.ts'
import { scoresFrom } from '../../../src/service/derive/days/scores.ts'
import type { FactorName } from '../../../src/service/derive/model/model.ts'
import { scoreDefinitions } from '../../../src/service/derive/model/score-definitions.ts'
import { anyLog, anyLogs, asOfMs, overlappingLogs } from './arbitrary-logs.ts'
import { derive } from './derive-at-once.ts'
import { profileId } from './made-logs.ts'

const person = { birthDate: '1980-03-20', age: null, gender: 'Female' }
const derived = (logs: readonly DataLog[], at = asOfMs, of = person) =>
  derive({ logs, asOfMs: at, demographics: of, profileId })
const runs = { numRuns: 12 }

test('the made lives have scores, trends and comparisons', () => {
  const counts = fc.sample(anyLogs, { numRuns: 20, seed: 1 }).map((logs) => derived(logs))
  for (const kind of ['scores', 'biomarkers', 'archetypes', 'trends', 'comparisons'] as const) {
    expect(counts.filter((count) => count[kind].length > 20).length).toBeGreaterThan(5)
  }
})

test('the order of arrival does not matter', () => {
  const inAnyOrder = (all: typeof anyLogs) =>
    all.chain((logs) => fc.tuple(fc.constant(logs), fc.shuffledSubarray(logs, { minLength: logs.length })))
  const same = ([logs, shuffled]: [DataLog[], DataLog[]]) => {
    expect(derived(shuffled)).toEqual(derived(logs))
  }
  fc.assert(fc.property(inAnyOrder(anyLogs), same), runs)
  // The order of arrival matters most where many logs overlap, and few logs are derived quickly.
  fc.assert(fc.property(inAnyOrder(overlappingLogs), same), { numRuns: 60 })
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

function totalsOf(logs: readonly DataLog[]): [name: string, value: number][] {
  return derived(logs)
    .biomarkers.filter(
      (biomarker) => totals.includes(String(biomarker['type'])) && biomarker['periodicity'] === 'daily',
    )
    .map((biomarker) => [`${biomarker['type']} ${biomarker['startDateTime']}`, Number(biomarker['value'])])
}

/**
 * One device, one hour in every two at most, at any minute: without overlaps, where the finer log would win and splitting
 * makes logs finer.
 */
const tidyLogs = fc
  .uniqueArray(
    anyLog.filter((log) => totals.includes(log.dataType)),
    {
      selector: (log) => `${log.dataType} ${Math.floor(log.startMs / (2 * 3_600_000))}`,
      minLength: 20,
      maxLength: 60,
    },
  )
  .map((logs) =>
    logs.map((log) => {
      const startMs = Math.floor(log.startMs / 7_200_000) * 7_200_000 + (log.startMs % 3_600_000)
      const value = Math.ceil(log.value) * 4
      return { ...log, value, deviceType: 'watch', source: 'watch-app', startMs, endMs: startMs + 3_600_000 }
    }),
  )

test('splitting an interval log changes no total', () => {
  fc.assert(
    fc.property(tidyLogs, fc.integer({ min: 1, max: 59 }), (tidy, minute) => {
      // One zone only: the offset of a day depends on the number of logs in each offset.
      const logs = tidy.map((log) => ({ ...log, startOffset: 120, endOffset: 120 }))
      const split = logs.flatMap((log): DataLog[] => {
        const middle = log.startMs + minute * 60_000
        const first = (log.value * minute) / 60
        return [
          { ...log, endMs: middle, value: first },
          { ...log, id: namedUuid(log.id, ['rest']), startMs: middle, value: log.value - first },
        ]
      })
      const [whole, parts] = [totalsOf(logs), totalsOf(split)]
      expect(parts.map(([name]) => name)).toEqual(whole.map(([name]) => name))
      // Totals are served as whole numbers: half a step may be rounded either way.
      for (const [place, [, value]] of whole.entries()) {
        expect(Math.abs((parts[place]?.[1] ?? 0) - value)).toBeLessThanOrEqual(1)
      }
    }),
    runs,
  )
})

test('no step is lost or added: the days sum up to the count of the watch', () => {
  fc.assert(
    fc.property(tidyLogs, (logs) => {
      const worn = logs.filter((log) => log.dataType === 'steps')
      const whole = (at: number) => Math.floor(at / 3_600_000) * 3_600_000
      const alike = worn.map((log) => {
        const [startMs, endMs] = [whole(log.startMs), whole(log.endMs)]
        return { ...log, startMs, endMs, startOffset: 60, endOffset: 60 }
      })
      const days = new Map<string, number>()
      for (const log of alike) {
        const key = dayText(Math.floor((log.startMs + 3_600_000) / DAY))
        days.set(key, (days.get(key) ?? 0) + log.value)
      }
      const said = derived(alike).biomarkers.filter(
        (biomarker) => biomarker['type'] === 'steps' && biomarker['periodicity'] === 'daily',
      )
      for (const record of said)
        expect(Number(record['value'])).toBe(days.get(String(record['startDateTime']).slice(0, 10)))
    }),
    runs,
  )
})

test('logs shifted by a week give the same records, shifted by a week', () => {
  const later = (text: string) =>
    text.replace(
      /\d{4}-\d{2}-\d{2}T/g,
      (found) => `${new Date(Date.parse(`${found}00:00:00Z`) + 7 * DAY).toISOString().slice(0, 11)}`,
    )
  // Ids depend on the date; months do not start on the same weekdays.
  const strip = (records: readonly Record<string, unknown>[]) =>
    records
      .filter((record) => record['periodicity'] !== 'monthly' && record['type'] !== 'date_of_birth')
      .map((record) =>
        JSON.stringify(record)
          .replace(/"id":"[^"]+"/g, '')
          .replace(/"createdAt":"[^"]+"/g, ''),
      )
  fc.assert(
    fc.property(anyLogs, (logs) => {
      const shifted = logs.map((log) => ({ ...log, startMs: log.startMs + 7 * DAY, endMs: log.endMs + 7 * DAY }))
      const now = derived(logs)
      const then = derived(shifted, asOfMs + 7 * DAY, { ...person, birthDate: '1980-03-27' })
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
      for (const scoreRecord of derived(logs).scores) {
        const { value, factors } = scoreRecord as { value: number; factors: { score: number }[] }
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
  const names = [
    ...new Set(Object.values(scoreDefinitions).flatMap(({ weights }) => Object.keys(weights))),
  ] as FactorName[]
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
      const all = factsOfDays({ logs, demographics: person, asOfMs })
      for (const facts of all) {
        const near = logs.filter(
          (log) => Math.abs(Math.floor((log.startMs + log.startOffset * 60_000) / DAY) - facts.day) <= 2,
        )
        expect(factsOfDays({ logs: near, demographics: person, asOfMs }, [facts.day])).toEqual([facts])
      }
    }),
    { numRuns: 8 },
  )
})
