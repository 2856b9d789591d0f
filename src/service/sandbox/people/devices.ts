import { DAY, HOUR, MINUTE } from '../../../window.ts'
import { nightOf } from './night.ts'
import type { Detail, Person } from './person.ts'
import { createRandom } from './random.ts'
import { type Device, isMeasure, type Readings } from './readings.ts'
import type { Bed, Timeline } from './timeline.ts'

type Look = { person: Person; timeline: Timeline; readings: Readings }

export const watch: Device = {
  deviceType: 'watch',
  source: 'com.example.watch',
  recordingMethod: 'automatically_recorded',
}
export const phone: Device = {
  deviceType: 'phone',
  source: 'com.example.phone.health',
  recordingMethod: 'automatically_recorded',
}
const scale: Device = { deviceType: 'scale', source: 'com.example.scale', recordingMethod: 'actively_recorded' }

/** How many minutes one log of steps spans, by detail. */
const stepMinutes: Record<Detail, number> = { rich: 5, light: 60, sparse: 180 }

/** How many minutes one log of energy spans. */
const burnMinutes: Record<Detail, number> = { rich: 60, light: 240, sparse: 720 }

/** Every so many minutes one sample of the heart, awake and asleep; 0: none. */
const heartMinutes: Record<Detail, { awake: number; asleep: number }> = {
  rich: { awake: 5, asleep: 10 },
  light: { awake: 60, asleep: 60 },
  sparse: { awake: 0, asleep: 0 },
}

const minuteAt = (timeline: Timeline, minute: number) => timeline.startMs + minute * MINUTE

/** Steps as a device counts them: `seen` is the share of a minute's steps that it notices, asked minute by minute. */
export function countSteps(look: Look, device: Device, seen: { minutes: number; share: (minute: number) => number }) {
  const { timeline, readings } = look
  for (let first = 0; first < timeline.minutes; first += seen.minutes) {
    let steps = 0
    let floors = 0
    for (let minute = first; minute < first + seen.minutes; minute += 1) {
      const share = timeline.cadence[minute] ? seen.share(minute) : 0
      steps += (timeline.cadence[minute] ?? 0) * share
      if (share > 0) floors += timeline.floors[minute] ?? 0
    }
    const span = { startMs: minuteAt(timeline, first), endMs: minuteAt(timeline, first + seen.minutes) }
    if (steps >= 1) readings.add(device, { measure: 'steps', ...span, value: steps })
    if (floors > 0) readings.add(device, { measure: 'floors_climbed', ...span, value: floors })
  }
}

export function wearWatch(look: Look) {
  const { person, timeline } = look
  countSteps(look, watch, {
    minutes: stepMinutes[person.detail],
    share: (minute) => (isCharging(look, minute) ? 0 : 1),
  })
  sampleHeart(look)
  burn(look)
  for (const bed of timeline.beds) recordNight(look, bed)
  for (const session of timeline.sessions) {
    const measure = `exercise_session_${session.name}`
    if (!isMeasure(measure)) continue
    const more = { recordingMethod: 'actively_recorded' } as const
    const value = (session.endMs - session.startMs) / MINUTE
    look.readings.add(watch, { measure, startMs: session.startMs, endMs: session.endMs, value, more })
  }
}

/** The watch lies on its charger for a while each UTC day; nobody charges it in the middle of sport or sleep. */
function isCharging({ person, timeline }: Look, minute: number): boolean {
  const start = 180 + ((person.number * 331) % 1080)
  const ofDay = minute % 1440
  return ofDay >= start && ofDay < start + 35 && (timeline.heart[minute] ?? 0) < person.restingHeartRate + 35
}

function sampleHeart(look: Look) {
  const { person, timeline, readings } = look
  const every = heartMinutes[person.detail]
  const inSport = new Set<number>()
  if (person.detail === 'rich')
    for (const session of timeline.sessions)
      for (let at = session.startMs; at < session.endMs; at += MINUTE) inSport.add((at - timeline.startMs) / MINUTE)
  for (let minute = 0; minute < timeline.minutes; minute += 1) {
    const step = timeline.stage[minute] === 0 ? every.awake : every.asleep
    const due = (step > 0 && minute % step === 0) || inSport.has(minute)
    if (!due || isCharging(look, minute)) continue
    const atMs = minuteAt(timeline, minute)
    readings.add(watch, { measure: 'heart_rate', startMs: atMs, endMs: atMs, value: timeline.heart[minute] ?? 0 })
  }
}

/** Kilocalories: at rest by Mifflin and St Jeor (1990), moving by the share of the heart's reserve in use. */
function burn({ person, timeline, readings }: Look) {
  const basalADay = 10 * person.weightKg + 625 * person.heightM - 5 * person.age + (person.sex === 'Male' ? 5 : -161)
  const minutes = burnMinutes[person.detail]
  for (let first = 0; first < timeline.minutes; first += minutes) {
    let active = 0
    for (let minute = first; minute < first + minutes; minute += 1) {
      const cadence = timeline.cadence[minute] ?? 0
      const effort = Math.max(0, (timeline.heart[minute] ?? 0) - person.restingHeartRate - 38) / 100
      active += (cadence * 0.0004 + effort * 0.12) * person.weightKg
    }
    const span = { startMs: minuteAt(timeline, first), endMs: minuteAt(timeline, first + minutes) }
    const basal = (basalADay * minutes) / 1440
    if (active >= 1) readings.add(watch, { measure: 'active_energy_burned', ...span, value: active })
    readings.add(watch, { measure: 'basal_energy_burned', ...span, value: basal })
  }
}

/** The night as the watch saw it: an envelope in bed, and the stages as its children. */
function recordNight(look: Look, bed: Bed) {
  const { person, readings } = look
  const minutes = Math.round((bed.endMs - bed.startMs) / MINUTE)
  const parentId = readings.add(watch, {
    measure: 'sleep_stage_in_bed',
    startMs: bed.startMs,
    endMs: bed.endMs,
    value: minutes,
  })
  let startMs = bed.startMs
  for (const stretch of stretchesOf(look, bed)) {
    const endMs = startMs + stretch.minutes * MINUTE
    const measure = `sleep_stage_${stretch.stage}` as const
    readings.add(watch, { measure, startMs, endMs, value: stretch.minutes, more: { parentId } })
    startMs = endMs
  }
  if (!bed.nap) senseNight(look, bed, createRandom(person.seed, 'sensed', bed.day))
}

/** Devices of little detail tell one stretch of each stage a night. */
function stretchesOf({ person }: Look, bed: Bed) {
  const minutes = Math.round((bed.endMs - bed.startMs) / MINUTE)
  const night = nightOf(`${person.seed}/night/${bed.day}${bed.nap ? 'nap' : ''}`, minutes)
  if (person.detail !== 'sparse') return night
  return (['awake', 'deep', 'light', 'rem'] as const)
    .map((stage) => ({
      stage,
      minutes: night.reduce((sum, stretch) => sum + (stretch.stage === stage ? stretch.minutes : 0), 0),
    }))
    .filter((stretch) => stretch.minutes > 0)
}

function senseNight({ person, readings }: Look, bed: Bed, random: ReturnType<typeof createRandom>) {
  const form = random.around(0, 0.1)
  const resting = person.restingHeartRate * (1 - form * 0.3) + random.around(0, 0.8)
  const variability = person.variability * (1 + form)
  const at = (atMs: number) => ({ startMs: atMs, endMs: atMs })
  readings.add(watch, { measure: 'resting_heart_rate', ...at(bed.endMs), value: resting })
  const rich = person.detail === 'rich'
  const every = rich ? 30 * MINUTE : DAY
  for (let atMs = bed.startMs + 45 * MINUTE; atMs < bed.endMs - 10 * MINUTE; atMs += every) {
    const value = Math.max(8, variability * random.between(0.8, 1.2))
    readings.add(watch, { measure: 'heart_rate_variability_rmssd', ...at(atMs), value })
    if (rich && atMs % (2 * HOUR) < HOUR)
      readings.add(watch, { measure: 'heart_rate_variability_sdnn', ...at(atMs), value: value * 1.15 + 4 })
  }
  if (!rich) return
  for (let atMs = bed.startMs + 20 * MINUTE; atMs < bed.endMs; atMs += 20 * MINUTE) {
    readings.add(watch, { measure: 'respiratory_rate', ...at(atMs), value: random.around(14.8, 0.8) })
    readings.add(watch, { measure: 'oxygen_saturation', ...at(atMs), value: Math.min(1, random.around(0.966, 0.008)) })
  }
  const span = { startMs: bed.startMs, endMs: bed.endMs }
  readings.add(watch, { measure: 'sleeping_wrist_temperature', ...span, value: random.around(34.6, 0.25) })
  if (bed.day % 7 === 3) {
    const vo2 = 79.9 - 0.39 * person.age - (person.sex === 'Female' ? 13.7 : 0) - 0.127 * person.weightKg * 2.2046
    const value = person.kind === 'runner' ? vo2 * 1.25 : vo2
    readings.add(watch, { measure: 'vo2_max', ...at(bed.endMs + 2 * HOUR), value: value + random.around(0, 0.3) })
  }
}

/** A phone counts only while it is carried, and knows of a night only that it lay still on the table. */
export function carryPhone(look: Look) {
  const { person, timeline, readings } = look
  const carried = new Map<number, number>()
  const share = (minute: number) => {
    const hour = Math.floor((timeline.startMs + minute * MINUTE) / HOUR)
    const known = carried.get(hour)
    if (known !== undefined) return known
    const random = createRandom(person.seed, 'carried', hour)
    const drawn = random.chance(person.instruments.includes('watch') ? 0.6 : 0.88) ? random.between(0.92, 1) : 0
    carried.set(hour, drawn)
    return drawn
  }
  countSteps(look, phone, { minutes: person.detail === 'rich' ? 10 : stepMinutes[person.detail], share })
  for (const bed of timeline.beds) {
    const { startMs, endMs } = bed
    readings.add(phone, { measure: 'sleep_stage_in_bed', startMs, endMs, value: (endMs - startMs) / MINUTE })
    if (person.detail !== 'rich') continue
    readings.add(phone, { measure: 'device_lock', startMs, endMs: startMs, value: 1 })
    readings.add(phone, { measure: 'device_lock', startMs: endMs, endMs, value: 0 })
    const noon = endMs + 5 * HOUR
    const random = createRandom(person.seed, 'gait', bed.day)
    const speed = random.around(1.32, 0.05)
    readings.add(phone, { measure: 'walking_speed', startMs: noon, endMs: noon + 10 * MINUTE, value: speed })
    const length = person.heightM * random.around(0.42, 0.01)
    readings.add(phone, { measure: 'walking_step_length', startMs: noon, endMs: noon + 10 * MINUTE, value: length })
  }
}

/** Stood upon twice a week, soon after getting up. The weight drifts a little and never runs away. */
export function stepOnScale({ person, timeline, readings }: Look) {
  for (const bed of timeline.beds) {
    if (bed.nap || (bed.day + person.number) % 7 > 1) continue
    const random = createRandom(person.seed, 'scale', bed.day)
    const at = { startMs: bed.endMs + 12 * MINUTE, endMs: bed.endMs + 12 * MINUTE }
    const weight = person.weightKg + 0.8 * Math.sin(bed.day / 11) + random.around(0, 0.25)
    readings.add(scale, { measure: 'weight', ...at, value: weight })
    readings.add(scale, { measure: 'body_mass_index', ...at, value: weight / person.heightM ** 2 })
    const fat = (person.sex === 'Male' ? 12 : 20) + (person.weightKg / person.heightM ** 2 - 20) * 1.3
    readings.add(scale, { measure: 'body_fat', ...at, value: fat + random.around(0, 0.3) })
  }
}
