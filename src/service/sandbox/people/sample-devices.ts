import { DAY, HOUR, MINUTE } from '../../../base/time/units.ts'
import { isSampleMeasure, type SampleDevice, type SampleLogCollector } from './sample-logs.ts'
import { sampleNight } from './sample-night.ts'
import type { LogDetail, SamplePerson } from './sample-person.ts'
import { createSeededRandom } from './seeded-random.ts'
import type { TimeInBed, Timeline } from './timeline.ts'

type Recording = { person: SamplePerson; timeline: Timeline; collector: SampleLogCollector }

const watch: SampleDevice = {
  deviceType: 'watch',
  source: 'com.example.watch',
  recordingMethod: 'automatically_recorded',
}
const phone: SampleDevice = {
  deviceType: 'phone',
  source: 'com.example.phone.health',
  recordingMethod: 'automatically_recorded',
}
const scale: SampleDevice = { deviceType: 'scale', source: 'com.example.scale', recordingMethod: 'actively_recorded' }

/** The minutes of one log of steps, by detail. */
const stepMinutes: Record<LogDetail, number> = { rich: 5, light: 60, sparse: 180 }

/** The minutes of one log of energy. */
const energyMinutes: Record<LogDetail, number> = { rich: 60, light: 240, sparse: 720 }

/** Minutes between two samples of the heart rate, awake and asleep; 0: no samples. */
const heartRateMinutes: Record<LogDetail, { awake: number; asleep: number }> = {
  rich: { awake: 5, asleep: 10 },
  light: { awake: 60, asleep: 60 },
  sparse: { awake: 0, asleep: 0 },
}

const minuteStartMs = (timeline: Timeline, minute: number) => timeline.startMs + minute * MINUTE

/**
 * Records the steps that a device counts, one log for each `logMinutes`. `shareAt` is the share of a minute's steps that
 * the device counts; it is called for each minute with steps, in order.
 */
function recordSteps(
  { timeline, collector }: Recording,
  device: SampleDevice,
  { logMinutes, shareAt }: { logMinutes: number; shareAt: (minute: number) => number },
) {
  for (let first = 0; first < timeline.minutes; first += logMinutes) {
    let steps = 0
    let floors = 0
    for (let minute = first; minute < first + logMinutes; minute += 1) {
      const share = timeline.cadence[minute] ? shareAt(minute) : 0
      steps += (timeline.cadence[minute] ?? 0) * share
      if (share > 0) floors += timeline.floors[minute] ?? 0
    }
    const span = { startMs: minuteStartMs(timeline, first), endMs: minuteStartMs(timeline, first + logMinutes) }
    if (steps >= 1) collector.add(device, { measure: 'steps', ...span, value: steps })
    if (floors > 0) collector.add(device, { measure: 'floors_climbed', ...span, value: floors })
  }
}

export function recordWatch(recording: Recording) {
  const { person, timeline } = recording
  recordSteps(recording, watch, {
    logMinutes: stepMinutes[person.detail],
    shareAt: (minute) => (isCharging(recording, minute) ? 0 : 1),
  })
  recordHeartRate(recording)
  recordEnergy(recording)
  for (const bed of timeline.beds) recordNight(recording, bed)
  for (const session of timeline.sessions) {
    const measure = `exercise_session_${session.name}`
    if (!isSampleMeasure(measure)) continue
    const more = { recordingMethod: 'actively_recorded' } as const
    const value = (session.endMs - session.startMs) / MINUTE
    recording.collector.add(watch, { measure, startMs: session.startMs, endMs: session.endMs, value, more })
  }
}

/** The watch is on its charger for 35 minutes of each UTC day, but not while the heart rate shows sport. */
function isCharging({ person, timeline }: Recording, minute: number): boolean {
  const start = 180 + ((person.number * 331) % 1080)
  const ofDay = minute % 1440
  return ofDay >= start && ofDay < start + 35 && (timeline.heart[minute] ?? 0) < person.restingHeartRate + 35
}

function recordHeartRate(recording: Recording) {
  const { person, timeline, collector } = recording
  const every = heartRateMinutes[person.detail]
  const inSport = new Set<number>()
  if (person.detail === 'rich')
    for (const session of timeline.sessions)
      for (let at = session.startMs; at < session.endMs; at += MINUTE) inSport.add((at - timeline.startMs) / MINUTE)
  for (let minute = 0; minute < timeline.minutes; minute += 1) {
    const step = timeline.stage[minute] === 0 ? every.awake : every.asleep
    const due = (step > 0 && minute % step === 0) || inSport.has(minute)
    if (!due || isCharging(recording, minute)) continue
    const atMs = minuteStartMs(timeline, minute)
    collector.add(watch, { measure: 'heart_rate', startMs: atMs, endMs: atMs, value: timeline.heart[minute] ?? 0 })
  }
}

/** Kilocalories: at rest by Mifflin and St Jeor (1990), in motion by steps and by the heart rate above rest. */
function recordEnergy({ person, timeline, collector }: Recording) {
  const basalADay = 10 * person.weightKg + 625 * person.heightM - 5 * person.age + (person.sex === 'Male' ? 5 : -161)
  const minutes = energyMinutes[person.detail]
  for (let first = 0; first < timeline.minutes; first += minutes) {
    let active = 0
    for (let minute = first; minute < first + minutes; minute += 1) {
      const cadence = timeline.cadence[minute] ?? 0
      const effort = Math.max(0, (timeline.heart[minute] ?? 0) - person.restingHeartRate - 38) / 100
      active += (cadence * 0.0004 + effort * 0.12) * person.weightKg
    }
    const span = { startMs: minuteStartMs(timeline, first), endMs: minuteStartMs(timeline, first + minutes) }
    const basal = (basalADay * minutes) / 1440
    if (active >= 1) collector.add(watch, { measure: 'active_energy_burned', ...span, value: active })
    collector.add(watch, { measure: 'basal_energy_burned', ...span, value: basal })
  }
}

/** Records a night of the watch: one log of the time in bed, and the logs of the stages as its children. */
function recordNight(recording: Recording, bed: TimeInBed) {
  const { person, collector } = recording
  const minutes = Math.round((bed.endMs - bed.startMs) / MINUTE)
  const parentId = collector.add(watch, {
    measure: 'sleep_stage_in_bed',
    startMs: bed.startMs,
    endMs: bed.endMs,
    value: minutes,
  })
  let startMs = bed.startMs
  for (const period of stagePeriodsOf(recording, bed)) {
    const endMs = startMs + period.minutes * MINUTE
    const measure = `sleep_stage_${period.stage}` as const
    collector.add(watch, { measure, startMs, endMs, value: period.minutes, more: { parentId } })
    startMs = endMs
  }
  if (!bed.isNap) recordNightVitals(recording, bed, createSeededRandom(person.seed, 'sensed', bed.day))
}

/** The stages of a night. Sparse detail has one period of each stage a night. */
function stagePeriodsOf({ person }: Recording, bed: TimeInBed) {
  const minutes = Math.round((bed.endMs - bed.startMs) / MINUTE)
  const night = sampleNight(`${person.seed}/night/${bed.day}${bed.isNap ? 'nap' : ''}`, minutes)
  if (person.detail !== 'sparse') return night
  return (['awake', 'deep', 'light', 'rem'] as const)
    .map((stage) => ({
      stage,
      minutes: night.reduce((sum, period) => sum + (period.stage === stage ? period.minutes : 0), 0),
    }))
    .filter((period) => period.minutes > 0)
}

function recordNightVitals(
  { person, collector }: Recording,
  bed: TimeInBed,
  random: ReturnType<typeof createSeededRandom>,
) {
  const form = random.normal(0, 0.1)
  const resting = person.restingHeartRate * (1 - form * 0.3) + random.normal(0, 0.8)
  const variability = person.rmssdMs * (1 + form)
  const at = (atMs: number) => ({ startMs: atMs, endMs: atMs })
  collector.add(watch, { measure: 'resting_heart_rate', ...at(bed.endMs), value: resting })
  const rich = person.detail === 'rich'
  const every = rich ? 30 * MINUTE : DAY
  for (let atMs = bed.startMs + 45 * MINUTE; atMs < bed.endMs - 10 * MINUTE; atMs += every) {
    const value = Math.max(8, variability * random.between(0.8, 1.2))
    collector.add(watch, { measure: 'heart_rate_variability_rmssd', ...at(atMs), value })
    if (rich && atMs % (2 * HOUR) < HOUR)
      collector.add(watch, { measure: 'heart_rate_variability_sdnn', ...at(atMs), value: value * 1.15 + 4 })
  }
  if (!rich) return
  for (let atMs = bed.startMs + 20 * MINUTE; atMs < bed.endMs; atMs += 20 * MINUTE) {
    collector.add(watch, { measure: 'respiratory_rate', ...at(atMs), value: random.normal(14.8, 0.8) })
    collector.add(watch, { measure: 'oxygen_saturation', ...at(atMs), value: Math.min(1, random.normal(0.966, 0.008)) })
  }
  const span = { startMs: bed.startMs, endMs: bed.endMs }
  collector.add(watch, { measure: 'sleeping_wrist_temperature', ...span, value: random.normal(34.6, 0.25) })
  if (bed.day % 7 === 3) {
    const vo2 = 79.9 - 0.39 * person.age - (person.sex === 'Female' ? 13.7 : 0) - 0.127 * person.weightKg * 2.2046
    const value = person.kind === 'runner' ? vo2 * 1.25 : vo2
    collector.add(watch, { measure: 'vo2_max', ...at(bed.endMs + 2 * HOUR), value: value + random.normal(0, 0.3) })
  }
}

/** A phone counts steps only in hours in which it is carried, and records a night as time in bed only. */
export function recordPhone(recording: Recording) {
  const { person, timeline, collector } = recording
  const shareByHour = new Map<number, number>()
  const shareAt = (minute: number) => {
    const hour = Math.floor((timeline.startMs + minute * MINUTE) / HOUR)
    const known = shareByHour.get(hour)
    if (known !== undefined) return known
    const random = createSeededRandom(person.seed, 'carried', hour)
    const share = random.chance(person.instruments.includes('watch') ? 0.6 : 0.88) ? random.between(0.92, 1) : 0
    shareByHour.set(hour, share)
    return share
  }
  const logMinutes = person.detail === 'rich' ? 10 : stepMinutes[person.detail]
  recordSteps(recording, phone, { logMinutes, shareAt })
  for (const bed of timeline.beds) {
    const { startMs, endMs } = bed
    collector.add(phone, { measure: 'sleep_stage_in_bed', startMs, endMs, value: (endMs - startMs) / MINUTE })
    if (person.detail !== 'rich') continue
    collector.add(phone, { measure: 'device_lock', startMs, endMs: startMs, value: 1 })
    collector.add(phone, { measure: 'device_lock', startMs: endMs, endMs, value: 0 })
    const walk = { startMs: endMs + 5 * HOUR, endMs: endMs + 5 * HOUR + 10 * MINUTE }
    const random = createSeededRandom(person.seed, 'gait', bed.day)
    collector.add(phone, { measure: 'walking_speed', ...walk, value: random.normal(1.32, 0.05) })
    const length = person.heightM * random.normal(0.42, 0.01)
    collector.add(phone, { measure: 'walking_step_length', ...walk, value: length })
  }
}

/** The scale is used twice a week, soon after getting up. The weight varies around a constant value. */
export function recordScale({ person, timeline, collector }: Recording) {
  for (const bed of timeline.beds) {
    if (bed.isNap || (bed.day + person.number) % 7 > 1) continue
    const random = createSeededRandom(person.seed, 'scale', bed.day)
    const at = { startMs: bed.endMs + 12 * MINUTE, endMs: bed.endMs + 12 * MINUTE }
    const weight = person.weightKg + 0.8 * Math.sin(bed.day / 11) + random.normal(0, 0.25)
    collector.add(scale, { measure: 'weight', ...at, value: weight })
    collector.add(scale, { measure: 'body_mass_index', ...at, value: weight / person.heightM ** 2 })
    const fat = (person.sex === 'Male' ? 12 : 20) + (person.weightKg / person.heightM ** 2 - 20) * 1.3
    collector.add(scale, { measure: 'body_fat', ...at, value: fat + random.normal(0, 0.3) })
  }
}
