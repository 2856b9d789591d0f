import { MINUTE, SECOND } from '../../base/time/units.ts'
import { declareFormat, endToEnd, type FieldRule, lasting, measure, session } from './declared-format.ts'
import { restingRateOfDay } from './garmin-fit/fit-monitoring.ts'
import { jsonRows, readJsonList, type SourceRow } from './small-files.ts'
import { between, dayBetween, instantAt, lastingFrom, later, momentAt, utc, wallMsIn } from './source-times.ts'
import { fieldsIn, isAnyPositive, isEmpty, listIn, noSleepMeasured, numberIn, textIn } from './source-values.ts'

/** Times named GMT are written without an offset. */
const gmtIn = (value: unknown) => {
  const atMs = typeof value === 'number' ? value : wallMsIn(value)
  return atMs === undefined ? undefined : utc(atMs)
}

/** A day in both clocks: the difference is the offset. */
function dayOf(row: SourceRow) {
  if (isEmpty(row['wellnessStartTimeGmt'])) return { leftOut: 'a day without measurements' }
  if (row['includesWellnessData'] === false) return { leftOut: 'a day in which the watch was not worn' }
  const [gmtMs, localMs] = [wallMsIn(row['wellnessStartTimeGmt']), wallMsIn(row['wellnessStartTimeLocal'])]
  const lengthMs = numberIn(row['durationInMilliseconds'])
  const offsetMinutes = gmtMs === undefined || localMs === undefined ? undefined : (localMs - gmtMs) / MINUTE
  const start = instantAt(localMs, offsetMinutes)
  if (!start || !(lengthMs > 0)) return 'a day without its start in both clocks, or without a length'
  return dayBetween(start, later(start, lengthMs - SECOND))
}

/** The instants are milliseconds of UTC, and of a clock on the wall beside it. */
function activityOf(row: SourceRow) {
  const [atMs, localMs] = [numberIn(row['beginTimestamp']), numberIn(row['startTimeLocal'])]
  const lengthMs = numberIn(isEmpty(row['elapsedDuration']) ? row['duration'] : row['elapsedDuration'])
  if (Number.isNaN(atMs) || !(lengthMs >= 0)) return 'an activity without its start or its length'
  const offsetMinutes = Number.isNaN(localMs) ? 0 : Math.round((localMs - atMs) / MINUTE)
  return lastingFrom({ atMs, offsetMinutes: Math.abs(offsetMinutes) <= 14 * 60 ? offsetMinutes : 0 }, lengthMs)
}

const sleepFields = ['lightSleepSeconds', 'deepSleepSeconds', 'remSleepSeconds'] as const

const confirmationOf = (row: SourceRow): string => textIn(row['sleepWindowConfirmationType']).toUpperCase()
const isManualNight = (row: SourceRow): boolean => confirmationOf(row).startsWith('MANUAL')

/**
 * Why a window of sleep is no sleep; undefined for a night. Where the watch was not worn, or measured nothing, the account has
 * the bedtime of the person’s settings.
 */
function unmeasuredNight(row: SourceRow): string | undefined {
  const confirmation = confirmationOf(row)
  if (confirmation === 'OFF_WRIST') return 'a night in which the watch was not worn (OFF_WRIST)'
  if (confirmation === 'UNCONFIRMED') return 'a default window of sleep that nothing confirmed (UNCONFIRMED)'
  if (isManualNight(row)) return undefined
  const isStaged = sleepFields.some((name) => !isEmpty(row[name]))
  const isMeasured = isStaged ? isAnyPositive(row, sleepFields) : confirmation.includes('CONFIRMED')
  return isMeasured ? undefined : noSleepMeasured.leftOut
}

const isList = (text: string, ...fields: readonly string[]): boolean =>
  /^\s*\[\s*\{/.test(text) && fields.every((field) => text.includes(`"${field}"`))

const activitiesIn = (value: unknown): readonly unknown[] | undefined =>
  Array.isArray(value) ? value.flatMap((list) => listIn(fieldsIn(list)['summarizedActivitiesExport'])) : undefined

/** A weight is in grams within a nested object. */
const weightsIn = (value: unknown): readonly unknown[] | undefined =>
  Array.isArray(value) ? value.map((biometrics) => fieldsIn(biometrics)['weight']) : undefined

const ofDay = { of: ' of a local day' }

const rateOfDay = measure('currentDayRestingHeartRate', 'resting_heart_rate', 'bpm', {
  ...ofDay,
  note: 'with that of FIT one log a day, the latest counts',
})
const meanOfDays = measure('restingHeartRate', 'resting_heart_rate', 'bpm', {
  ...ofDay,
  note: 'a mean of seven days: counts where no file has the rate of the day itself',
})

/** Two measures of one name: the rate of the day itself wins, here and before another file has it. */
const restingRate: FieldRule = {
  recordsOf(row, place, frame) {
    const hasOwn = numberIn(row['currentDayRestingHeartRate']) > 0
    const modifiedMs = (hasOwn ? frame.end : frame.start).atMs
    return (hasOwn ? rateOfDay : meanOfDays).recordsOf(row, place, {
      ...frame,
      ...restingRateOfDay(frame.start, modifiedMs),
    })
  },
  mapping: [...rateOfDay.mapping, ...meanOfDays.mapping],
}

/** The JSON files of a Garmin account's export. Its FIT files are in zips within it. */
export const garminConnect = declareFormat({
  name: 'garmin-connect',
  title: 'Garmin Connect',
  vendor: 'garmin',
  files: 'the zip of an account’s export, with the zips of FIT files in it',
  checked: 'files of our own writer; its fields against programs that others published',
  years: 'none, for no published file was read',
  origin: { source: 'Garmin', deviceType: 'watch', recordingMethod: 'automatically_recorded' },
  kinds: [
    {
      file: 'sleepData',
      recognises: ({ text }) => isList(text, 'sleepStartTimestampGMT', 'calendarDate'),
      rows: readJsonList,
      when(row) {
        const { sleepStartTimestampGMT: start, sleepEndTimestampGMT: end } = row
        if (isEmpty(start)) return { leftOut: 'a day without a night' }
        const leftOut = unmeasuredNight(row)
        if (leftOut !== undefined) return { leftOut }
        return between(gmtIn(start), gmtIn(end)) ?? 'a night without its start or its end'
      },
      frame: (row) => (isManualNight(row) ? { recordingMethod: 'manual_entry' } : {}),
      fields: [
        lasting('sleep_stage_in_bed', 'the night', 'GMT'),
        endToEnd(['awakeSleepSeconds', ...sleepFields], 'seconds', SECOND),
        measure('averageRespiration', 'respiratory_rate', 'breath/min', { note: 'one a night', aggregation: 'avg' }),
      ],
    },
    {
      file: 'UDSFile',
      recognises: ({ text }) =>
        isList(text, 'wellnessStartTimeGmt') || isList(text, 'totalKilocalories', 'durationInMilliseconds'),
      rows: readJsonList,
      when: dayOf,
      frame: () => ({ periodicity: 'daily' }),
      fields: [
        measure('totalSteps', 'steps', 'count', { ...ofDay, aggregation: 'sum' }),
        measure('activeKilocalories', 'active_energy_burned', 'kcal', { ...ofDay, aggregation: 'sum' }),
        measure('totalKilocalories', 'total_energy_burned', 'kcal', { ...ofDay, aggregation: 'sum' }),
        restingRate,
      ],
    },
    {
      file: 'summarizedActivities',
      recognises: ({ text }) => isList(text, 'summarizedActivitiesExport'),
      rows: jsonRows(activitiesIn),
      when: activityOf,
      frame: ({ activityId }) => ({
        recordingMethod: 'actively_recorded',
        ownId: isEmpty(activityId) ? undefined : String(activityId),
      }),
      fields: [session('type', (row) => row['activityType'])],
    },
    {
      file: 'userBioMetrics',
      recognises: ({ text }) => isList(text, 'metaData', 'weight', 'sourceType'),
      rows: jsonRows(weightsIn),
      when: ({ weight, timestampGMT }) =>
        isEmpty(weight)
          ? { leftOut: 'biometrics without a weight' }
          : (momentAt(gmtIn(timestampGMT)) ?? 'a weight without its time'),
      frame: (row) => ({
        deviceType: 'scale',
        ...(/^MFP|MANUAL$/.test(textIn(row['sourceType'])) ? { recordingMethod: 'manual_entry' } : {}),
      }),
      fields: [
        measure('weight', 'weight', 'g', { as: 'weight.weight' }),
        measure('bodyFat', 'body_fat', 'percent', { as: 'weight.bodyFat' }),
        measure('boneMass', 'bone_mass', 'g', { as: 'weight.boneMass' }),
      ],
    },
  ],
  leftOut: [
    ['sums and means of an activity', 'the day has its steps and its energy'],
    ['distances, floors in metres, stress, body battery', 'nothing is derived from them'],
    [
      'sleepData, OFF_WRIST and UNCONFIRMED, or without any sleep',
      'the bedtime of the settings: no device measured it',
    ],
    {
      from: 'sleepData, MANUALLY_CONFIRMED',
      to: 'sleep_stage_in_bed',
      units: 'GMT',
      note: 'is marked as entered by hand',
    },
    ['UDSFile, a day without includesWellnessData', 'its energy is an estimate of the body at rest'],
    [
      'scores and plans',
      'no measurements',
      /(^|\/)(DI_CONNECT\/DI-Connect-(User|Social|Device|Gear|Course|Info)[^/]*\/.*|[^/]*(gear|personalRecord|workout|goal|badge|challenge|course|social|user_(profile|settings|reminders)|EventsSummary|RacePredictions|TrainingHistory|TrainingReadiness|AcuteTrainingLoad|EnduranceScore|HillScore|fitnessAge|HeatAltitudeAcclimation|bioMetricProfile)[^/]*)\.json$/i,
    ],
  ],
})
