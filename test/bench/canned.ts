import { hash } from 'node:crypto'
import { ordinalArchetypes } from '../../src/base/contract/archetype.ts'
import { scoreTypes } from '../../src/base/contract/score.ts'
import { DAY } from '../../src/base/time/units.ts'

/** The five derived streams of a cold pull, each with one record a day for thirty days, in the shapes upstream sends. */
export const pulledNames = ['scores', 'biomarkers', 'archetypes', 'trends', 'comparisons'] as const
export type PulledName = (typeof pulledNames)[number]

export const days = 30
export const recordsPerProfile = days * pulledNames.length
/** The share of a profile's records that differ in the changed variant: two in a hundred. */
export const changedPerProfile = 3

/** The first of the thirty days: they end with today, so that the newest are not yet settled. */
export const firstDay = (nowMs: number): number => Math.floor(nowMs / DAY) * DAY - (days - 1) * DAY

type Draft = { at: (day: number) => string; id: string; changed: boolean }

type CannedOptions = { fromMs: number; changed: boolean; perDay?: number }

/** `perDay`: how many records each day has, each of another kind. */
export function cannedBody(stream: PulledName, { perDay = 1, ...options }: CannedOptions): string {
  const records = Array.from({ length: days * perDay }, (_, index) => {
    const day = days - 1 - Math.floor(index / perDay) // newest first, as upstream sends them
    const kind = index % perDay
    const at = (add: number) => new Date(options.fromMs + (day + add) * DAY).toISOString().replace('.000Z', '+00:00')
    const id = `${String(day).padStart(8, '0')}-aaaa-4bbb-8ccc-0123456789ab`
    const changed = options.changed && changes[stream] === day && kind === 0
    const record = recordOf[stream]({ at, id, changed })
    return kind === 0 ? record : { ...record, ...otherKinds[stream][kind - 1] }
  })
  return JSON.stringify(records)
}

const scoreNames = scoreTypes.filter((type) => type !== 'sleep')
const durations = ['active', 'activity_low_intensity', 'activity_medium_intensity', 'activity_high_intensity']
/** Fields that make a record one of another kind. The specification knows these kinds, in their units. */
const otherKinds: Record<PulledName, readonly object[]> = {
  scores: scoreNames.map((type) => ({ type })),
  biomarkers: durations.map((of) => ({ type: `${of}_duration`, unit: 'minute' })),
  archetypes: Object.entries(ordinalArchetypes)
    .filter(([name]) => name !== 'activity_level')
    .map(([name, [value]]) => ({ name, value })),
  trends: scoreNames.map((name) => ({ name })),
  comparisons: scoreNames.map((name) => ({ name })),
}

/** Which day's record has another value in the changed variant. */
const changes: Partial<Record<PulledName, number>> = { scores: 5, biomarkers: 7, comparisons: 9 }

const recordOf: Record<PulledName, (draft: Draft) => object> = {
  scores: ({ at, id, changed }) => ({
    id,
    type: 'sleep',
    value: changed ? 0.7312 : 0.7313,
    state: 'medium',
    createdAt: at(0.25),
    factors: [
      'sleep_duration',
      'extended_inactivity',
      'sleep_continuity',
      'circadian_alignment',
      'physical_recovery',
    ].map((name, index) => ({
      id: `${id}-${index}`,
      name,
      value: 431.5,
      goal: 480,
      score: 0.82,
      state: 'high',
      unit: 'minute',
    })),
    scoreDateTime: at(0),
    dataSources: ['age', 'gender', 'sleep'],
    version: 3,
  }),
  biomarkers: ({ at, id, changed }) => ({
    id,
    category: 'activity',
    type: 'steps',
    periodicity: 'daily',
    aggregation: 'total',
    value: changed ? '8731' : '8730',
    unit: 'count',
    valueType: 'integer',
    startDateTime: at(0),
    endDateTime: at(0.999),
  }),
  archetypes: ({ at, id }) => ({
    id,
    name: 'activity_level',
    value: 'moderately_active',
    dataType: 'ordinal',
    ordinality: 2,
    periodicity: 'weekly',
    startDateTime: at(0),
    endDateTime: at(0.99),
    version: 2,
  }),
  trends: ({ at, id }) => ({
    id,
    type: 'trend',
    category: 'score',
    name: 'sleep',
    state: 'stable',
    isHigherBetter: true,
    unit: 'index',
    periodicity: 'weekly',
    trendStartDateTime: at(0),
    trendEndDateTime: at(0.99),
    data: [0, 1, 2, 3].map((week) => ({
      startDateTime: at(week * 0.2),
      endDateTime: at(week * 0.2 + 0.2),
      value: 0.71,
      percentChangeFromPrevious: week === 0 ? null : 0.013,
    })),
  }),
  comparisons: ({ at, id, changed }) => ({
    id,
    type: 'comparison',
    category: 'score',
    name: 'sleep',
    value: changed ? 0.72 : 0.71,
    unit: 'index',
    isHigherBetter: true,
    periodicity: 'daily',
    startDateTime: at(0),
    endDateTime: at(0.99),
    data: ['baseline', 'demographic', 'global'].map((type) => ({
      type,
      value: 0.69,
      percentile: type === 'baseline' ? null : 61,
      difference: 0.02,
      percentageDifference: 0.0289,
      state: 'average',
    })),
  }),
}

/** One data log as a phone would send it. */
export function cannedLog(index: number, startMs: number): { id: string; body: string } {
  const id = idOf(index)
  const startDateTime = new Date(startMs).toISOString()
  const endDateTime = new Date(startMs + 60_000).toISOString()
  const source = { source: 'com.example.health', recordingMethod: 'automatically_recorded', deviceType: 'watch' }
  const log = { id, logType: 'heart', dataType: 'heart_rate', value: 60 + (index % 40), unit: 'bpm', ...source }
  return { id, body: JSON.stringify({ ...log, startDateTime, endDateTime }) }
}

/** As random to look at as the ids of real logs, which no compression makes shorter. */
function idOf(index: number): string {
  const hex = hash('md5', String(index))
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`
}
