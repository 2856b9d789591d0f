import { HOUR, MINUTE, SECOND } from '../../base/time/units.ts'
import { declareFormat, type FieldRule, lasting, measure, session } from './declared-format.ts'
import type { FileHead } from './export-format.ts'
import type { MeasureName } from './measures.ts'
import { jsonRows, readJsonList, type SourceRow } from './small-files.ts'
import { instantAt, instantsIn, lastingFrom, later, localDay, localFrom, wallMsIn } from './source-times.ts'
import {
  faultOf,
  fieldsIn,
  isEmpty,
  lastingRecord,
  listIn,
  noSleepMeasured,
  numberIn,
  textIn,
} from './source-values.ts'

const states: Readonly<Record<string, MeasureName>> = {
  WAKE: 'sleep_stage_awake',
  REM: 'sleep_stage_rem',
  NONREM1: 'sleep_stage_light',
  NONREM2: 'sleep_stage_light',
  NONREM3: 'sleep_stage_deep',
  UNKNOWN: 'sleep_stage_unknown',
}
const STATES_MAX = 5000

const isoDuration = /^PT(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?$/

/** `PT1H30M5S` in milliseconds. */
function durationIn(value: unknown): number {
  const match = isoDuration.exec(textIn(value))
  if (!match) return Number.NaN
  const [hours = 0, minutes = 0, seconds = 0] = match.slice(1).map((digits) => Number(digits ?? 0))
  return hours * HOUR + minutes * MINUTE + seconds * SECOND
}

/** The samples of a day, each with the day: a file has one day of steps, or many of heart rates. */
const stepsIn = (value: unknown): readonly unknown[] | undefined => {
  const { date, samples } = fieldsIn(value)
  return samples === undefined
    ? undefined
    : listIn(fieldsIn(samples)['steps']).map((step) => ({ ...fieldsIn(step), date }))
}
const beatsIn = (value: unknown): readonly unknown[] | undefined => {
  const { deviceDays } = fieldsIn(value)
  if (!Array.isArray(deviceDays)) return undefined
  return deviceDays
    .map(fieldsIn)
    .flatMap(({ date, samples }) => listIn(samples).map((beat) => ({ ...fieldsIn(beat), date })))
}

const hypnogramIn = (row: SourceRow) => fieldsIn(fieldsIn(row['sleepResult'])['hypnogram'])

const asleepStates = Object.keys(states).filter((state) => state.includes('REM'))

/** A night has its time asleep, and of newer watches its states. Time whose state is unknown was not measured. */
const isAsleepIn = (row: SourceRow): boolean =>
  durationIn(fieldsIn(row['evaluation'])['asleepDuration']) > 0 ||
  listIn(hypnogramIn(row)['sleepStateChanges']).some((change) =>
    asleepStates.includes(textIn(fieldsIn(change)['state'])),
  )

/** A state lasts until the next; a last one may lie beyond the night, and marks its end. */
const stateChanges: FieldRule = {
  recordsOf(row, place, frame) {
    const lengthMs = frame.end.atMs - frame.start.atMs
    const changes = listIn(hypnogramIn(row)['sleepStateChanges'])
      .slice(0, STATES_MAX)
      .map(fieldsIn)
      .map(({ offsetFromStart, state }) => ({ fromMs: durationIn(offsetFromStart), stage: states[textIn(state)] }))
    if (changes.some(({ fromMs, stage }) => Number.isNaN(fromMs) || stage === undefined))
      return faultOf(place, 'a state of sleep that is not known, or its time', {})
    return changes.flatMap(({ fromMs, stage }, index) => {
      const untilMs = Math.min(changes[index + 1]?.fromMs ?? lengthMs, lengthMs)
      if (!stage || untilMs <= fromMs) return []
      const [start, end] = [later(frame.start, fromMs), later(frame.start, untilMs)]
      return [lastingRecord(place, stage, { ...frame, start, end })]
    })
  },
  mapping: Object.entries(states).map(([state, to]) => ({ from: state, to, units: 'until the next state' })),
}

const recognises =
  (beginning: RegExp, ...others: readonly RegExp[]) =>
  ({ text }: FileHead): boolean =>
    [beginning, ...others].every((pattern) => pattern.test(text))

/** Polar Flow: the JSON files of an account's export. */
export const polar = declareFormat({
  name: 'polar',
  title: 'Polar Flow',
  vendor: 'polar',
  files: 'the zip of an account’s export',
  checked: 'files of our own writer; its fields against descriptions that others published',
  years: 'none, for no published file was read',
  origin: { source: 'Polar', deviceType: 'watch', recordingMethod: 'automatically_recorded' },
  kinds: [
    {
      file: 'activity-DATE',
      recognises: recognises(/^\s*\{/, /"localTime"\s*:/, /"(mets|steps)"\s*:\s*\[/),
      rows: jsonRows(stepsIn),
      when({ date, localTime, value }, options) {
        const wallMs = Number.isNaN(numberIn(value)) ? undefined : wallMsIn(`${textIn(date)}T${textIn(localTime)}`)
        return localFrom(wallMs, options, MINUTE) ?? 'a minute without time or number'
      },
      fields: [
        measure('value', 'steps', 'count', {
          as: 'samples.steps',
          of: ' a minute, local',
          note: 'minutes of 0 are left out',
          zero: 'no steps, as minutes have in which it was not worn',
        }),
      ],
    },
    {
      file: '247ohr',
      recognises: recognises(/^\s*\{\s*"deviceDays"\s*:\s*\[/),
      rows: jsonRows(beatsIn),
      when({ date, secondsFromDayStart, heartRate }, options) {
        const [dayMs, seconds] = [wallMsIn(date), numberIn(secondsFromDayStart)]
        const isWhole = dayMs !== undefined && seconds >= 0 && !Number.isNaN(numberIn(heartRate))
        return (
          localFrom(isWhole ? dayMs + seconds * SECOND : undefined, options) ?? 'a heart rate without time or number'
        )
      },
      fields: [measure('heartRate', 'heart_rate', 'bpm', { of: ', local' })],
    },
    {
      file: 'sleep_result',
      recognises: recognises(/^\s*\[/, /"night"\s*:/, /"(sleepResult|evaluation)"\s*:/),
      rows: readJsonList,
      when(row) {
        if (!isAsleepIn(row)) return noSleepMeasured
        const { sleepStart, sleepEnd } = hypnogramIn(row)
        return instantsIn(sleepStart, sleepEnd) ?? 'a night without sleepStart or sleepEnd'
      },
      fields: [lasting('sleep_stage_in_bed', 'the night', 'from sleepStart to sleepEnd'), stateChanges],
    },
    {
      // The file holds the day of a night, not its time.
      file: 'nightly_recovery',
      recognises: recognises(/^\s*\[/, /"meanNightlyRecovery\w+"\s*:/),
      rows: readJsonList,
      when({ night, meanNightlyRecoveryRmssd: variability }, options) {
        const day = localDay(wallMsIn(night), options)
        return day && isEmpty(variability)
          ? { leftOut: 'a night without variability' }
          : (day ?? 'a night without a date')
      },
      frame: () => ({ periodicity: 'daily', aggregation: 'avg' }),
      fields: [measure('meanNightlyRecoveryRmssd', 'heart_rate_variability_rmssd', 'ms', { of: ' of a local day' })],
    },
    {
      // Times are of the clock on the wall; older files have no offset beside them.
      file: 'training-session',
      recognises: recognises(/^\s*\{/, /"startTime"\s*:/, /"stopTime"\s*:/),
      rows: jsonRows((value) => [value]),
      when(row, { localInstant }) {
        const [startMs, stopMs] = [wallMsIn(row['startTime']), wallMsIn(row['stopTime'])]
        if (startMs === undefined || stopMs === undefined) return 'a session without startTime or stopTime'
        const offset = row['timezoneOffsetMinutes'] ?? row['timeZoneOffset']
        const start = isEmpty(offset) ? localInstant(startMs) : instantAt(startMs, numberIn(offset))
        if (!start || Number.isNaN(start.atMs) || Math.abs(start.offsetMinutes) > 14 * 60)
          return 'a session whose offset is none'
        return lastingFrom(start, stopMs - startMs)
      },
      frame: ({ identifier }) => ({
        recordingMethod: 'actively_recorded',
        ownId: textIn(fieldsIn(identifier)['id']) || undefined,
      }),
      fields: [
        session(
          'sport',
          ({ exercises }) => textIn(fieldsIn(listIn(exercises)[0])['sport']).toLowerCase(),
          'local, with an offset where it is written',
        ),
      ],
    },
  ],
  leftOut: [
    { from: 'training-session without a name of its sport', to: 'exercise_session_other', units: 'local' },
    ['sleep_result, a night without time asleep', 'no sleep was measured in it'],
    ['activity-DATE, summary', 'sums of its samples'],
    ['the samples of a training-session', '247ohr has the heart rate of the day'],
    [
      'sleep_score, the scores of nightly_recovery',
      'no measurements',
      /(^|\/)(sleep_score|account-(data|profile)|calendar-items|products-devices|sport-profiles|favourite-targets|planned-route|training-target|programs?)[^/]*\.json$/,
    ],
    ['nightly_recovery_blob', 'its samples name no night', /(^|\/)nightly_recovery_blob[^/]*\.json$/],
    ['ppi_samples', 'intervals of single beats', /(^|\/)ppi_samples[^/]*\.json$/],
  ],
})
