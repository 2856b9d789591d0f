import type { DataLogInput } from '../../../contract/data-log.ts'
import { formatInstant } from '../../../contract/instant.ts'
import { MINUTE } from '../../../window.ts'
import { identityOf, type Person } from './person.ts'
import type { Timeline } from './timeline.ts'

/** A data log as a client of the service would post it, always with its own id. */
export type SampleLog = DataLogInput & { id: string }

export type Device = Pick<SampleLog, 'deviceType' | 'source' | 'recordingMethod'>

/** What devices measure here: under which log type and in which unit. */
const measures = {
  steps: ['activity', 'count', 0],
  floors_climbed: ['activity', 'count', 0],
  stand_time: ['activity', 'minute', 0],
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
  blood_pressure_systolic: ['blood', 'mmHg', 0],
  blood_pressure_diastolic: ['blood', 'mmHg', 0],
  oxygen_saturation: ['oxygen', 'percent', 3],
  vo2_max: ['oxygen', 'mL/kg/min', 1],
  respiratory_rate: ['oxygen', 'breath/min', 1],
  active_energy_burned: ['energy', 'kcal', 1],
  basal_energy_burned: ['energy', 'kcal', 1],
  sleeping_wrist_temperature: ['temperature', 'degC', 2],
  height: ['body', 'm', 2],
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

export type Measure = keyof typeof measures
export const isMeasure = (name: string): name is Measure => Object.hasOwn(measures, name)

export type Reading = {
  measure: Measure
  startMs: number
  endMs: number
  value: number
  more?: Partial<Pick<SampleLog, 'parentId' | 'recordingMethod'>>
}

export type Readings = {
  /** Takes a reading when it ends within the span; gives its id either way. */
  add(device: Device, reading: Reading): string
  logs: SampleLog[]
}

/** Collects what devices read off a timeline and finished after `startMs`, up to `endMs`. */
export function createReadings(person: Person, timeline: Timeline, span: { startMs: number; endMs: number }): Readings {
  const logs: SampleLog[] = []
  const deviceIds = new Map<string, string>()
  const deviceIdOf = (type: string) => {
    const id = deviceIds.get(type) ?? identityOf(person, `device/${type}`)
    deviceIds.set(type, id)
    return id
  }
  const clockAt = (atMs: number) => {
    const minute = Math.floor((atMs - timeline.startMs) / MINUTE)
    const offsetMinutes = timeline.offset[Math.max(0, Math.min(timeline.minutes - 1, minute))] ?? 0
    return formatInstant({ epochMs: atMs, offsetMinutes })
  }
  return {
    logs,
    add(device, { measure, startMs, endMs, value, more }) {
      const id = identityOf(person, `${device.deviceType}/${measure}/${startMs}`)
      if (endMs <= span.startMs || endMs > span.endMs) return id
      const [logType, unit, digits] = measures[measure]
      logs.push({
        id,
        logType,
        dataType: measure,
        value: Number(value.toFixed(digits)),
        unit,
        ...device,
        deviceId: deviceIdOf(device.deviceType),
        startDateTime: clockAt(startMs),
        endDateTime: clockAt(endMs),
        ...more,
      })
      return id
    },
  }
}
