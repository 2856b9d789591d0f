import { dayPlanners, type PersonKind } from './day-plans.ts'
import { createSeededRandom, hashUuid } from './seeded-random.ts'

type Instrument = 'watch' | 'phone' | 'scale'

/** The properties of a sample person that stay the same over all days. A pure function of seed and number. */
export type SamplePerson = {
  number: number
  kind: PersonKind
  /** The seed of every random draw about this person. */
  seed: string
  externalId: string
  sex: 'Male' | 'Female'
  age: number
  heightM: number
  weightKg: number
  restingHeartRate: number
  /** Heart rate variability at rest, as the watch measures it (RMSSD). */
  rmssdMs: number
  /** This person's activity relative to the day plans of the kind. */
  activityFactor: number
  /** How many minutes this person's days run behind the day plans of the kind. */
  laterByMinutes: number
  homeZone: string
  instruments: readonly Instrument[]
  detail: LogDetail
}

/** How many logs a person's devices write: with a watch about 420 to 480, 60 and 17 logs a day. */
export type LogDetail = 'rich' | 'light' | 'sparse'

/** The first people have detailed logs, so that every shape occurs; thousands of people must still be stored in reasonable time. */
export const richPeopleMax = 24
export const lightPeopleMax = 64

export const personKinds = Object.keys(dayPlanners) as [PersonKind, ...PersonKind[]] // the keys of a literal are its kinds

const homeZones = {
  'office-worker': ['Europe/London', 'America/New_York', 'Europe/Paris', 'Australia/Sydney'],
  'shift-worker': ['Pacific/Auckland', 'America/Chicago', 'Europe/Madrid'],
  traveller: ['Europe/Berlin', 'America/Los_Angeles', 'Asia/Singapore'],
  'phone-only': ['America/Sao_Paulo', 'Africa/Nairobi', 'Asia/Kolkata'],
  'two-devices': ['America/Los_Angeles', 'Europe/Rome', 'Asia/Tokyo'],
  'night-owl': ['Europe/Lisbon', 'America/Denver', 'Australia/Lord_Howe'],
  runner: ['Africa/Nairobi', 'Europe/Oslo', 'America/Denver'],
  newcomer: ['Etc/UTC', 'Asia/Dubai'],
} as const satisfies Record<PersonKind, readonly [string, ...string[]]>

const instruments: Record<PersonKind, readonly Instrument[]> = {
  'office-worker': ['watch', 'scale'],
  'shift-worker': ['watch'],
  traveller: ['watch'],
  'phone-only': ['phone'],
  'two-devices': ['watch', 'phone', 'scale'],
  'night-owl': ['watch'],
  runner: ['watch', 'scale'],
  newcomer: [],
}

/** The kinds repeat in order; from the ninth person on they come with other bodies, homes and habits. */
export function createSamplePerson(seed: string, number: number): SamplePerson {
  const kind = personKinds[number % personKinds.length] ?? 'office-worker'
  const turn = Math.floor(number / personKinds.length)
  const personSeed = `${seed}/${kind}/${turn + 1}`
  const random = createSeededRandom(personSeed)
  const sex = random.chance(0.5) ? 'Male' : 'Female'
  const heightM = Math.round(random.normal(sex === 'Male' ? 1.78 : 1.65, 0.06) * 100) / 100
  const fit = kind === 'runner'
  return {
    number,
    kind,
    seed: personSeed,
    externalId: `SampleProfile-${kind}-${turn + 1}`,
    sex,
    age: fit ? random.integer(24, 45) : random.integer(21, 67),
    heightM,
    weightKg: Math.round(heightM * heightM * (fit ? random.between(19.5, 22.5) : random.between(21, 29)) * 10) / 10,
    restingHeartRate: Math.round(fit ? random.normal(49, 3) : random.normal(64, 5)),
    rmssdMs: Math.round(fit ? random.normal(62, 8) : random.normal(38, 7)),
    activityFactor: turn === 0 ? 1 : random.between(0.75, 1.3),
    laterByMinutes: turn === 0 ? 0 : random.integer(-40, 40),
    homeZone: turn === 0 ? homeZones[kind][0] : random.pick(homeZones[kind]),
    instruments: instruments[kind],
    detail: number < richPeopleMax ? 'rich' : number < lightPeopleMax ? 'light' : 'sparse',
  }
}

const tripZones = ['America/New_York', 'Asia/Tokyo', 'Pacific/Auckland', 'Asia/Kolkata'] as const
const tripEveryDays = 15
const tripDays = 6

/** The time zone of a person on a day. The traveller is abroad six days of every fifteen, each time in another zone. */
export function zoneOn(person: SamplePerson, day: number): string {
  if (person.kind !== 'traveller') return person.homeZone
  const since = day + person.number
  if (since % tripEveryDays >= tripDays) return person.homeZone
  return tripZones[Math.floor(since / tripEveryDays) % tripZones.length] ?? person.homeZone
}

export const isAway = (person: SamplePerson, day: number) => zoneOn(person, day) !== person.homeZone

/** The id of a log, a tag or a device of a person: the same name always gives the same id. */
export const sampleIdOf = (person: SamplePerson, name: string) => hashUuid(`${person.seed}/${name}`)
