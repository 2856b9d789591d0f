import type { DemographicInput } from '../../../base/contract/demographic.ts'
import type { DeviceInformationInput } from '../../../base/contract/device-information.ts'
import type { TagInput } from '../../../base/contract/tag.ts'
import { formatInstant, formatOffset } from '../../../base/time/instant.ts'
import type { Span } from '../../../base/time/spans.ts'
import { DAY, HOUR } from '../../../base/time/units.ts'
import { recordPhone, recordScale, recordWatch } from './sample-devices.ts'
import { createSampleLogCollector, type SampleLog } from './sample-logs.ts'
import { createSamplePerson, isAway, type SamplePerson, sampleIdOf, zoneOn } from './sample-person.ts'
import { createSeededRandom } from './seeded-random.ts'
import { timelineBetween } from './timeline.ts'
import { instantMsAt, localDayNumber, offsetMinutesAt } from './zone-offsets.ts'

/** The first `profiles` people of a seed. The same seed gives the same people, whatever their number. */
export function samplePeople(seed: string, profiles: number): SamplePerson[] {
  return Array.from({ length: profiles }, (_, number) => createSamplePerson(seed, number))
}

/**
 * All logs that a person's devices finished within a span: after its start, and up to and including its end. Adjacent
 * spans share no log and lose none.
 */
export function logsOf(person: SamplePerson, span: Span): SampleLog[] {
  if (person.instruments.length === 0) return []
  const timeline = timelineBetween(person, span.startMs - DAY, span.endMs)
  const collector = createSampleLogCollector(person, timeline, span)
  const recording = { person, timeline, collector }
  if (person.instruments.includes('watch')) recordWatch(recording)
  if (person.instruments.includes('phone')) recordPhone(recording)
  if (person.instruments.includes('scale')) recordScale(recording)
  return collector.logs
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

const occupations: Partial<Record<SamplePerson['kind'], string>> = {
  'office-worker': 'accountant',
  'shift-worker': 'nurse',
  traveller: 'consultant',
  'night-owl': 'software developer',
}

/** Undefined for the newcomer, who has stated no demographics. */
export function sampleDemographicsOf(person: SamplePerson, nowMs: number): DemographicInput | undefined {
  if (person.kind === 'newcomer') return undefined
  const random = createSeededRandom(person.seed, 'demographics')
  const bornMs = nowMs - (person.age + random.between(0.05, 0.95)) * 365.2425 * DAY
  const occupation = occupations[person.kind]
  return {
    age: person.age,
    gender: person.sex,
    birthDate: new Date(bornMs).toISOString().slice(0, 10),
    country: countries[person.homeZone],
    relationship: random.pick(['Single', 'Partner', 'Married']),
    locale: random.pick(['Urban', 'Urban', 'Rural']),
    livingArrangement: random.pick(['Renting', 'HomeOwner']),
    ...(occupation ? { occupation } : {}),
  }
}

export function deviceInformationOf(person: SamplePerson, nowMs: number): DeviceInformationInput | undefined {
  if (person.kind === 'newcomer') return undefined
  const apple = createSeededRandom(person.seed, 'device').chance(0.5)
  return {
    sdkId: 'vitalsync-sample',
    sdkVersion: '1.4.0',
    appId: 'com.example.sample',
    appVersion: '2.3.1',
    deviceId: sampleIdOf(person, 'device/phone'),
    deviceType: 'phone',
    deviceModel: apple ? 'iPhone16,2' : 'Pixel 9',
    system: apple ? 'iOS' : 'Android',
    systemVersion: apple ? '18.4' : '15',
    timeZone: formatOffset(offsetMinutesAt(zoneOn(person, localDayNumber(person.homeZone, nowMs)), nowMs)),
  }
}

/** Journeys as states, the last one possibly still open; coffee and races as events. */
export function tagsOf(person: SamplePerson, span: Span): TagInput[] {
  const tags: TagInput[] = []
  const source = 'com.example.sample'
  const lastDay = localDayNumber(person.homeZone, span.endMs)
  let away: TagInput | undefined
  for (let day = localDayNumber(person.homeZone, span.startMs) + 1; day <= lastDay; day += 1) {
    const zone = zoneOn(person, day)
    const at = (hour: number) => {
      const epochMs = instantMsAt(zone, day, hour * 60)
      return formatInstant({ epochMs, offsetMinutes: offsetMinutesAt(zone, epochMs) })
    }
    const isPast = instantMsAt(zone, day, 0) + 18 * HOUR <= span.endMs
    if (away && !isAway(person, day)) away = closeTag(away, at(9))
    else if (!away && isAway(person, day) && isPast) {
      away = {
        id: sampleIdOf(person, `tag/travel/${day}`),
        type: 'state',
        name: 'travel',
        category: 'life',
        source,
        startDateTime: at(8),
      }
      tags.push(away)
    }
    const random = createSeededRandom(person.seed, 'tags', day)
    const event = { type: 'event', source, startDateTime: at(10), id: sampleIdOf(person, `tag/event/${day}`) } as const
    if (!isPast || person.kind === 'newcomer') continue
    if (person.kind === 'runner' && random.chance(0.06))
      tags.push({ ...event, name: 'race', category: 'sport', value: '10 km' })
    else if (random.chance(0.12))
      tags.push({ ...event, name: 'caffeine', category: 'nutrition', value: String(random.integer(1, 4)) })
  }
  return tags
}

function closeTag(tag: TagInput, endDateTime: string): undefined {
  tag.endDateTime = endDateTime
  return undefined
}
