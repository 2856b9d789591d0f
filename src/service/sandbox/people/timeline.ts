import { DAY, HOUR, MINUTE } from '../../../window.ts'
import { nightOf, stageCode } from './night.ts'
import { type Person, zoneOn } from './person.ts'
import { type DayPlan, planners } from './plans.ts'
import { createRandom } from './random.ts'
import { instantOf, localDayOf, offsetAt } from './zones.ts'

/**
 * A person's life minute by minute, before any device looks at it. Two devices that look at one timeline disagree only
 * as devices do. A pure function of person and span; a day comes out the same whichever span it is asked for in.
 */
export type Timeline = {
  startMs: number
  minutes: number
  /** Minutes ahead of UTC of the clocks around the person. */
  offset: Int16Array
  /** Steps in the minute. */
  cadence: Uint8Array
  heart: Uint8Array
  stage: Uint8Array
  /** Floors climbed, on the minute they were finished. */
  floors: Uint8Array
  beds: Bed[]
  sessions: Session[]
}

/** A time in bed. `day` is the local day it counts for. */
export type Bed = { day: number; startMs: number; endMs: number; nap: boolean }
export type Session = { startMs: number; endMs: number; name: string }

const napSeed = 'nap'
const betweenNightsMs = 8 * HOUR
const shortestNightMs = 4.5 * HOUR

export function livedBetween(person: Person, startMs: number, endMs: number): Timeline {
  const from = Math.floor(startMs / DAY) * DAY
  const minutes = Math.floor((endMs - from) / MINUTE) + 1 // the minute that begins at the end belongs to it
  const timeline: Timeline = {
    startMs: from,
    minutes,
    offset: new Int16Array(minutes),
    cadence: new Uint8Array(minutes),
    heart: new Uint8Array(minutes),
    stage: new Uint8Array(minutes),
    floors: new Uint8Array(minutes),
    beds: [],
    sessions: [],
  }
  const firstDay = localDayOf(zoneOn(person, Math.floor(from / DAY)), from) - 1
  const lastDay = Math.floor(endMs / DAY) + 2
  const beds = new Map<number, Bed>()
  for (let day = firstDay; day <= lastDay; day += 1) beds.set(day, nightBefore(person, day))
  setClocks(timeline, person, beds)
  for (const [day, bed] of beds) {
    const plan = planOf(person, day)
    paintBed(timeline, person, bed)
    for (const nap of plan.naps) {
      const napAt = instantOf(zoneOn(person, day), day, nap.start)
      paintBed(timeline, person, { day, startMs: napAt, endMs: napAt + nap.minutes * MINUTE, nap: true })
    }
  }
  for (const day of beds.keys()) paintMoves(timeline, person, day)
  beat(timeline, person)
  return timeline
}

function planOf(person: Person, day: number): DayPlan {
  const plan = planners[person.kind](day, createRandom(person.seed, 'plan', day))
  const late = person.lateBy
  return {
    bed: plan.bed + late,
    wake: plan.wake + late,
    naps: plan.naps.map((nap) => ({ ...nap, start: nap.start + late })),
    outings: plan.outings.map((outing) => ({
      ...outing,
      start: outing.start + late,
      minutes: outing.session ? outing.minutes : Math.round(outing.minutes * person.pace),
    })),
    fidget: plan.fidget * person.pace,
  }
}

/** The night that ends on a day. After a flight nobody goes to bed again at once: the body keeps some hours between. */
function nightBefore(person: Person, day: number): Bed {
  const plan = planOf(person, day)
  const zone = zoneOn(person, day)
  const upBefore = instantOf(zoneOn(person, day - 1), day - 1, planOf(person, day - 1).wake)
  const startMs = Math.max(instantOf(zone, day, plan.bed), upBefore + betweenNightsMs)
  const endMs = Math.max(instantOf(zone, day, plan.wake), startMs + shortestNightMs)
  return { day, startMs, endMs, nap: false }
}

/** A new zone's time is on the devices from the evening before the first morning there. */
function setClocks(timeline: Timeline, person: Person, beds: ReadonlyMap<number, Bed>) {
  const nights = [...beds.values()]
  let next = 0
  let zone = zoneOn(person, nights[0]?.day ?? 0)
  for (let minute = 0; minute < timeline.minutes; minute += 1) {
    const atMs = timeline.startMs + minute * MINUTE
    for (let night = nights[next]; night && night.startMs <= atMs; night = nights[next]) {
      zone = zoneOn(person, night.day)
      next += 1
    }
    timeline.offset[minute] = offsetAt(zone, atMs)
  }
}

const minuteOf = (timeline: Timeline, atMs: number) => Math.floor((atMs - timeline.startMs) / MINUTE)

function paintBed(timeline: Timeline, person: Person, bed: Bed) {
  const first = minuteOf(timeline, bed.startMs)
  const long = Math.round((bed.endMs - bed.startMs) / MINUTE)
  if (first + long < 0 || first >= timeline.minutes) return
  timeline.beds.push({
    ...bed,
    startMs: timeline.startMs + first * MINUTE,
    endMs: timeline.startMs + (first + long) * MINUTE,
  })
  const seed = `${person.seed}/night/${bed.day}${bed.nap ? napSeed : ''}`
  let minute = first
  for (const stretch of nightOf(seed, long)) {
    timeline.stage.fill(stageCode[stretch.stage], Math.max(0, minute), Math.max(0, minute + stretch.minutes))
    minute += stretch.minutes
  }
}

function paintMoves(timeline: Timeline, person: Person, day: number) {
  const plan = planOf(person, day)
  const zone = zoneOn(person, day)
  const random = createRandom(person.seed, 'moves', day)
  for (let hour = 0; hour < 24; hour += 1) {
    const bursts = random.whole(1, 5)
    const steps = plan.fidget * random.between(0.3, 1.7)
    for (let burst = 0; burst < bursts; burst += 1) {
      const cadence = random.whole(38, 92)
      const startMs = instantOf(zone, day, hour * 60 + random.whole(0, 54))
      const minutes = Math.max(1, Math.round(steps / bursts / cadence))
      paintSteps(timeline, { startMs, minutes, cadence })
    }
  }
  for (const outing of plan.outings) {
    const startMs = instantOf(zone, day, outing.start)
    const endMs = startMs + outing.minutes * MINUTE
    const first = minuteOf(timeline, startMs)
    if (isBusy(timeline, first, outing.minutes)) continue
    paintSteps(timeline, { startMs, minutes: outing.minutes, cadence: outing.cadence })
    for (let minute = first; minute < first + outing.minutes; minute += 1) {
      const climbs = random.chance(0.07) && outing.effort < 0.6 && outing.cadence > 90
      if (minute < 0 || minute >= timeline.minutes) continue
      timeline.heart[minute] = Math.round(outing.effort * 100)
      if (climbs) timeline.floors[minute] = 1 + (minute % 2)
    }
    if (outing.session) timeline.sessions.push({ startMs, endMs, name: outing.session })
  }
}

/** Somebody in bed goes nowhere: an outing that a flight or a late night collides with is left out. */
function isBusy(timeline: Timeline, first: number, minutes: number): boolean {
  for (let minute = Math.max(0, first); minute < Math.min(timeline.minutes, first + minutes); minute += 1)
    if (timeline.stage[minute] !== stageCode.up) return true
  return false
}

function paintSteps(timeline: Timeline, walk: { startMs: number; minutes: number; cadence: number }) {
  const first = minuteOf(timeline, walk.startMs)
  for (let minute = Math.max(0, first); minute < Math.min(timeline.minutes, first + walk.minutes); minute += 1) {
    if (timeline.stage[minute] !== stageCode.up) continue
    const sway = walk.cadence === 0 ? 0 : ((minute * 7) % 9) - 4
    timeline.cadence[minute] = Math.max(timeline.cadence[minute] ?? 0, walk.cadence + sway)
  }
}

/** Turns effort into beats: the heart follows with some inertia, rests lowest in deep sleep, and is never quite steady. */
function beat(timeline: Timeline, person: Person) {
  const reserve = 208 - 0.7 * person.age - person.restingHeartRate
  const asleep = [0.14, 0.06, 0.01, -0.02, 0.05]
  let share = 0.12
  for (let first = 0; first < timeline.minutes; first += 1440) {
    const random = createRandom(person.seed, 'heart', timeline.startMs / MINUTE + first)
    const form = random.around(0, 1.6)
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
