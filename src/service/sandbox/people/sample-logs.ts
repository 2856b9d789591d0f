import type { DataLogInput } from '../../../base/contract/data-log.ts'
import { formatInstant } from '../../../base/time/instant.ts'
import type { Span } from '../../../base/time/spans.ts'
import { MINUTE } from '../../../base/time/units.ts'
import { type SamplePerson, sampleIdOf } from './sample-person.ts'
import type { Timeline } from './timeline.ts'

/** A data log as a client of the service posts it, always with its own id. */
export type SampleLog = DataLogInput & { id: string }

export type SampleDevice = Pick<SampleLog, 'deviceType' | 'source' | 'recordingMethod'>

/** The measures of the sample devices: log type, unit, and digits after the decimal point. */
const sampleMeasures = {
  steps: ['activity', 'count', 0],
  floors_climbed: ['activity', 'count', 0],

  walking_speed: ['activity', 'm/s', 2],
  walking_step_length: ['activity', 'm', 2],
  sleep_stage_in_bed: ['sleep', 'minute', 0],
  sleep_stage_awake: ['sleep', 'minute', 0],
  sleep_stage_light: ['sleep', 'minute', 0],
  sleep_stage_deep: ['sleep', 'minute', 0],
  sleep_stage_rem: ['sleep', 'minute', 0],
  heart_rate: ['heart', 'bpm', 0],
  resting_heart_rate: ['heart', 'bpm', 0],
  heart_rate_variability_rmssd: ['heart', 'ms', 1],
  heart_rate_variability_sdnn: ['heart', 'ms', 1],

  oxygen_saturation: ['oxygen', 'percent', 3],
  vo2_max: ['oxygen', 'mL/kg/min', 1],
  respiratory_rate: ['oxygen', 'breath/min', 1],
  active_energy_burned: ['energy', 'kcal', 1],
  basal_energy_burned: ['energy', 'kcal', 1],
  sleeping_wrist_temperature: ['temperature', 'degC', 2],

  weight: ['body', 'kg', 1],
  body_fat: ['body', 'percent', 1],
  body_mass_index: ['body', 'count', 1],
  device_lock: ['device', 'boolean', 0],
  exercise_session_running: ['exercise', 'minute', 0],
  exercise_session_strength_training: ['exercise', 'minute', 0],
  exercise_session_cycling: ['exercise', 'minute', 0],
  exercise_session_swimming: ['exercise', 'minute', 0],
  exercise_session_yoga: ['exercise', 'minute', 0],
} as const satisfies Record<string, readonly [SampleLog['logType'], string, number]>

type SampleMeasure = keyof typeof sampleMeasures
export const isSampleMeasure = (name: string): name is SampleMeasure => Object.hasOwn(sampleMeasures, name)

type SampleReading = {
  measure: SampleMeasure
  startMs: number
  endMs: number
  value: number
  more?: Partial<Pick<SampleLog, 'parentId' | 'recordingMethod'>>
}

export type SampleLogCollector = ReturnType<typeof createSampleLogCollector>

/** Collects the readings that end after the start of the span, and up to and including its end. */
export function createSampleLogCollector(person: SamplePerson, timeline: Timeline, span: Span) {
  const logs: SampleLog[] = []
  const deviceIds = new Map<string, string>()
  const deviceIdOf = (type: string) => {
    const id = deviceIds.get(type) ?? sampleIdOf(person, `device/${type}`)
    deviceIds.set(type, id)
    return id
  }
  const localTextOf = (atMs: number) => {
    const minute = Math.floor((atMs - timeline.startMs) / MINUTE)
    const offsetMinutes = timeline.offset[Math.max(0, Math.min(timeline.minutes - 1, minute))] ?? 0
    return formatInstant({ epochMs: atMs, offsetMinutes })
  }
  return {
    logs,
    /** Adds a log of the reading when the reading ends within the span; returns its id in any case. */
    add(device: SampleDevice, { measure, startMs, endMs, value, more }: SampleReading) {
      const id = sampleIdOf(person, `${device.deviceType}/${measure}/${startMs}`)
      if (endMs <= span.startMs || endMs > span.endMs) return id
      const [logType, unit, digits] = sampleMeasures[measure]
      const startDateTime = localTextOf(startMs)
      logs.push({
        id,
        logType,
        dataType: measure,
        value: digits === 0 ? Math.round(value) : Number(value.toFixed(digits)),
        unit,
        ...device,
        deviceId: deviceIdOf(device.deviceType),
        startDateTime,
        endDateTime: endMs === startMs ? startDateTime : localTextOf(endMs),
        ...more,
      })
      return id
    },
  }
}
