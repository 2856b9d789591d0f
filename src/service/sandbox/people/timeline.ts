import { DAY, HOUR, MINUTE } from '../../../base/time/units.ts'
import { type DayPlan, dayPlanners } from './day-plans.ts'
import { sampleNight, sampleStageCode } from './sample-night.ts'
import { type SamplePerson, zoneOn } from './sample-person.ts'
import { createSeededRandom } from './seeded-random.ts'
import { instantMsAt, localDayNumber, offsetMinutesAt } from './zone-offsets.ts'

/**
 * A person's life minute by minute, from which the devices record. The logs of two devices with one timeline therefore
 * differ only by the devices. A pure function of person and span: a day is the same in every span that contains it.
 */
export type Timeline = {
  startMs: number
  minutes: number
  /** UTC offset of the local clock, in minutes. */
  offset: Int16Array
  /** Steps in the minute. */
  cadence: Uint8Array
  heart: Uint8Array
  stage: Uint8Array
  /** Floors climbed, in the minute in which the climb ended. */
  floors: Uint8Array
  beds: TimeInBed[]
  sessions: { startMs: number; endMs: number; name: string }[]
}

/** A time in bed. `day` is the local day it counts for. */
export type TimeInBed = { day: number; startMs: number; endMs: number; isNap: boolean }
const napSeed = 'nap'
const betweenNightsMs = 8 * HOUR
const shortestNightMs = 4.5 * HOUR

export function timelineBetween(person: SamplePerson, startMs: number, endMs: number): Timeline {
  const firstMs = Math.floor(startMs / DAY) * DAY
  const minutes = Math.floor((endMs - firstMs) / MINUTE) + 1 // includes the minute that begins at `endMs`
  const timeline: Timeline = {
    startMs: firstMs,
    minutes,
    offset: new Int16Array(minutes),
    cadence: new Uint8Array(minutes),
    heart: new Uint8Array(minutes),
    stage: new Uint8Array(minutes),
    floors: new Uint8Array(minutes),
    beds: [],
    sessions: [],
  }
  const firstDay = localDayNumber(zoneOn(person, Math.floor(firstMs / DAY)), firstMs) - 1
  const lastDay = Math.floor(endMs / DAY) + 2
  const beds = new Map<number, TimeInBed>()
  for (let day = firstDay; day <= lastDay; day += 1) beds.set(day, nightBefore(person, day))
  setZoneOffsets(timeline, person, beds)
  for (const [day, bed] of beds) {
    const plan = planOf(person, day)
    addTimeInBed(timeline, person, bed)
    for (const nap of plan.naps) {
      const napMs = instantMsAt(zoneOn(person, day), day, nap.start)
      addTimeInBed(timeline, person, { day, startMs: napMs, endMs: napMs + nap.minutes * MINUTE, isNap: true })
    }
  }
  for (const day of beds.keys()) addMovement(timeline, person, day)
  setHeartRates(timeline, person)
  return timeline
}

function planOf(person: SamplePerson, day: number): DayPlan {
  const plan = dayPlanners[person.kind](day, createSeededRandom(person.seed, 'plan', day))
  const later = person.laterByMinutes
  return {
    bedMinute: plan.bedMinute + later,
    wakeMinute: plan.wakeMinute + later,
    naps: plan.naps.map((nap) => ({ ...nap, start: nap.start + later })),
    outings: plan.outings.map((outing) => ({
      ...outing,
      startMinute: outing.startMinute + later,
      minutes: outing.exercise ? outing.minutes : Math.round(outing.minutes * person.activityFactor),
    })),
    stepsPerIdleHour: plan.stepsPerIdleHour * person.activityFactor,
  }
}

/** The night that ends on a day. It begins at least some hours after the last one ended, also after a flight. */
function nightBefore(person: SamplePerson, day: number): TimeInBed {
  const plan = planOf(person, day)
  const zone = zoneOn(person, day)
  const lastWakeMs = instantMsAt(zoneOn(person, day - 1), day - 1, planOf(person, day - 1).wakeMinute)
  const startMs = Math.max(instantMsAt(zone, day, plan.bedMinute), lastWakeMs + betweenNightsMs)
  const endMs = Math.max(instantMsAt(zone, day, plan.wakeMinute), startMs + shortestNightMs)
  return { day, startMs, endMs, isNap: false }
}

/** The devices change to a new zone at the start of the night before the first day in that zone. */
function setZoneOffsets(timeline: Timeline, person: SamplePerson, beds: ReadonlyMap<number, TimeInBed>) {
  const nights = [...beds.values()]
  let next = 0
  let zone = zoneOn(person, nights[0]?.day ?? 0)
  for (let minute = 0; minute < timeline.minutes; minute += 1) {
    const atMs = timeline.startMs + minute * MINUTE
    for (let night = nights[next]; night && night.startMs <= atMs; night = nights[next]) {
      zone = zoneOn(person, night.day)
      next += 1
    }
    timeline.offset[minute] = offsetMinutesAt(zone, atMs)
  }
}

const minuteIndexOf = (timeline: Timeline, atMs: number) => Math.floor((atMs - timeline.startMs) / MINUTE)

function addTimeInBed(timeline: Timeline, person: SamplePerson, bed: TimeInBed) {
  const first = minuteIndexOf(timeline, bed.startMs)
  const minutes = Math.round((bed.endMs - bed.startMs) / MINUTE)
  if (first + minutes < 0 || first >= timeline.minutes) return
  timeline.beds.push({
    ...bed,
    startMs: timeline.startMs + first * MINUTE,
    endMs: timeline.startMs + (first + minutes) * MINUTE,
  })
  const seed = `${person.seed}/night/${bed.day}${bed.isNap ? napSeed : ''}`
  let minute = first
  for (const period of sampleNight(seed, minutes)) {
    timeline.stage.fill(sampleStageCode[period.stage], Math.max(0, minute), Math.max(0, minute + period.minutes))
    minute += period.minutes
  }
}

function addMovement(timeline: Timeline, person: SamplePerson, day: number) {
  const plan = planOf(person, day)
  const zone = zoneOn(person, day)
  const random = createSeededRandom(person.seed, 'moves', day)
  for (let hour = 0; hour < 24; hour += 1) {
    const bursts = random.integer(1, 5)
    const steps = plan.stepsPerIdleHour * random.between(0.3, 1.7)
    for (let burst = 0; burst < bursts; burst += 1) {
      const cadence = random.integer(38, 92)
      const startMs = instantMsAt(zone, day, hour * 60 + random.integer(0, 54))
      const minutes = Math.max(1, Math.round(steps / bursts / cadence))
      addSteps(timeline, { startMs, minutes, cadence })
    }
  }
  for (const outing of plan.outings) {
    const startMs = instantMsAt(zone, day, outing.startMinute)
    const endMs = startMs + outing.minutes * MINUTE
    const first = minuteIndexOf(timeline, startMs)
    if (isBusy(timeline, first, outing.minutes)) continue
    addSteps(timeline, { startMs, minutes: outing.minutes, cadence: outing.cadence })
    for (let minute = first; minute < first + outing.minutes; minute += 1) {
      const climbs = random.chance(0.07) && outing.effort < 0.6 && outing.cadence > 90
      if (minute < 0 || minute >= timeline.minutes) continue
      timeline.heart[minute] = Math.round(outing.effort * 100)
      if (climbs) timeline.floors[minute] = 1 + (minute % 2)
    }
    if (outing.exercise) timeline.sessions.push({ startMs, endMs, name: outing.exercise })
  }
}

/** Whether the person is in bed in one of the minutes: an outing that collides with a night is left out. */
function isBusy(timeline: Timeline, first: number, minutes: number): boolean {
  for (let minute = Math.max(0, first); minute < Math.min(timeline.minutes, first + minutes); minute += 1)
    if (timeline.stage[minute] !== sampleStageCode.up) return true
  return false
}

function addSteps(timeline: Timeline, walk: { startMs: number; minutes: number; cadence: number }) {
  const first = minuteIndexOf(timeline, walk.startMs)
  for (let minute = Math.max(0, first); minute < Math.min(timeline.minutes, first + walk.minutes); minute += 1) {
    if (timeline.stage[minute] !== sampleStageCode.up) continue
    const sway = walk.cadence === 0 ? 0 : ((minute * 7) % 9) - 4
    timeline.cadence[minute] = Math.max(timeline.cadence[minute] ?? 0, walk.cadence + sway)
  }
}

/** Turns effort into heart rates: with inertia, with noise, and lowest in deep sleep. */
function setHeartRates(timeline: Timeline, person: SamplePerson) {
  const reserve = 208 - 0.7 * person.age - person.restingHeartRate
  const asleep = [0.14, 0.06, 0.01, -0.02, 0.05]
  let share = 0.12
  for (let first = 0; first < timeline.minutes; first += 1440) {
    const random = createSeededRandom(person.seed, 'heart', timeline.startMs / MINUTE + first)
    const form = random.normal(0, 1.6)
    share = 0.12
    for (let minute = first; minute < Math.min(timeline.minutes, first + 1440); minute += 1) {
      const stepping = (timeline.cadence[minute] ?? 0) / 100
      const wanted = Math.max(
        (timeline.heart[minute] ?? 0) / 100,
        asleep[timeline.stage[minute] ?? 0] ?? 0.1,
        stepping * 0.28,
      )
      share += (wanted - share) * 0.35
      const noise = (random.next() - 0.5) * 5
      timeline.heart[minute] = Math.round(person.restingHeartRate + form + share * reserve + noise)
    }
  }
}
