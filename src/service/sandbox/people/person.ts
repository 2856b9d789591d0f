import { type Kind, planners } from './plans.ts'
import { createRandom, uuidOf } from './random.ts'

export type Instrument = 'watch' | 'phone' | 'scale'

/** One sample person: what stays the same over all days. A pure function of seed and number. */
export type Person = {
  number: number
  kind: Kind
  /** What every draw of chance about this person starts from. */
  seed: string
  externalId: string
  sex: 'Male' | 'Female'
  age: number
  heightM: number
  weightKg: number
  restingHeartRate: number
  /** Milliseconds; what the watch calls rmssd. */
  variability: number
  /** Of this person's days beside those of the kind: 1 is the kind itself. */
  pace: number
  /** How much later than the kind this person lives, in minutes. */
  lateBy: number
  home: string
  instruments: readonly Instrument[]
  detail: Detail
}

/** How much a person's devices write: with a watch about 420 to 480, 60 and 17 logs a day. */
export type Detail = 'rich' | 'light' | 'sparse'

/** The first people are rich in detail, so that every shape occurs; then thousands must still start in reasonable time. */
export const richMax = 24
export const lightMax = 64

const kinds = Object.keys(planners) as Kind[] // the keys of a literal are its kinds

const homes = {
  'office-worker': ['Europe/London', 'America/New_York', 'Europe/Paris', 'Australia/Sydney'],
  'shift-worker': ['Pacific/Auckland', 'America/Chicago', 'Europe/Madrid'],
  traveller: ['Europe/Berlin', 'America/Los_Angeles', 'Asia/Singapore'],
  'phone-only': ['America/Sao_Paulo', 'Africa/Nairobi', 'Asia/Kolkata'],
  'two-devices': ['America/Los_Angeles', 'Europe/Rome', 'Asia/Tokyo'],
  'night-owl': ['Europe/Lisbon', 'America/Denver', 'Australia/Lord_Howe'],
  runner: ['Africa/Nairobi', 'Europe/Oslo', 'America/Denver'],
  newcomer: ['Etc/UTC', 'Asia/Dubai'],
} as const satisfies Record<Kind, readonly [string, ...string[]]>

const instruments: Record<Kind, readonly Instrument[]> = {
  'office-worker': ['watch', 'scale'],
  'shift-worker': ['watch'],
  traveller: ['watch'],
  'phone-only': ['phone'],
  'two-devices': ['watch', 'phone', 'scale'],
  'night-owl': ['watch'],
  runner: ['watch', 'scale'],
  newcomer: [],
}

/** The kinds take turns; from the ninth person on they come again, with other bodies, homes and habits. */
export function personOf(seed: string, number: number): Person {
  const kind = kinds[number % kinds.length] ?? 'office-worker'
  const turn = Math.floor(number / kinds.length)
  const own = `${seed}/${kind}/${turn + 1}`
  const random = createRandom(own)
  const sex = random.chance(0.5) ? 'Male' : 'Female'
  const heightM = Math.round(random.around(sex === 'Male' ? 1.78 : 1.65, 0.06) * 100) / 100
  const fit = kind === 'runner'
  return {
    number,
    kind,
    seed: own,
    externalId: `SampleProfile-${kind}-${turn + 1}`,
    sex,
    age: fit ? random.whole(24, 45) : random.whole(21, 67),
    heightM,
    weightKg: Math.round(heightM * heightM * (fit ? random.between(19.5, 22.5) : random.between(21, 29)) * 10) / 10,
    restingHeartRate: Math.round(fit ? random.around(49, 3) : random.around(64, 5)),
    variability: Math.round(fit ? random.around(62, 8) : random.around(38, 7)),
    pace: turn === 0 ? 1 : random.between(0.75, 1.3),
    lateBy: turn === 0 ? 0 : random.whole(-40, 40),
    home: turn === 0 ? homes[kind][0] : random.pick(homes[kind]),
    instruments: instruments[kind],
    detail: number < richMax ? 'rich' : number < lightMax ? 'light' : 'sparse',
  }
}

const trips = ['America/New_York', 'Asia/Tokyo', 'Pacific/Auckland', 'Asia/Kolkata'] as const
const tripEvery = 15
const tripDays = 6

/** Where a person is on a day. The traveller is abroad six days of every fifteen, each time in another zone. */
export function zoneOn(person: Person, day: number): string {
  if (person.kind !== 'traveller') return person.home
  const since = day + person.number
  if (since % tripEvery >= tripDays) return person.home
  return trips[Math.floor(since / tripEvery) % trips.length] ?? person.home
}

export const isAway = (person: Person, day: number) => zoneOn(person, day) !== person.home

/** The identity of something of this person's: asked again, the same one. */
export const identityOf = (person: Person, what: string) => uuidOf(`${person.seed}/${what}`)
