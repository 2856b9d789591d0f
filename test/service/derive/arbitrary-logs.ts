import fc from 'fast-check'
import { namedUuid } from '../../../src/base/text/digest.ts'
import { DAY } from '../../../src/base/time/units.ts'
import type { DataLog } from '../../../src/service/derive/day/parsed-log.ts'

/** A Monday. */
const firstMs = Date.parse('2026-03-02T00:00:00Z')
export const asOfMs = firstMs + 40 * DAY

const kinds = [
  { dataType: 'steps', most: 3000, minutes: 90 },
  { dataType: 'floors_climbed', most: 10, minutes: 60 },
  { dataType: 'active_energy_burned', most: 300, minutes: 60 },
  { dataType: 'sleep_stage_in_bed', most: 1, minutes: 600 },
  { dataType: 'sleep_stage_light', most: 1, minutes: 240 },
  { dataType: 'sleep_stage_deep', most: 1, minutes: 120 },
  { dataType: 'sleep_stage_awake', most: 1, minutes: 30 },
  { dataType: 'heart_rate', most: 160, minutes: 0 },
  { dataType: 'resting_heart_rate', most: 90, minutes: 0 },
  { dataType: 'heart_rate_variability_rmssd', most: 90, minutes: 0 },
  { dataType: 'exercise_session_running', most: 60, minutes: 60 },
  { dataType: 'weight', most: 120, minutes: 0 },
  { dataType: 'height', most: 2, minutes: 0 },
] as const

type Made = Pick<DataLog, 'dataType' | 'value' | 'deviceType' | 'startMs' | 'endMs'> & {
  offset: number
  serial: number
}

function logFrom({ offset, serial, ...made }: Made): DataLog {
  return {
    id: namedUuid('0bb7a3a0-2b5c-5d35-8a05-1f9a3e1b2c3d', [JSON.stringify(made), String(serial)]),
    parentId: null,
    unit: 'count',
    source: `${made.deviceType}-app`,
    recordingMethod: 'automatically_recorded',
    deviceId: null,
    periodicity: null,
    startOffset: offset,
    endOffset: offset,
    modifiedMs: null,
    ...made,
  }
}

/** A log at any minute of three weeks, of any kind, device and offset. The logs need not be plausible. */
export const anyLog: fc.Arbitrary<DataLog> = fc
  .record({
    kind: fc.constantFrom(...kinds),
    minute: fc.integer({ min: 0, max: 21 * 1440 }),
    length: fc.integer({ min: 1, max: 100 }),
    share: fc.integer({ min: 1, max: 1000 }),
    deviceType: fc.constantFrom('watch', 'phone', 'ring'),
    offset: fc.constantFrom(0, 60, 120, -480, 780, 330),
    serial: fc.nat(),
  })
  .map(({ kind, minute, length, share, deviceType, offset, serial }) => {
    const startMs = firstMs + minute * 60_000
    const endMs = startMs + Math.ceil((kind.minutes * length) / 100) * 60_000
    const value = Math.ceil((kind.most * share) / 10) / 100
    return logFrom({ dataType: kind.dataType, value, deviceType, startMs, endMs, offset, serial })
  })

/** Thirty days of one person: nights in stages, walks that watch and phone both count, heart rate, variability, runs. */
const anyLife: fc.Arbitrary<DataLog[]> = fc
  .record({
    offset: fc.constantFrom(0, 60, -480, 780),
    habits: fc.array(fc.integer({ min: 0, max: 99 }), { minLength: 97, maxLength: 97 }),
  })
  .map(({ offset, habits }) => {
    let turn = 0
    const some = () => {
      turn += 1
      return habits[turn % habits.length] ?? 0
    }
    return Array.from({ length: 30 }, (_, place) =>
      dayOf({ midnight: firstMs + place * DAY - offset * 60_000, offset, place, some }),
    ).flat()
  })

function dayOf({
  midnight,
  offset,
  place,
  some,
}: {
  midnight: number
  offset: number
  place: number
  some: () => number
}): DataLog[] {
  const log = (dataType: string, [from, minutes, value]: readonly [number, number, number], deviceType = 'watch') =>
    logFrom({
      dataType,
      value,
      deviceType,
      startMs: midnight + from * 60_000,
      endMs: midnight + (from + minutes) * 60_000,
      offset,
      serial: place,
    })
  const onset = some() - 90
  const [light, deep, rem] = [200 + some(), 40 + some(), 60 + some()]
  const [walk, steps] = [480 + some(), 20 * some()]
  return [
    log('sleep_stage_light', [onset, light, 1]),
    log('sleep_stage_deep', [onset + light, deep, 1]),
    log('sleep_stage_awake', [onset + light + deep, 1 + (some() % 20), 1]),
    log('sleep_stage_rem', [onset + light + deep + 21, rem, 1]),
    log('steps', [walk, 60, 500 + steps]),
    log('steps', [walk + 30, 60, 400 + steps], 'phone'),
    log('steps', [1050, 60, 3000 + 20 * some()], 'phone'),
    log('floors_climbed', [walk, 30, some() % 12]),
    log('active_energy_burned', [walk, 300, 100 + 2 * some()]),
    log('resting_heart_rate', [420, 0, 50 + (some() % 15)]),
    ...[60, 120, 180].map((minute) => log('heart_rate_variability_rmssd', [minute, 0, 30 + (some() % 40)])),
    ...Array.from({ length: 48 }, (_, half) => log('heart_rate', [half * 30, 29, 60 + (some() % 50)])),
    ...(some() < 40 ? [log('exercise_session_running', [1080, 20 + (some() % 40), 1])] : []),
  ]
}

const strayLogs = fc.array(anyLog, { minLength: 1, maxLength: 60 })

/** Stray logs at the quarters of two hours: many have the same start and length, so that ties must be broken. */
export const overlappingLogs = fc.array(anyLog, { minLength: 40, maxLength: 120 }).map((logs) =>
  logs.map((log) => {
    const startMs = firstMs + (Math.floor((log.startMs - firstMs) / 900_000) % 8) * 900_000
    const length = Math.min(1, Math.ceil((log.endMs - log.startMs) / 900_000)) * 900_000
    return { ...log, startMs, endMs: startMs + length }
  }),
)

/**
 * Stray logs, overlapping logs, or a life with some stray logs in it. Stray logs find crashes, overlapping logs find results
 * that depend on the order of arrival, and a life has scores that can change.
 */
export const anyLogs: fc.Arbitrary<DataLog[]> = fc.oneof(
  { weight: 1, arbitrary: strayLogs },
  { weight: 1, arbitrary: overlappingLogs },
  {
    weight: 2,
    arbitrary: fc.tuple(anyLife, fc.array(anyLog, { maxLength: 10 })).map(([life, more]) => [...life, ...more]),
  },
)
