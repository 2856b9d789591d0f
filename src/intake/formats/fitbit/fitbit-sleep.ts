import { parseInstant } from '../../../base/time/instant.ts'
import { intersect, type Span, subtract, union } from '../../../base/time/spans.ts'
import { HOUR, MINUTE, SECOND } from '../../../base/time/units.ts'
import type { HealthRecord, ReadOptions, RecordPlace } from '../export-format.ts'
import type { MeasureName } from '../measures.ts'
import type { SourceRow } from '../small-files.ts'
import { fieldsIn, noSleepMeasured } from '../source-values.ts'

type Level = Span & { readonly dataType: MeasureName | typeof UNMEASURED }

/** Time within a night that the device did not measure: it is no level, but the clock goes on in it. */
const UNMEASURED = 'unknown'

/** Levels of nights with stages, and of classic nights, in which restless minutes do not count as asleep. */
export const fitbitLevels: Readonly<Record<string, MeasureName>> = {
  wake: 'sleep_stage_awake',
  light: 'sleep_stage_light',
  deep: 'sleep_stage_deep',
  rem: 'sleep_stage_rem',
  asleep: 'sleep_stage_sleeping',
  restless: 'sleep_stage_awake',
  awake: 'sleep_stage_awake',
}

const LEVELS_MAX = 5000
/** The export does not say which of Fitbit's devices measured. */
export const fitbitDevice = {
  source: 'Fitbit',
  deviceType: 'fitness_band',
  recordingMethod: 'automatically_recorded',
} as const

const isAsleep = ({ dataType }: Level): boolean => dataType !== UNMEASURED && dataType !== 'sleep_stage_awake'

/**
 * A night: the time in bed, and its levels. Short wakes are listed beside the levels and overlap them, so the levels
 * are cut where a short wake is: no minute counts twice. Only the start is placed by the clock on the wall; the rest is as
 * long after it as it took, for the clock may change in the night.
 */
export function sleepRecords(
  night: SourceRow,
  place: RecordPlace,
  { localInstant }: ReadOptions,
): readonly HealthRecord[] {
  const [startWallMs, endWallMs] = [wallMs(night['startTime']), wallMs(night['endTime'])]
  const levels = fieldsIn(night['levels'])
  const data = levelsIn(levels['data'])
  const wakes = levelsIn(levels['shortData'])
  if (startWallMs === undefined || endWallMs === undefined || !data || !wakes)
    return [{ place, fault: 'a night without times, or with a level that is not known', text: '' }]
  const { duration, logType } = night
  const isManual = logType === 'manual'
  if (!data.some(isAsleep) && !isManual) return [{ place, ...noSleepMeasured }]
  const lengthMs = typeof duration === 'number' && duration > 0 ? duration : endWallMs - startWallMs
  const elapsed = elapsedSince(startWallMs, data)
  const whole = { startMs: 0, endMs: lengthMs }
  // Short wakes may overlap one another, and levels may reach beyond the night: no minute counts twice, or outside.
  const short = intersect(union(wakes.map(elapsed)), [whole]).map((wake) => ({
    ...wake,
    dataType: 'sleep_stage_awake' as const,
  }))
  const within = data
    .map(elapsed)
    .flatMap(({ dataType, ...span }) =>
      dataType === UNMEASURED ? [] : intersect([span], [whole]).map((part) => ({ ...part, dataType })),
    )
  const { atMs, offsetMinutes } = localInstant(startWallMs)
  const device = isManual ? { ...fitbitDevice, recordingMethod: 'manual_entry' as const } : fitbitDevice
  const inBed = { ...whole, dataType: 'sleep_stage_in_bed' } as const
  return [inBed, ...cutBy(short, within), ...short].map(({ dataType, startMs, endMs }) => {
    const at = (sinceMs: number) => ({ atMs: atMs + sinceMs, offsetMinutes })
    const value = (endMs - startMs) / MINUTE
    return { place, draft: { dataType, value, start: at(startMs), end: at(endMs), origin: device } }
  })
}

type MeasuredLevel = Span & { readonly dataType: MeasureName }

function cutBy(wakes: readonly Span[], levels: readonly MeasuredLevel[]): MeasuredLevel[] {
  const holes = union(wakes)
  return levels.flatMap(({ dataType, ...span }) => subtract([span], holes).map((rest) => ({ ...rest, dataType })))
}

/** Levels follow one another without a gap, so a gap or an overlap of an hour is a change of the clock. */
function elapsedSince(startWallMs: number, data: readonly Level[]): (level: Level) => Level {
  const jumps = [{ fromWallMs: Number.NEGATIVE_INFINITY, shiftMs: startWallMs }]
  for (const [index, level] of data.entries()) {
    const gapMs = level.startMs - (data[index - 1]?.endMs ?? level.startMs)
    const last = jumps.at(-1)
    if (Math.abs(gapMs) === HOUR && last) jumps.push({ fromWallMs: level.startMs, shiftMs: last.shiftMs + gapMs })
  }
  return ({ startMs, endMs, dataType }) => {
    const { shiftMs } = jumps.findLast(({ fromWallMs }) => fromWallMs <= startMs) ?? { shiftMs: startWallMs }
    return { startMs: startMs - shiftMs, endMs: endMs - shiftMs, dataType }
  }
}

/** Undefined when a level is not known, or there are too many. */
function levelsIn(list: unknown = []): Level[] | undefined {
  if (!Array.isArray(list) || list.length > LEVELS_MAX) return undefined
  const levels: Level[] = []
  for (const entry of list) {
    const { dateTime, level, seconds } = fieldsIn(entry)
    const startMs = wallMs(dateTime)
    const isKnown = typeof level === 'string' && Object.hasOwn(fitbitLevels, level)
    const dataType = isKnown ? fitbitLevels[level] : level === UNMEASURED ? UNMEASURED : undefined
    if (startMs === undefined || !dataType || typeof seconds !== 'number' || !(seconds > 0)) return undefined
    levels.push({ startMs, endMs: startMs + seconds * SECOND, dataType })
  }
  return levels
}

/** `2024-01-01T23:10:30.000`, without an offset, as the milliseconds of a clock that shows it. */
const wallMs = (text: unknown): number | undefined =>
  typeof text === 'string' ? parseInstant(text)?.epochMs : undefined
