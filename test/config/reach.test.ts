import { expect, test } from 'vitest'
import { pulledStreams } from '../../config/streams.ts'
import type { DerivedKind } from '../../src/base/contract/derivation-state.ts'
import { DAY } from '../../src/base/time/units.ts'
import { daysReachedByKind } from '../../src/service/recompute/reach.ts'

const kinds: Partial<Record<string, DerivedKind>> = {
  scores: 'score',
  biomarkers: 'biomarker',
  archetypes: 'archetype',
  trends: 'trend',
  comparisons: 'comparison',
}
/** A log belongs to a local day, that begins up to a day before or after the UTC day of the same date. */
const ZONE_DAYS = 1

test('a push of a log makes every day due again in which our service may derive something else from it', () => {
  const derived = pulledStreams.filter(({ name }) => kinds[name] !== undefined)
  expect(derived).toHaveLength(5)
  for (const { name, touchedBy } of derived) {
    const { first, last } = daysReachedByKind(kinds[name] ?? 'score', { firstDay: 0, lastDay: 0 })
    const reach = 'data-logs' in touchedBy ? touchedBy['data-logs'] : { beforeMs: 0, afterMs: 0 }
    expect(reach.beforeMs, name).toBeGreaterThanOrEqual((1 + ZONE_DAYS - first) * DAY)
    expect(reach.afterMs, name).toBeGreaterThanOrEqual((1 + ZONE_DAYS + last) * DAY)
  }
})
