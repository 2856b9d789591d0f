import { expect, test } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../src/base/time/units.ts'
import { countLateness, noLatenessCounts } from '../../src/pipeline/ledger/lateness.ts'
import { settleMsOf, settleTimeOf } from '../../src/pipeline/ledger/settle-time.ts'
import { type Chance, createChance } from './stage.ts'

const PROFILES = 640
const RECORDS = 20
const DAYS = 110
const KEPT_DAYS = 60
const fallback = { fallbackMs: 72 * HOUR, settings: { minMs: 6 * HOUR, maxMs: 240 * HOUR, intervalsMs: [] } }
const begin = 20_000 * DAY

type Law = (chance: Chance) => number

/** A heavy-tailed law: the logarithm of the lateness is normal. */
const lognormal =
  (medianMs: number, sigma: number): Law =>
  (chance) => {
    const uniform = () => (chance(1 << 24) + 0.5) / (1 << 24)
    return medianMs * Math.exp(sigma * Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform()))
  }

type Outcome = { records: number; silent: number; daysRead: number; settleHours: number[] }

/**
 * Every profile has some records a day, and each record changes a last time at a lateness by the law. A nightly reads what is
 * not covered, counts the changes that it sees, and covers by the settle time in force. Nothing else happens, and every change is known.
 */
function simulate(law: Law, settles: 'measured' | 'by the fallback'): Outcome {
  const chance = createChance(7)
  const changedAt = Array.from({ length: PROFILES }, () =>
    Array.from({ length: DAYS }, (_, day) =>
      Array.from({ length: RECORDS }, () => begin + (day + 1) * DAY + law(chance)),
    ),
  )
  const coveredTo = new Array<number>(PROFILES).fill(begin)
  const readAt = new Array<number>(PROFILES).fill(begin)
  const byNight: ReturnType<typeof noLatenessCounts>[] = []
  const outcome: Outcome = { records: 0, silent: 0, daysRead: 0, settleHours: [] }
  let measuredMs: number | null = null
  for (let night = 0; night < DAYS; night += 1) {
    const counts = noLatenessCounts()
    for (let profile = 0; profile < PROFILES; profile += 1) {
      const sentAtMs = begin + (night + 1) * DAY + 3 * HOUR + chance(120) * MINUTE
      const formerAtMs = readAt[profile] ?? 0
      const settleMs = settleMsOf(String(profile), settles === 'measured' ? measuredMs : null, fallback)
      const ends = { seen: [] as number[], came: [] as number[], changed: [] as number[] }
      const from = Math.floor(((coveredTo[profile] ?? 0) - begin) / DAY)
      for (let day = Math.max(0, from); day <= night; day += 1) {
        const endMs = begin + (day + 1) * DAY
        outcome.daysRead += 1
        for (const at of changedAt[profile]?.[day] ?? []) {
          ends.seen.push(endMs)
          if (at > formerAtMs && at <= sentAtMs) ends.changed.push(endMs)
          const isCoveredNow = endMs <= sentAtMs - settleMs && endMs > (coveredTo[profile] ?? 0)
          if (isCoveredNow) outcome.records += 1
          if (isCoveredNow && at > sentAtMs) outcome.silent += 1
        }
      }
      countLateness(counts, ends, { sentAtMs, formerAtMs, settleMs, covered: [], awaiting: [] })
      coveredTo[profile] = Math.max(coveredTo[profile] ?? 0, sentAtMs - settleMs)
      readAt[profile] = sentAtMs
    }
    byNight.push(counts)
    measuredMs = measure(byNight.slice(-KEPT_DAYS))
    outcome.settleHours.push(Math.round(measuredMs / HOUR))
  }
  return outcome
}

function measure(nights: readonly ReturnType<typeof noLatenessCounts>[]): number {
  const sum = (kind: 'seen' | 'came' | 'changed', bin: number) =>
    nights.reduce((total, counts) => total + (counts[kind][bin] ?? 0), 0)
  const counts = noLatenessCounts().seen.map((_, bin) => ({
    bin,
    seen: sum('seen', bin),
    changes: sum('came', bin) + sum('changed', bin),
  }))
  return settleTimeOf({ counts, days: nights.length, ...fallback }).settleMs
}

test('by measured lateness at most one record in ten thousand changes silently, and fewer days are read again than by 72 hours', () => {
  const law = lognormal(10 * MINUTE, 1.2)
  const [measured, assumed] = [simulate(law, 'measured'), simulate(law, 'by the fallback')]

  expect(measured.records).toBeGreaterThan(1_000_000)
  expect(measured.silent / measured.records).toBeLessThanOrEqual(0.0001)
  expect(measured.daysRead / assumed.daysRead).toBeLessThan(0.85)
  // It stays so: what is not watched any more is still measured by the profiles that are read longest.
  expect(new Set(measured.settleHours.slice(70)).size).toBeLessThan(4)
})

test('an upstream that is later than 72 hours is read longer, and changes silently less often', () => {
  const law = lognormal(2 * HOUR, 1.5)
  const [measured, assumed] = [simulate(law, 'measured'), simulate(law, 'by the fallback')]

  expect(assumed.silent / assumed.records).toBeGreaterThan(0.002)
  expect(measured.settleHours.at(-1)).toBeGreaterThan(100)
  expect(measured.silent / measured.records).toBeLessThan(assumed.silent / assumed.records / 2)
})
