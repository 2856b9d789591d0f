import { MINUTE } from '../../../base/time/units.ts'
import { nightsOf, ofType, stepMinutes, type TimedLog, tableText, type ZipPart } from './timed-logs.ts'

const PERSON = '1503960366'

/** The logs of a watch and a scale as Fitabase hands them out: local times, written the American way. */
export function fitabaseFiles(timed: readonly TimedLog[]): ZipPart[] {
  const files = {
    minuteStepsNarrow: tableText(['Id', 'ActivityMinute', 'Steps'], ofType(timed, 'steps').flatMap(stepCells)),
    heartrate_seconds: tableText(
      ['Id', 'Time', 'Value'],
      ofType(timed, 'heart_rate').map((sample) => [PERSON, americanText(sample.startMs, sample), sample.log.value]),
    ),
    minuteSleep: tableText(
      ['Id', 'date', 'value', 'logId'],
      nightsOf(timed).flatMap(({ stages }, night) => stages.flatMap((sample) => sleepMinutes(sample, night))),
    ),
    weightLogInfo: tableText(
      ['Id', 'Date', 'WeightKg', 'WeightPounds', 'Fat', 'BMI', 'IsManualReport', 'LogId'],
      ofType(timed, 'weight').map((sample, index) => [
        ...[PERSON, americanText(sample.startMs, sample), sample.log.value, sample.log.value * 2.2046, '', '', 'False'],
        index,
      ]),
    ),
  }
  return Object.entries(files).map(([name, data]) => ({ name: `Fitabase/${name}_merged.csv`, data }))
}

/** `4/12/2016 7:21:00 AM` on the clock of the log. */
function americanText(atMs: number, { wallShiftMs }: TimedLog): string {
  const at = new Date(atMs + wallShiftMs)
  const hour = at.getUTCHours()
  const time = `${hour % 12 === 0 ? 12 : hour % 12}:${at.toISOString().slice(14, 19)} ${hour < 12 ? 'AM' : 'PM'}`
  return `${at.getUTCMonth() + 1}/${at.getUTCDate()}/${at.getUTCFullYear()} ${time}`
}

const minutesOfLog = ({ startMs, endMs }: TimedLog) =>
  Array.from({ length: Math.round((endMs - startMs) / MINUTE) }, (_, index) => startMs + index * MINUTE)

const stepCells = (sample: TimedLog) =>
  stepMinutes(sample).map(({ atMs, steps }) => [PERSON, americanText(atMs, sample), steps])

const sleepMinutes = (sample: TimedLog, night: number) =>
  minutesOfLog(sample).map((atMs) => [
    PERSON,
    americanText(atMs, sample),
    sample.log.dataType === 'sleep_stage_awake' ? 3 : 1,
    11_000 + night,
  ])
