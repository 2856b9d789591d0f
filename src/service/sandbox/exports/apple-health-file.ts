import { formatOffset } from '../../../base/time/instant.ts'
import { MINUTE } from '../../../base/time/units.ts'
import type { SampleLog } from '../people/sample-logs.ts'
import { byExercise, type TimedLog, type ZipPart } from './timed-logs.ts'

/** Apple's type and unit of a quantity, and what a value of ours is multiplied by. */
type Quantity = readonly [type: string, unit: string, scale: number]

const quantities: Readonly<Record<string, Quantity>> = {
  steps: ['StepCount', 'count', 1],
  floors_climbed: ['FlightsClimbed', 'count', 1],
  walking_speed: ['WalkingSpeed', 'km/hr', 3.6],
  walking_step_length: ['WalkingStepLength', 'cm', 100],
  heart_rate: ['HeartRate', 'count/min', 1],
  resting_heart_rate: ['RestingHeartRate', 'count/min', 1],
  heart_rate_variability_sdnn: ['HeartRateVariabilitySDNN', 'ms', 1],
  oxygen_saturation: ['OxygenSaturation', '%', 1],
  vo2_max: ['VO2Max', 'mL/min·kg', 1],
  respiratory_rate: ['RespiratoryRate', 'count/min', 1],
  active_energy_burned: ['ActiveEnergyBurned', 'kcal', 1],
  basal_energy_burned: ['BasalEnergyBurned', 'kcal', 1],
  sleeping_wrist_temperature: ['AppleSleepingWristTemperature', 'degC', 1],
  weight: ['BodyMass', 'kg', 1],
  body_fat: ['BodyFatPercentage', '%', 0.01],
  body_mass_index: ['BodyMassIndex', 'count', 1],
}

const sleepValues: Readonly<Record<string, string>> = {
  sleep_stage_in_bed: 'InBed',
  sleep_stage_awake: 'Awake',
  sleep_stage_light: 'AsleepCore',
  sleep_stage_deep: 'AsleepDeep',
  sleep_stage_rem: 'AsleepREM',
}

const workouts = byExercise({
  running: 'Running',
  strength_training: 'TraditionalStrengthTraining',
  cycling: 'Cycling',
  swimming: 'Swimming',
  yoga: 'Yoga',
})

/** Apple Health has no record for RMSSD, and none for the lock of a phone. */
const isExportable = ({ log }: TimedLog): boolean =>
  [quantities, sleepValues, workouts].some((types) => Object.hasOwn(types, log.dataType))

/** A person's logs as Apple Health exports them: each date-time in the one offset of the day of the export. */
export function appleHealthFiles(timed: readonly TimedLog[], offsetMinutes: number): ZipPart[] {
  const records = timed.filter(isExportable).map(({ log, startMs, endMs }, index) => {
    const [start, end] = [appleDate(startMs, offsetMinutes), appleDate(endMs, offsetMinutes)]
    const dates = `creationDate="${end}" startDate="${start}" endDate="${end}"`
    // Each record has another address, as on a phone.
    const device = `&lt;&lt;HKDevice: 0x${(0x280000000 + index * 64).toString(16)}&gt;, name:${log.deviceType}, model:${log.deviceType}, software:9.1&gt;`
    return elementOf(log, `sourceName="${log.source}" sourceVersion="9.1" device="${device}" ${dates}`)
  })
  const exportDate = appleDate(timed.at(-1)?.endMs ?? Date.UTC(2026, 0), offsetMinutes)
  const text = `${head}<HealthData locale="en_GB">\n <ExportDate value="${exportDate}"/>\n${records.join('')}</HealthData>\n`
  return [{ name: 'apple_health_export/export.xml', data: Buffer.from(text) }]
}

const head = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE HealthData [
<!-- HealthKit Export Version: 14 -->
<!ELEMENT HealthData (ExportDate,Me,(Record|Correlation|Workout|ActivitySummary)*)>
]>
`

function elementOf({ dataType, value }: SampleLog, shared: string): string {
  const quantity = quantities[dataType]
  if (quantity) {
    const [type, unit, scale] = quantity
    const amount = Number((value * scale).toFixed(6))
    return ` <Record type="HKQuantityTypeIdentifier${type}" unit="${unit}" ${shared} value="${amount}"/>\n`
  }
  const stage = sleepValues[dataType]
  if (stage)
    return ` <Record type="HKCategoryTypeIdentifierSleepAnalysis" ${shared} value="HKCategoryValueSleepAnalysis${stage}"/>\n`
  return ` <Workout workoutActivityType="HKWorkoutActivityType${workouts[dataType]}" duration="${value}" durationUnit="min" ${shared}/>\n`
}

function appleDate(epochMs: number, offsetMinutes: number): string {
  const local = new Date(epochMs + offsetMinutes * MINUTE).toISOString()
  return `${local.slice(0, 10)} ${local.slice(11, 19)} ${formatOffset(offsetMinutes).replace(':', '')}`
}
