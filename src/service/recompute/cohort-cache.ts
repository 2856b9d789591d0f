import { dayNumberAt } from '../../base/time/local-time.ts'
import { DAY } from '../../base/time/units.ts'
import { type Cohort, cohortCellOf, cohortRules, type Quantiles } from '../derive/model/cohort.ts'
import { quantile, roundTo } from '../derive/model/statistics.ts'
import type { ServicePool } from '../store/service-pool.ts'
import { type ProfileMean, readCohort, readProfileMeans, writeCohort } from '../store/stored-cohorts.ts'

/** The days that a profile's mean covers, and the profiles that are read: they bound the cost of one refresh. */
const meanDays = 30
const profilesMax = 5000

/**
 * Caches an account's cohort in memory and in the database for `maxAgeMs`, so that it is computed once for all processes.
 * The first caller after that time computes it again.
 */
export function createCohortCache({ pool, maxAgeMs }: { pool: ServicePool; maxAgeMs: number }) {
  const cached = new Map<string, { computedAtMs: number; cohort: Cohort | null }>()
  return {
    async of(accountId: string, nowAt: Date) {
      const nowMs = nowAt.getTime()
      const isFresh = (computedAtMs: number) => Math.abs(nowMs - computedAtMs) < maxAgeMs
      const kept = cached.get(accountId)
      if (kept && isFresh(kept.computedAtMs)) return kept.cohort
      const stored = await readCohort(pool, accountId)
      if (stored && isFresh(stored.computedAtMs)) {
        cached.set(accountId, stored)
        return stored.cohort
      }
      const sinceAt = new Date(nowMs - meanDays * DAY)
      const cohort = cohortOfMeans(await readProfileMeans(pool, { accountId, sinceAt, profilesMax }), nowAt)
      await writeCohort(pool, { accountId, nowAt, cohort })
      cached.set(accountId, { computedAtMs: nowMs, cohort })
      return cohort
    },
  }
}

function cohortOfMeans(means: readonly ProfileMean[], nowAt: Date): Cohort {
  const today = dayNumberAt(nowAt.getTime(), 0)
  const all = quantilesByName(means, cohortRules.profilesMin)
  const cells = [...Map.groupBy(means, ({ person }) => cohortCellOf(person, today))].flatMap(([cell, means]) => {
    if (cell === null) return []
    const named = means.filter(({ name }) => name in all)
    return [[cell, quantilesByName(named, cohortRules.cellMin)] as const]
  })
  return { all, cells: Object.fromEntries(cells) }
}

/** Groups of fewer than `nMin` values are not even stored, so that no person can be recognized (k-anonymity). */
function quantilesByName(means: readonly ProfileMean[], nMin: number): Record<string, Quantiles> {
  const steps = cohortRules.quantiles - 1
  const shares = Array.from({ length: cohortRules.quantiles }, (_, index) => index / steps)
  const groups = [...Map.groupBy(means, ({ name }) => name)].filter(([, group]) => group.length >= nMin)
  return Object.fromEntries(
    groups.map(([name, group]) => {
      const values = group.map(({ mean }) => mean)
      return [name, { n: values.length, values: shares.map((share) => roundTo(quantile(values, share), 4)) }]
    }),
  )
}
