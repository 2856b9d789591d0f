import { type Cohort, cellOf, cohortRules, type Quantiles } from '../derive/cohort.ts'
import { dayAt } from '../derive/local-time.ts'
import { quantile, roundTo } from '../derive/statistics.ts'
import { type PersonMean, personMeans, readCohort, writeCohort } from '../store/cohorts.ts'
import type { Pool } from '../store/pool.ts'

/** Days that a person's mean is taken over, people that are looked at: what one refresh costs is bounded by these. */
const daysBack = 30
const profilesMax = 5000

export type Cohorts = { of(accountId: string, now: Date): Promise<Cohort | null> }

/** An account's cohort, computed at most once in `maxAgeMs` by whoever needs it first; what stands is used meanwhile. */
export function openCohorts({ pool, maxAgeMs }: { pool: Pool; maxAgeMs: number }): Cohorts {
  const known = new Map<string, { at: number; cohort: Cohort | null }>()
  return {
    async of(accountId, now) {
      const fresh = known.get(accountId)
      if (fresh && Math.abs(now.getTime() - fresh.at) < maxAgeMs) return fresh.cohort
      const stored = await readCohort(pool, accountId)
      if (stored && Math.abs(now.getTime() - stored.computedAt) < maxAgeMs) {
        known.set(accountId, { at: stored.computedAt, cohort: stored.cohort })
        return stored.cohort
      }
      const since = new Date(now.getTime() - daysBack * 86_400_000)
      const cohort = cohortFrom(await personMeans(pool, { accountId, since, profilesMax }), now)
      await writeCohort(pool, { accountId, now, cohort })
      known.set(accountId, { at: now.getTime(), cohort })
      return cohort
    },
  }
}

export function cohortFrom(means: readonly PersonMean[], now: Date): Cohort {
  const all = new Map<string, number[]>()
  const cells = new Map<string, Map<string, number[]>>()
  for (const { name, mean, person } of means) {
    put(all, name, mean)
    const cell = cellOf(person, dayAt(now.getTime(), 0))
    if (cell === null) continue
    const own = cells.get(cell) ?? new Map<string, number[]>()
    cells.set(cell, own)
    put(own, name, mean)
  }
  const whole = quantilesOf(all, cohortRules.profilesMin)
  const known = [...cells].map(([cell, own]) => {
    const large = new Map([...own].filter(([name]) => name in whole))
    return [cell, quantilesOf(large, cohortRules.cellMin)] as const
  })
  return { all: whole, cells: Object.fromEntries(known) }
}

function put(groups: Map<string, number[]>, name: string, value: number): void {
  const there = groups.get(name)
  if (there) there.push(value)
  else groups.set(name, [value])
}

/** Groups too small to hide in are not even written down. */
function quantilesOf(groups: ReadonlyMap<string, readonly number[]>, nMin: number): Record<string, Quantiles> {
  return Object.fromEntries(
    [...groups]
      .filter(([, values]) => values.length >= nMin)
      .map(([name, values]) => {
        const steps = cohortRules.quantiles - 1
        const shares = Array.from({ length: cohortRules.quantiles }, (_, place) => place / steps)
        return [name, { n: values.length, values: shares.map((share) => roundTo(quantile(values, share), 4)) }]
      }),
  )
}
