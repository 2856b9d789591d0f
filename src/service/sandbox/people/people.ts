import type { DemographicInput } from '../../../contract/demographic.ts'
import type { DeviceInformationInput } from '../../../contract/device-information.ts'
import { formatInstant, formatOffset } from '../../../contract/instant.ts'
import type { TagInput } from '../../../contract/tag.ts'
import { DAY, HOUR } from '../../../window.ts'
import { carryPhone, stepOnScale, wearWatch } from './devices.ts'
import { identityOf, isAway, type Person, personOf, zoneOn } from './person.ts'
import { createRandom } from './random.ts'
import { createReadings, type SampleLog } from './readings.ts'
import { livedBetween } from './timeline.ts'
import { instantOf, localDayOf, offsetAt } from './zones.ts'

export type Span = { startMs: number; endMs: number }

/** The first so many people of a seed. The same seed gives the same people, whatever their number. */
export function peopleOf(seed: string, profiles: number): Person[] {
  return Array.from({ length: profiles }, (_, number) => personOf(seed, number))
}

/**
 * Everything a person's devices finished writing within a span: after its start, up to its end. Spans that follow each
 * other share no log and lose none.
 */
export function logsOf(person: Person, span: Span): SampleLog[] {
  if (person.instruments.length === 0) return []
  const timeline = livedBetween(person, span.startMs - DAY, span.endMs)
  const readings = createReadings(person, timeline, span)
  const look = { person, timeline, readings }
  if (person.instruments.includes('watch')) wearWatch(look)
  if (person.instruments.includes('phone')) carryPhone(look)
  if (person.instruments.includes('scale')) stepOnScale(look)
  return readings.logs
}

const countries: Record<string, string> = {
  'Europe/London': 'GB',
  'America/New_York': 'US',
  'Europe/Paris': 'FR',
  'Australia/Sydney': 'AU',
  'Pacific/Auckland': 'NZ',
  'America/Chicago': 'US',
  'Europe/Madrid': 'ES',
  'Europe/Berlin': 'DE',
  'America/Los_Angeles': 'US',
  'Asia/Singapore': 'SG',
  'America/Sao_Paulo': 'BR',
  'Africa/Nairobi': 'KE',
  'Asia/Kolkata': 'IN',
  'Europe/Rome': 'IT',
  'Asia/Tokyo': 'JP',
  'Europe/Lisbon': 'PT',
  'America/Denver': 'US',
  'Australia/Lord_Howe': 'AU',
  'Europe/Oslo': 'NO',
}

const occupations: Partial<Record<Person['kind'], string>> = {
  'office-worker': 'accountant',
  'shift-worker': 'nurse',
  traveller: 'consultant',
  'night-owl': 'software developer',
}

/** The newcomer has told nothing yet. */
export function demographicsOf(person: Person, nowMs: number): DemographicInput | undefined {
  if (person.kind === 'newcomer') return undefined
  const random = createRandom(person.seed, 'demographics')
  const bornMs = nowMs - (person.age + random.between(0.05, 0.95)) * 365.2425 * DAY
  const occupation = occupations[person.kind]
  return {
    age: person.age,
    gender: person.sex,
    birthDate: new Date(bornMs).toISOString().slice(0, 10),
    country: countries[person.home],
    relationship: random.pick(['Single', 'Partner', 'Married']),
    locale: random.pick(['Urban', 'Urban', 'Rural']),
    livingArrangement: random.pick(['Renting', 'HomeOwner']),
    ...(occupation ? { occupation } : {}),
  }
}

export function deviceInformationOf(person: Person, nowMs: number): DeviceInformationInput | undefined {
  if (person.kind === 'newcomer') return undefined
  const apple = createRandom(person.seed, 'device').chance(0.5)
  return {
    sdkId: 'vitalsync-sample',
    sdkVersion: '1.4.0',
    appId: 'com.example.sample',
    appVersion: '2.3.1',
    deviceId: identityOf(person, 'device/phone'),
    deviceType: 'phone',
    deviceModel: apple ? 'iPhone16,2' : 'Pixel 9',
    system: apple ? 'iOS' : 'Android',
    systemVersion: apple ? '18.4' : '15',
    timeZone: formatOffset(offsetAt(zoneOn(person, localDayOf(person.home, nowMs)), nowMs)),
  }
}

/** Journeys and night shifts as states (one of them may still be open), coffee and races as events. */
export function tagsOf(person: Person, span: Span): TagInput[] {
  const tags: TagInput[] = []
  const source = 'com.example.sample'
  const lastDay = localDayOf(person.home, span.endMs)
  let away: TagInput | undefined
  for (let day = localDayOf(person.home, span.startMs) + 1; day <= lastDay; day += 1) {
    const zone = zoneOn(person, day)
    const at = (hour: number) => {
      const epochMs = instantOf(zone, day, hour * 60)
      return formatInstant({ epochMs, offsetMinutes: offsetAt(zone, epochMs) })
    }
    const isPast = instantOf(zone, day, 0) + 18 * HOUR <= span.endMs
    if (away && !isAway(person, day)) away = closed(away, at(9))
    else if (!away && isAway(person, day) && isPast) {
      away = {
        id: identityOf(person, `tag/travel/${day}`),
        type: 'state',
        name: 'travel',
        category: 'life',
        source,
        startDateTime: at(8),
      }
      tags.push(away)
    }
    const random = createRandom(person.seed, 'tags', day)
    const event = { type: 'event', source, startDateTime: at(10), id: identityOf(person, `tag/event/${day}`) } as const
    if (!isPast || person.kind === 'newcomer') continue
    if (person.kind === 'runner' && random.chance(0.06))
      tags.push({ ...event, name: 'race', category: 'sport', value: '10 km' })
    else if (random.chance(0.12))
      tags.push({ ...event, name: 'caffeine', category: 'nutrition', value: String(random.whole(1, 4)) })
  }
  return tags
}

function closed(tag: TagInput, endDateTime: string): undefined {
  tag.endDateTime = endDateTime
  return undefined
}
